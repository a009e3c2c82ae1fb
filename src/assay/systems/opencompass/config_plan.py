"""The plan of an OpenCompass or AISBench command: which models run on which datasets, with which summary.

Names are resolved to files, files to models and datasets, and each model becomes one run. Nothing is opened.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.app.config_declarations import find_config_judge
from assay.backends.registry import BACKENDS
from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.dialects.openicl.config.lists import read_dict_list, read_model_dicts, read_summarizer
from assay.dialects.openicl.config.loading import ConfigFiles, LoadedConfig
from assay.dialects.openicl.config_search import ConfigFolders, format_ambiguous_name
from assay.dialects.openicl.model_keys import Family
from assay.dialects.openicl.model_presets import LOAD_PRESETS, MODEL_PRESETS
from assay.dialects.openicl.models import MODEL_CODE, ModelConfig, find_family, read_models
from assay.dialects.openicl.performance_summary import (
    SUMMARY_PRESETS,
    PerformanceSummary,
    find_summary_preset,
    read_performance_summary,
)
from assay.dialects.openicl.summary import ConfigSummary, read_summary
from assay.systems.flag_table import usage_error

_COMBINATIONS = "model_dataset_combinations"
_DEFAULT_SUMMARIZER = "example"
_OWN_FIELDS: Mapping[str, Mapping[Family, str]] = {
    "url": {"vllm_service": "url", "openai_service": "openai_api_base"},
    "model_name": {"vllm_service": "model", "openai_service": "path"},
    "host_ip": {"vllm_service": "host_ip"},
    "host_port": {"vllm_service": "host_port"},
    "path": {"hf": "path"},
    "request_rate": dict.fromkeys(("vllm_service", "openai_service", "assay"), "request_rate"),
    "batch_size": {"vllm_service": "batch_size", "openai_service": "batch_size", "hf": "batch_size"},
}
"""Fields of models that can be set on the command line, with their names for each kind of model."""
_TIMED_FIELDS: Mapping[str, Mapping[Family, str]] = {**_OWN_FIELDS, "path": {"vllm_service": "path"}}
"""The same for performance mode: there, a service's path is the folder of its tokenizer."""
_BATCH_ARGUMENTS = {
    "hf": "max_batch",
    "smollm2": "max_batch",
    "openai": "concurrency",
    "tgi": "concurrency",
    "triton": "concurrency",
    "ultraeval": "batch_size",
}
"""Each backend's name for the batch size."""


class CommandNames(NamedTuple):
    """The names on the command line."""

    config: str | None = None
    """A config that describes a whole run."""
    models: Sequence[str] = ()
    datasets: Sequence[str] = ()
    summarizer: str | None = None
    table: str | None = None
    """A custom dataset: a csv or jsonl file."""
    entries: Sequence[Mapping[str, Any]] = ()
    """Models that the command line itself describes."""
    fields: Mapping[str, Any] = {}
    """Fields to set on the named models."""


class PlannedRun(NamedTuple):
    """One model and its datasets."""

    model: ModelConfig
    datasets: tuple[str, ...]


class ConfigPlan(NamedTuple):
    """All runs and their summary."""

    runs: tuple[PlannedRun, ...]
    summary: ConfigSummary
    notes: tuple[str, ...]
    values: Mapping[str, Any]
    """The models and datasets as in the configs, to be stored with the results."""
    judge: ModelConfig | None = None
    """The model that grades answers according to the configs."""


