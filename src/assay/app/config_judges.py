"""The judge that configs of datasets name, for runs in which the person names none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from assay.app.languages import language_of
from assay.app.settings import RunSettings
from assay.dialects.openicl.models import ModelConfig, read_models

_MODEL, _ADDRESS, _KEY = "OC_JUDGE_MODEL", "OC_JUDGE_API_BASE", "OC_JUDGE_API_KEY"
"""The environment in which OpenCompass looks for a judge that a config leaves open."""


def named_judge(configs: Sequence[Mapping[str, Any]]) -> tuple[ModelConfig | None, int]:
    """Return the first judge that some configs name, and how many different ones they name."""
    found = [entry for one in configs for entry in _judges_in(one)]
    different = [entry for at, entry in enumerate(found) if entry not in found[:at]]
    return (read_models(different[:1], "the judge:")[0] if different else None), len(different)


def with_config_judge(datasets: Sequence[str], values: RunSettings) -> RunSettings:
    """Return the settings with the judge that configs among the datasets name, if one does."""
    # Imported when used, as the languages themselves are.
    from assay.app.config_plan import hand_over_key
    from assay.dialects.openicl.arguments import config_arguments
    from assay.dialects.openicl.config.loading import ConfigFiles
    from assay.dialects.openicl.detect import ConfigName

    configs = []
    for name in datasets:
        if language_of(name, values.dialect, values.dataset_args) == "openicl":
            path = ConfigName.of(name).path
            configs.append(ConfigFiles(config_arguments(values.dataset_args, path).root).load(path).values)
    judge, _ = named_judge(configs)
    if judge is None:
        return values
    return msgspec.structs.replace(values, judge=judge.model, judge_args=hand_over_key(judge))


def _judges_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the models that stand in a judge's place in a config."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            if key in ("judge_cfg", "judge_model") and isinstance(one, Mapping):
                yield from [one] if one.get("type") else _in_environment()
            elif key == "judge_models" and isinstance(one, list | tuple):
                yield from (entry for entry in one if isinstance(entry, Mapping) and entry.get("type"))
            else:
                yield from _judges_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _judges_in(one)


def _in_environment() -> Iterator[Mapping[str, Any]]:
    """Yield the judge that the environment names: OpenCompass's way where `judge_cfg` is empty."""
    model = os.environ.get(_MODEL)
    if model:
        said = {"openai_api_base": os.environ.get(_ADDRESS), "key": os.environ.get(_KEY)}
        yield {"type": "OpenAISDK", "abbr": "judge", "path": model} | {k: v for k, v in said.items() if v}
