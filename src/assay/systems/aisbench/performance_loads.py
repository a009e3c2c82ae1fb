"""The loads of AISBench's performance mode: which datasets form one load, and what each of them sends.

As in the original, datasets of one class with the same inferencer form one load, with the original's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from assay.app.bench_items import ItemSettings, load_items
from assay.app.dialects import TABLE, detect_dialect
from assay.bench.item_stream import Items, merge_items
from assay.bench.mooncake import TraceTimes
from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.dialects.openicl.authored.code import get_short_name
from assay.dialects.openicl.authored.data_paths import DataPaths
from assay.dialects.openicl.config.entry import DatasetEntry
from assay.dialects.openicl.detect import is_config
from assay.dialects.openicl.entries import ConfigEntry, load_entries
from assay.dialects.openicl.model_presets import LOAD_PRESET_NAME as PRESET_NAME
from assay.dialects.openicl.model_presets import LOAD_PRESETS
from assay.sources.files import open_source

CODE = "BENCH-030"
_SYNTHETIC = "SyntheticDataset"
_TRACE = "MooncakeTraceDataset"
_CONVERSATIONS = "ShareGPTDataset"
_OWN_ANSWERS = "every"
"""The mode in which a conversation continues after the model's own answers."""
_TRACE_KEYS = (
    *("path", "random_seed", "generated_prompts_path"),
    *("fixed_schedule_auto_offset", "fixed_schedule_start_offset", "fixed_schedule_end_offset"),
)


class SyntheticSource(NamedTuple):
    """A synthetic dataset."""

    config: Mapping[str, Any]
    where: Origin


class TraceFile(NamedTuple):
    """Requests with their times."""

    path: str
    times: TraceTimes
    seed: int | None
    """None: the command's seed."""


class ConversationFile(NamedTuple):
    """Conversations that the model continues."""

    path: str
    is_shuffled: bool


class NamedSource(NamedTuple):
    """Any other dataset, as Assay names it."""

    name: str


Source: TypeAlias = SyntheticSource | TraceFile | ConversationFile | NamedSource


class LoadPart(NamedTuple):
    """One dataset of a load."""

    abbr: str
    source: Source
    notes: tuple[str, ...] = ()


class PerfLoad(NamedTuple):
    """The requests that are sent to a model as one load."""

    name: str
    """The name of its files."""
    parts: tuple[LoadPart, ...]

    def items(self, settings: ItemSettings) -> Items:
        """Return the items to send."""
        by_abbr = {part.abbr: _items(part.source, settings) for part in self.parts}
        return merge_items(by_abbr) if len(by_abbr) > 1 else by_abbr[self.parts[0].abbr]


def perf_loads(datasets: Sequence[str], root: Path | None, data_root: Path | None) -> list[PerfLoad]:
    """Return the loads of some datasets; `root`: a checkout of the original."""
    groups: dict[tuple[str, str], dict[str, LoadPart]] = {}
    for key, part in _parts(datasets, DataPaths([folder for folder in (root, data_root) if folder]), root):
        first = groups.setdefault(key, {}).setdefault(part.abbr, part)
        if first.source != part.source:
            what = f"two datasets have the name {part.abbr!r}, and so would their files"
            raise AuthorError(Problem(CODE, what, "name only one of them, or give each its own abbr"))
    loads = [
        PerfLoad(next(iter(parts)) if len(parts) == 1 else kind.lower(), tuple(parts.values()))
        for (kind, _), parts in groups.items()
    ]
    _check_names(loads)
    return loads


def _parts(
    datasets: Sequence[str], data: DataPaths, root: Path | None
) -> Iterator[tuple[tuple[str, str], LoadPart]]:
    """Yield each dataset with the key of its load: the class and the inferencer."""
    for name in datasets:
        if name in LOAD_PRESETS:
            yield (_SYNTHETIC, ""), LoadPart(PRESET_NAME, SyntheticSource(LOAD_PRESETS[name], Origin(name)))
        elif detect_dialect(name, None, {}) != TABLE and is_config(name):
            for config_entry in load_entries(name, root):
                yield _key(config_entry), _part(config_entry, name, data)
        else:
            yield ("", name), LoadPart(Path(name).name.partition(".")[0], NamedSource(name))


def _key(config_entry: ConfigEntry) -> tuple[str, str]:
    entry = config_entry.entry
    if not isinstance(entry, DatasetEntry):
        return "", entry.path
    inferencer = entry.infer_cfg.inferencer
    kind = get_short_name(entry.type)
    arguments = {"type": get_short_name(inferencer.type), **inferencer.arguments}
    # A preset has no inferencer of its own and matches entries with the default one.
    is_default = arguments == {"type": "GenInferencer"} and kind == _SYNTHETIC
    return kind, "" if is_default else repr(sorted(arguments.items()))


def _part(config_entry: ConfigEntry, name: str, data: DataPaths) -> LoadPart:
    entry = config_entry.entry
    kind = get_short_name(entry.type) if isinstance(entry, DatasetEntry) else ""
    if isinstance(entry, DatasetEntry) and kind in _READ:
        return _READ[kind](entry, config_entry, data)
    return LoadPart(entry.abbr, NamedSource(f"{config_entry.config.path}:{entry.name}"))


def _build_synthetic_part(entry: DatasetEntry, config_entry: ConfigEntry, data: DataPaths) -> LoadPart:
    _reject_unknown_keys(entry, config_entry, ("config",))
    config = entry.load_arguments.get("config")
    if not isinstance(config, Mapping):
        raise _config_error(
            f"config is {config!r:.60}, expected a dict", "write config=dict(Type=...)", config_entry
        )
    return LoadPart(
        entry.abbr, SyntheticSource(config, config_entry.where), _template_note(entry, "question")
    )