class Planner:
    """Resolves names, in a person's own config folder and in a checkout."""

    def __init__(self, config_dir: Path | None, root: Path | None) -> None:
        self.places = ConfigFolders(config_dir, root)
        self._files = ConfigFiles(root)
        self._notes: list[str] = []

    def plan(
        self,
        names: CommandNames,
        *,
        needs_model: bool = True,
        needs_judge: bool = True,
        is_timed: bool = False,
    ) -> ConfigPlan:
        """Return the plan; raise all errors before anything is opened.

        `is_timed`: measure the speed of servers; answers are not scored, and there is no summary of them.
        """
        config = None if names.config is None else self._files.load(_require_config_file(names.config))
        written = list(self._model_entries(names, config, is_timed=is_timed))
        datasets = self._datasets(names, config, presets=LOAD_PRESETS if is_timed else {})
        has_combinations = config is not None and _COMBINATIONS in config.values
        if needs_model and not has_combinations and not any(entries for _, entries in written):
            what = "no model is named"
            fix = "add --models NAME, --hf-path FOLDER, or `models` in the config"
            raise usage_error(what, fix)
        models = [
            one for source, entries in written for one in read_models(entries, source, is_timed=is_timed)
        ]
        _check_names(models)
        runs = self._combine_models(config, names, models, datasets, is_timed=is_timed)
        values = {"models": [entry for _, entries in written for entry in entries], "datasets": datasets}
        if config is not None:
            values = {**config.values, **values} if not names.datasets else values
            values["datasets"] = config.values.get("datasets", datasets)
        summary = ConfigSummary() if is_timed else self._summary(names, config)
        judge = self._judge(config, datasets) if needs_judge else None
        return ConfigPlan(tuple(runs), summary, tuple(self._notes), values, judge)

    def _judge(self, config: LoadedConfig | None, datasets: Sequence[str]) -> ModelConfig | None:
        """Return the first judge that the datasets or the config name."""
        configs = [] if config is None else [config]
        for name in datasets:
            path = Path(re.split(r"(?<=\.py)[/:]", name)[0])
            if path.suffix == ".py" and (config is None or path != config.path):
                configs.append(self._files.load(path))
        judge, notes = find_config_judge([one.values for one in configs])
        self._notes += notes
        return judge

    def _model_entries(
        self, names: CommandNames, config: LoadedConfig | None, *, is_timed: bool
    ) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
        """Yield the entries of models with their source; those of the command line replace the config's."""
        used: set[str] = set()
        keys = _TIMED_FIELDS if is_timed else _OWN_FIELDS
        sources = [("(command line)", list(names.entries))]
        sources += [(name, self._find_model(name)) for name in names.models]
        if config is not None and not names.models and not names.entries:
            sources.append((str(config.path), list(read_model_dicts(config))))
        for source, entries in sources:
            yield source, [_set_fields(entry, names.fields, used, keys) for entry in entries]
        without = [name for name, value in names.fields.items() if value is not None and name not in used]
        if without and any(entries for _, entries in sources):
            flags = listing(f"--{name.replace('_', '-')}" for name in without)
            what = f"{flags} is set, but none of the models has it"
            raise usage_error(what, "remove it, or set it in the model's config")

    def _find_model(self, name: str) -> list[Mapping[str, Any]]:
        path = Path(name)
        if path.suffix == ".py" and path.is_file():
            return list(read_model_dicts(self._files.load(path)))
        match = self.places.find(name, "models")
        if match is not None:
            if match.others:
                self._notes.append(format_ambiguous_name(name, match))
            return list(read_model_dicts(self._files.load(match.path)))
        if name in MODEL_PRESETS:
            return [MODEL_PRESETS[name]]
        if name.partition(":")[0] in BACKENDS:
            return [{"type": "Assay", "abbr": _format_abbr(name), "model": name}]
        self.places.require(name, "models", (*MODEL_PRESETS, *BACKENDS))
        raise AssertionError("`require` raises for an unknown name")

    def _datasets(
        self, names: CommandNames, config: LoadedConfig | None, presets: Container[str]
    ) -> tuple[str, ...]:
        """Return the datasets as Assay names them; presets keep their names."""
        if names.datasets:
            return tuple(self._find_dataset(name, presets) for name in names.datasets)
        if names.table is not None:
            return (names.table,)
        if config is not None:
            return (str(config.path),)
        what = "no dataset is named"
        raise usage_error(what, "add --datasets NAME, --custom-dataset-path data.csv, or a config file")

    def _find_dataset(self, name: str, presets: Container[str]) -> str:
        path = Path(re.split(r"(?<=\.py)[/:]", name)[0])
        if path.is_file() or (name in presets and self.places.find(name, "datasets") is None):
            return name
        match = self.places.require(name, "datasets")
        if match.others:
            self._notes.append(format_ambiguous_name(name, match))
        return str(match.path) if match.suffix is None else f"{match.path}/{match.suffix}"

    def _combine_models(
        self,
        config: LoadedConfig | None,
        names: CommandNames,
        models: Sequence[ModelConfig],
        datasets: tuple[str, ...],
        *,
        is_timed: bool,
    ) -> Iterator[PlannedRun]:
        """Yield each model with its datasets; a config may define the combinations."""
        has_own = bool(names.models or names.entries or names.datasets)
        if config is None or has_own or _COMBINATIONS not in config.values:
            yield from (PlannedRun(model, datasets) for model in models)
            return
        by_name = {model.abbr: model for model in models}
        wanted: dict[str, list[str]] = {}
        for index, one in enumerate(read_dict_list(config, _COMBINATIONS)):
            where = Origin(f"{config.path} {_COMBINATIONS}[{index}]")
            abbrs = [_require_abbr(entry, where) for entry in one.get("datasets", ())]
            for model in read_models(list(one.get("models", ())), str(where), is_timed=is_timed):
                by_name.setdefault(model.abbr, model)
                wanted.setdefault(model.abbr, []).extend(abbrs)
        for name, abbrs in wanted.items():
            if abbrs:
                yield PlannedRun(by_name[name], (f"{config.path}:{','.join(dict.fromkeys(abbrs))}",))

    def _summary(self, names: CommandNames, config: LoadedConfig | None) -> ConfigSummary:
        if names.summarizer is None:
            if config is not None and not names.datasets:
                return read_summary(config)
            match = self.places.find(_DEFAULT_SUMMARIZER, "summarizers")
            return ConfigSummary() if match is None else read_summary(self._files.load(match.path))
        path = Path(names.summarizer)
        if path.suffix == ".py" and path.is_file():
            return read_summary(self._files.load(path))
        named = self.places.require(names.summarizer, "summarizers")
        if named.others:
            self._notes.append(format_ambiguous_name(names.summarizer, named))
        return read_summary(self._files.load(named.path), named.suffix)

    def performance_summary(self, names: CommandNames) -> PerformanceSummary:
        """Return which stage of a load is reported, with which statistics."""
        name = names.summarizer
        if name is None:
            if names.config is None or names.datasets:
                return PerformanceSummary()
            config, key = self._files.load(_require_config_file(names.config)), None
        elif Path(name).suffix == ".py" and Path(name).is_file():
            config, key = self._files.load(Path(name)), None
        elif (known := find_summary_preset(name)) is not None and self.places.find(
            name, "summarizers"
        ) is None:
            return known
        else:
            match = self.places.require(name, "summarizers", SUMMARY_PRESETS)
            config, key = self._files.load(match.path), match.suffix
        settings = read_summarizer(config) if key is None else config.values.get(key)
        where = Origin(str(config.path))
        return read_performance_summary(settings if isinstance(settings, dict) else {}, where)


