"""Declarations of configs about a run besides its tasks: the default judge, and summary groups."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from assay.app.dialects import detect_dialect
from assay.app.settings import RunSettings
from assay.core.summary_group import SummaryGroup

if TYPE_CHECKING:
    from assay.dialects.openicl.config.loading import LoadedConfig
    from assay.dialects.openicl.models import ModelConfig

KEY_VARIABLE = "ASSAY_KEY_OF_"
"""How the names of variables begin that hold the key of a config's model."""
_MODEL, _ADDRESS, _KEY = "OC_JUDGE_MODEL", "OC_JUDGE_API_BASE", "OC_JUDGE_API_KEY"
"""Environment variables in which OpenCompass looks for a judge that a config leaves open."""


class ConfigJudge(NamedTuple):
    """The judge that configs name."""

    judge: ModelConfig | None
    """The first, if there are several."""
    notes: tuple[str, ...] = ()
    """A note if there are several."""


def load_configs(datasets: Sequence[str], values: RunSettings) -> list[LoadedConfig]:
    """Return the configs among some datasets, each once."""
    config_names = [
        name for name in datasets if detect_dialect(name, values.dialect, values.dataset_args) == "openicl"
    ]
    if not config_names:
        return []
    # Imported here, like the dialects themselves.
    from assay.dialects.openicl.arguments import parse_config_arguments
    from assay.dialects.openicl.config.loading import ConfigFiles
    from assay.dialects.openicl.detect import ConfigName

    paths = dict.fromkeys(ConfigName.of(name).path for name in config_names)
    return [ConfigFiles(parse_config_arguments(values.dataset_args, path).root).load(path) for path in paths]


def read_summary_groups(configs: Sequence[LoadedConfig], tasks: Collection[str]) -> tuple[SummaryGroup, ...]:
    """Return the groups of configs whose subsets are all evaluated."""
    groups: dict[str, SummaryGroup] = {}
    for config in configs:
        from assay.dialects.openicl.summary import read_summary

        for group in read_summary(config).groups:
            if all(subset.name in tasks or subset.name in groups for subset in group.subsets):
                groups[group.name] = group
    return tuple(groups.values())


def find_config_judge(configs: Sequence[Mapping[str, Any]]) -> ConfigJudge:
    """Return the first judge that the values of some configs name."""
    entries = [entry for values in configs for entry in _find_judge_entries(values)]
    different = [entry for at, entry in enumerate(entries) if entry not in entries[:at]]
    if not different:
        return ConfigJudge(None)
    from assay.dialects.openicl.models import read_models

    several = f"the configs name {len(different)} judges; the first one grades all answers"
    return ConfigJudge(read_models(different[:1], "the judge:")[0], (several,) if len(different) > 1 else ())


def find_judge_model(datasets: Sequence[str], values: RunSettings) -> str | None:
    """Return the judge that the configs among some datasets name, as a model name for the command line."""
    judge = find_config_judge([config.values for config in load_configs(datasets, values)]).judge
    return None if judge is None else judge.model


def apply_config_judge(
    configs: Sequence[LoadedConfig], values: RunSettings
) -> tuple[RunSettings, tuple[str, ...]]:
    """Return the settings with the judge that configs name, if any, and notes about it."""
    judge, notes = find_config_judge([config.values for config in configs])
    if judge is None:
        return values, ()
    return msgspec.structs.replace(values, judge=judge.model, judge_args=export_model_key(judge)), notes


def export_model_key(model: ModelConfig) -> dict[str, str]:
    """Return a model's arguments, with its API key moved from the config to this process's environment."""
    if model.secret is None:
        return model.model_args
    variable = KEY_VARIABLE + (re.sub(r"[^A-Z0-9]+", "_", model.abbr.upper()).strip("_") or "MODEL")
    os.environ[variable] = model.secret
    return {**model.model_args, "key_env": variable}


def _find_judge_entries(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the judge models of a config."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            if key in ("judge_cfg", "judge_model") and isinstance(one, Mapping):
                yield from [one] if one.get("type") else _read_environment_judge()
            elif key == "judge_models" and isinstance(one, list | tuple):
                yield from (entry for entry in one if isinstance(entry, Mapping) and entry.get("type"))
            else:
                yield from _find_judge_entries(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _find_judge_entries(one)


def _read_environment_judge() -> Iterator[Mapping[str, Any]]:
    """Yield the judge that the environment names, as OpenCompass does if `judge_cfg` is empty."""
    model = os.environ.get(_MODEL)
    if model:
        extra = {"openai_api_base": os.environ.get(_ADDRESS), "key": os.environ.get(_KEY)}
        yield {"type": "OpenAISDK", "abbr": "judge", "path": model} | {k: v for k, v in extra.items() if v}
