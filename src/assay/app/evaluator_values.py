"""What the evaluators that configs name call their values, before anything is evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.scoring.originals.opencompass.evaluators.readings import READINGS, make_reading
from assay.scoring.originals.opencompass.evaluators.value_names import VALUE_NAMES

_JUDGE, _USUAL_READING = "GenericLLMEvaluator", "generic_llmjudge_postprocess"
_READING = "dict_postprocessor"
_OF_DATASETS = "datasets"


def find_value_names(name: str, module: str, arguments: Mapping[str, Any]) -> Sequence[str] | None:
    """Return what an evaluator calls its values, counts aside; None where the name is unknown."""
    if name == _JUDGE:
        kind = (arguments.get(_READING) or {}).get("type", _USUAL_READING)
        name = getattr(kind, "name", kind)
    if name in READINGS:
        return [value.name for value in make_reading(name).values if value.of is not None]
    of_datasets = f"{_OF_DATASETS}.{name}"
    if of_datasets in VALUE_NAMES and _OF_DATASETS in module.split("."):
        name = of_datasets
    return VALUE_NAMES.get(name)
