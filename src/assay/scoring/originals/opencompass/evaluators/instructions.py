"""IFEval: instructions that code can verify, strict and loose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from assay.core.difference import Difference
from assay.scoring.metrics.checks import Misfit, score_rows
from assay.scoring.metrics.ifeval import IFEval
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, Evaluator, to_text

_STRICT = "Prompt-level-strict-accuracy"


class IFEvaluator(Evaluator):
    """The percentages of prompts with all instructions followed, and of instructions, strict and loose.

    A target is IFEval's whole row: `instruction_id_list`, `kwargs` and other fields.
    """

    scale: ClassVar[float] = 100.0
    has_details: ClassVar[bool] = True
    correct_by = _STRICT
    difference: ClassVar[Difference[object] | None] = Difference(
        "the detected language of a short reply may change between runs",
        "a reply always has the same language; docs/how-it-works/decisions/002-dependencies.md "
        "lists other differences",
    )

    def __init__(self, *, is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        self._readings = {"strict": IFEval("strict"), "loose": IFEval("loose")}

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return both levels, strict and loose."""
        rows = score_rows(self, predictions, references, lambda _, row: _read_official_row(row))
        texts = [to_text(one) for one in predictions]
        values: dict[str, float] = {}
        lists: dict[str, Sequence[float]] = {}
        self.last_ratios.clear()
        for reading, metric in self._readings.items():
            found = metric(texts, rows)
            level = {f"Prompt-level-{reading}-accuracy": f"IFEval({reading}):Prompt"}
            level |= {f"Inst-level-{reading}-accuracy": f"IFEval({reading})"}
            for name, own in level.items():
                values[name] = found[own]
                lists[name] = metric.last_score_lists[own]
                if own in metric.last_ratios:
                    self.last_ratios[name] = metric.last_ratios[own]
        self.last_score_lists = lists
        return values


def _read_official_row(row: EvaluatedRow) -> Mapping[str, Any]:
    if not isinstance(row.gold, Mapping):
        raise Misfit(f"the target is {row.gold!r:.60}; expected IFEval's row", "use the column `reference`")
    return row.gold