def _require_config_file(config: str) -> Path:
    path = Path(config)
    if not path.is_file():
        what = f"the config {config!r} does not exist"
        raise usage_error(what, "give the path of a Python file")
    return path


def _set_fields(
    entry: Mapping[str, Any],
    fields: Mapping[str, Any],
    used: set[str],
    keys: Mapping[str, Mapping[Family, str]],
) -> dict[str, Any]:
    """Return an entry with the command line's fields; `keys`: the field names of each kind of model."""
    changed = dict(entry)
    family = find_family(entry)
    for name, value in fields.items():
        key = keys[name].get(family) if family is not None else None
        if value is not None and key is not None:
            changed[key] = value
            used.add(name)
    batch = _BATCH_ARGUMENTS.get(str(entry.get("model", "")).partition(":")[0]) if family == "assay" else None
    if batch is not None and fields.get("batch_size") is not None:
        changed["model_args"] = {**(entry.get("model_args") or {}), batch: fields["batch_size"]}
        used.add("batch_size")
    return changed


def _check_names(models: Sequence[ModelConfig]) -> None:
    """Raise if two models have the same name: results are stored under it."""
    seen: dict[str, ModelConfig] = {}
    for model in models:
        other = seen.setdefault(model.abbr, model)
        if other is not model:
            what = f"two models have the name {model.abbr!r}: {other.model} and {model.model}"
            raise AuthorError(Problem(MODEL_CODE, what, "give each its own abbr, or name the model once"))


def _require_abbr(entry: Any, where: Origin) -> str:
    if isinstance(entry, Mapping) and isinstance(entry.get("abbr"), str):
        return str(entry["abbr"])
    what = f"a dataset of the combination is {entry!r:.60}, expected an entry with an abbr"
    raise AuthorError(Problem(MODEL_CODE, what, "write abbr='NAME' into the entry", where))


def _format_abbr(model: str) -> str:
    """Return the abbr under which results of an Assay model are stored."""
    return re.sub(r"[^\w.-]+", "_", model).strip("_.") or "model"