def _build_trace_part(entry: DatasetEntry, config_entry: ConfigEntry, data: DataPaths) -> LoadPart:
    _reject_unknown_keys(entry, config_entry, _TRACE_KEYS)
    arguments = entry.load_arguments
    path = _file(entry, config_entry, data)
    seed = arguments.get("random_seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise _config_error(
            f"random_seed is {seed!r:.60}, expected a whole number", "correct the value", config_entry
        )
    start = _milliseconds(arguments.get("fixed_schedule_start_offset", 0), config_entry)
    end = _milliseconds(arguments.get("fixed_schedule_end_offset", -1), config_entry)
    notes = list(_template_note(entry, "prompt"))
    if arguments.get("generated_prompts_path"):
        notes.append(f"{entry.abbr}: generated_prompts_path has no effect: the seed determines the prompts")
    is_from_first = bool(arguments.get("fixed_schedule_auto_offset"))
    times = _select_trace_times(path, start, end, is_from_first=is_from_first)
    return LoadPart(entry.abbr, TraceFile(path, times, seed), tuple(notes))


def _select_trace_times(path: str, start: float, end: float, *, is_from_first: bool) -> TraceTimes:
    """Return which part of a trace is sent; with `is_from_first`, offsets count from its first request."""
    first = 0.0
    if is_from_first and (start > 0 or end >= 0):
        stamps = [record.fields.get("timestamp") for record in open_source(path).records()]
        first = min((float(one) for one in stamps if isinstance(one, int | float)), default=0.0)
    end_ms = first + end if end >= 0 else None
    if start > 0:
        return TraceTimes(first + start, end_ms)
    return TraceTimes(None, end_ms, is_from_first=is_from_first)


def _build_conversation_part(entry: DatasetEntry, config_entry: ConfigEntry, data: DataPaths) -> LoadPart:
    inferencer = entry.infer_cfg.inferencer
    mode = inferencer.arguments.get("infer_mode", _OWN_ANSWERS)
    if mode != _OWN_ANSWERS:
        # Turns after the file's own answers need the rows as the author's class reads them.
        return LoadPart(entry.abbr, NamedSource(f"{config_entry.config.path}:{entry.name}"))
    _reject_unknown_keys(entry, config_entry, ("path", "disable_shuffle"))
    is_shuffled = not entry.load_arguments.get("disable_shuffle", False)
    return LoadPart(entry.abbr, ConversationFile(_file(entry, config_entry, data), is_shuffled))


_READ = {
    _SYNTHETIC: _build_synthetic_part,
    _TRACE: _build_trace_part,
    _CONVERSATIONS: _build_conversation_part,
}


def _reject_unknown_keys(entry: DatasetEntry, config_entry: ConfigEntry, known: Sequence[str]) -> None:
    """Raise for arguments that the class's code would use but Assay does not."""
    others = [key for key in entry.load_arguments if key not in known]
    if entry.reader_cfg.test_range is not None:
        others.append("reader_cfg.test_range")
    if others:
        what = f"{', '.join(others)}: not supported for a {get_short_name(entry.type)} in performance mode"
        raise _config_error(what, "remove it; --num-prompts N takes the first rows", config_entry)


def _file(entry: DatasetEntry, config_entry: ConfigEntry, data: DataPaths) -> str:
    value = entry.load_arguments.get("path")
    path = data.find(value) if isinstance(value, str) and value else None
    if path is None or not path.is_file():
        fix = "write path='FILE', relative to the working folder, --openicl-root or --data-root"
        raise _config_error(f"path is {value!r:.80}, but this file does not exist", fix, config_entry)
    return str(path)


def _milliseconds(value: Any, config_entry: ConfigEntry) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        what = f"an offset of the schedule is {value!r:.60}, expected milliseconds"
        raise _config_error(what, "correct the value", config_entry)
    return float(value)


def _template_note(entry: DatasetEntry, column: str) -> tuple[str, ...]:
    template = entry.infer_cfg.prompt_template
    value = template.arguments.get("template") if template is not None else None
    plain = (f"{{{column}}}", {"round": [{"role": "HUMAN", "prompt": f"{{{column}}}"}]})
    return () if value in plain else (f"{entry.abbr}: generated prompts are sent without the template",)


def _config_error(what: str, fix: str, config_entry: ConfigEntry) -> AuthorError:
    return AuthorError(Problem(CODE, what, fix, config_entry.where))


def _items(source: Source, settings: ItemSettings) -> Items:
    if isinstance(source, SyntheticSource):
        if settings.tokenizer is None and str(source.config.get("Type")).lower() == "tokenid":
            what = "random token ids must be decoded, but the model names no tokenizer"
            fix = "add path='FOLDER' to the model's config, or --path FOLDER"
            raise AuthorError(Problem("BENCH-021", what, fix, source.where))
        return load_items(source.config, settings, source.where)
    if isinstance(source, TraceFile):
        seed = settings.seed if source.seed is None else source.seed
        return load_items(source.path, msgspec.structs.replace(settings, trace=source.times, seed=seed))
    if isinstance(source, ConversationFile):
        order = "shuffle" if source.is_shuffled else "default"
        return load_items(source.path, msgspec.structs.replace(settings, order=order))
    return load_items(source.name, settings)


def _check_names(loads: Sequence[PerfLoad]) -> None:
    seen: set[str] = set()
    for load in loads:
        if load.name in seen:
            what = f"two loads have the name {load.name!r}, and so would their files"
            raise AuthorError(Problem(CODE, what, "give each dataset its own abbr"))
        seen.add(load.name)
