"""Compile datasets from their names: files, configs, and names under a data root or on the hub."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from assay.app.dialects import (
    DIALECT_REGISTRY,
    TABLE,
    check_used_settings,
    detect_dialect,
    format_ignored_settings,
)
from assay.app.hub_datasets import SHOTS_PREFERRED, find_hub_tables, record_reads
from assay.app.table_datasets import CompileContext, compile_table_dataset
from assay.core.compilation import CompiledDataset
from assay.core.errors import AuthorError, Problem, UsageError, listing, suggest_name
from assay.core.origin import Origin
from assay.core.ports import Backend
from assay.core.python_objects import is_python_name
from assay.core.task import TaskSettings
from assay.dialects.shared.described_task import DescribedTask
from assay.dialects.table.eval_task import ANY_CONFIG, EvalTask, is_eval_file, read_eval_tasks, select_tasks
from assay.dialects.table.eval_task import FILE_NAME as EVAL_FILE
from assay.dialects.table.meta import TableMeta, to_meta
from assay.sources.dataset_folder import DatasetFolder, DatasetMissing
from assay.sources.file_names import find_on_disk, require_text
from assay.sources.hub import LocalHub
from assay.sources.hub_name import HubName, is_address, parse_hub_name
from assay.sources.hub_reads import noting_reads

if TYPE_CHECKING:
    from assay.dialects.openicl.config.entry import TableEntry

_OF_CONFIG = re.compile(r"\w*dataset\w*|models|summarizer|\w*infer_cfg|\w*reader_cfg|read_base")
"""Names that a config assigns or imports."""
_SPLITS = ("train", "training", "validation", "valid", "val", "dev", "test")


class LocatedTable(NamedTuple):
    """One table to compile, and what its config declares about it."""

    path: str
    given: TableMeta
    hub_name: str | None = None
    """Its name under the data root."""
    config: str | None = None
    notes: tuple[str, ...] = ()
    """Notes about where it was found."""


def compile_datasets(
    names: tuple[str, ...],
    settings: TaskSettings,
    *,
    given: dict[str, object],
    meta: str | None,
    data_root: str | None,
    split: str | None,
    dialect: str | None = None,
    backend: Backend | None = None,
    benchmarks: Mapping[str, str] | None = None,
) -> list[CompiledDataset]:
    """Compile all named datasets; every task gets a unique name.

    `benchmarks`: the benchmark's name for each dataset name that stands for one.
    """
    if not names:
        raise UsageError(Problem("USAGE-004", "no dataset is named", "name one: assay run data.csv"))
    named = {_normalize_spelling(name): (benchmarks or {}).get(name) for name in names}
    names = tuple(named)
    hub = None if data_root is None else LocalHub(Path(data_root))
    flags = to_meta(dict(given))
    dialects = {name: detect_dialect(name, dialect, settings.dataset_args) for name in names}
    described = given if meta is None else {**given, "meta": meta}
    # Report missing datasets first: without one, nobody knows which flags apply to it.
    is_bare = not given and meta is None
    tables = {
        name: locate(name, hub, split, uses_eval_file=is_bare) for name in names if dialects[name] == TABLE
    }
    check_used_settings(set(dialects.values()), settings, described, split)
    if meta is not None and sum(map(len, tables.values())) > 1:
        raise UsageError(
            Problem(
                "USAGE-004",
                "--meta describes one dataset, but several are named",
                "name one dataset, or remove --meta",
            )
        )
    compile_context = CompileContext(hub, backend, {})
    compiled: list[CompiledDataset] = []
    for name in names:
        tasks: list[CompiledDataset] = []
        if dialects[name] != TABLE:
            with noting_reads() as reads:
                tasks += DIALECT_REGISTRY[dialects[name]].compile(name, settings, compile_context)
            notes = record_reads(tasks, reads)
            tasks = [noted for one in tasks for noted in _add_notes([one], notes)]
        for one in tables.get(name, ()):

            def find_split(path: str, wanted: str, one: LocatedTable = one) -> str:
                return _find_other_split(one, path, wanted, hub)

            with noting_reads() as reads:
                table = compile_table_dataset(
                    one.path,
                    settings,
                    flags.merge_over(one.given),
                    compile_context,
                    meta_file=meta,
                    find_split=find_split,
                )
            record_reads([table], reads)
            tasks += _add_notes([table], one.notes)
        if not tasks:
            what = f"there is no dataset in {name!r}"
            raise UsageError(Problem("USAGE-004", what, "name a file or a config that contains one"))
        if (benchmark := named[name]) is not None:
            for task in tasks:
                _get_described_task(task).record_benchmark(benchmark)
        compiled += _add_notes(tasks, format_ignored_settings(dialects[name], settings, described, split))
    _qualify_names(compiled)
    return _require_unique_names(compiled)


def _add_notes(compiled: list[CompiledDataset], notes: tuple[str, ...]) -> list[CompiledDataset]:
    """Add notes that apply to all tasks of one name to the first of them."""
    if not notes:
        return compiled
    first: Any = compiled[0]
    return [msgspec.structs.replace(first, notes=(*first.notes, *notes)), *compiled[1:]]


def _normalize_spelling(name: str) -> str:
    """Return a name with its file spelled as on disk: `file`, `file:selection` or `name=file`."""
    require_text(name)
    if name.isascii():
        return name
    whole = find_on_disk(Path(name))
    if whole.exists():
        return str(whole)
    first, colon, selection = name.partition(":")
    label, equals, path = first.rpartition("=")
    return f"{label}{equals}{find_on_disk(Path(path))}{colon}{selection}"


def locate(
    name: str, hub: LocalHub | None, split: str | None, *, uses_eval_file: bool = True
) -> list[LocatedTable]:
    """Find a named dataset: a path, `name:config,config` under the data root, or a name on the hub.

    `uses_eval_file`: whether a plain hub name means the tasks of the repository's `eval.yaml`, if it has one.
    """
    if is_python_name(name):
        return [LocatedTable(name, TableMeta())]
    path = Path(name)
    if path.suffix == ".py" and path.is_file():
        return _locate_config_tables(name)
    if (described := _locate_eval_tasks(name, split)) is not None:
        return described
    if path.exists():
        return [LocatedTable(name, TableMeta())]
    on_hub = parse_hub_name(name)
    if on_hub is not None and not (hub and on_hub.revision is None and _is_under_data_root(hub, on_hub)):
        try:
            tables = find_hub_tables(on_hub, split, uses_eval_file=uses_eval_file)
        except DatasetMissing as error:
            raise error if is_address(name) else _explain_missing_dataset(name, error) from None
        return [
            LocatedTable(one.address, TableMeta(abbr=one.name, eval_task=one.task), notes=one.notes)
            for one in tables
        ]
    if hub is None:
        if path.suffix in ("", ".py"):
            raise AuthorError(
                Problem(
                    "SOURCE-001",
                    f"there is no file {name!r}{suggest_name(name, _siblings(path))}",
                    "give the path of a table, a benchmark such as lm_eval:mmlu, or a dataset on the hub "
                    "such as openai/gsm8k; "
                    "for a dataset in a local folder, also give --data-root DIR",
                    Origin(name),
                )
            )
        return [LocatedTable(name, TableMeta())]
    if on_hub is not None:
        return _locate_under_root(on_hub._replace(split=None).short, hub, on_hub.split or split)
    return _locate_under_root(name, hub, split)


def _is_under_data_root(hub: LocalHub, name: HubName) -> bool:
    configs = name.config.split(",") if name.config else [None]
    return any(hub.has_dataset(name.repository, config) for config in configs)


def _explain_missing_dataset(name: str, error: DatasetMissing) -> DatasetMissing:
    """Return the error for a name that is neither a file nor a dataset on the hub."""
    problem = error.problems[0]
    if problem.code in ("HUB-003", "HUB-004", "HUB-005", "HUB-012"):
        return error
    what = f"there is no file {name!r}{suggest_name(Path(name).name, _siblings(Path(name)))}; {problem.what}"
    return DatasetMissing(msgspec.structs.replace(problem, what=what))


def _locate_under_root(name: str, hub: LocalHub, split: str | None) -> list[LocatedTable]:
    base, _, configs = name.partition(":")
    return [
        LocatedTable(
            str(hub.resolve(base, config=config, split=split)),
            TableMeta(abbr=f"{base}:{config}" if config else base),
            base,
            config,
        )
        for config in (configs.split(",") if configs else [None])
    ]


def _locate_eval_tasks(name: str, split: str | None) -> list[LocatedTable] | None:
    """Return the tasks of an `eval.yaml`, or of a folder that has one; None if the name is neither."""
    whole, ids = (name, "") if Path(name).exists() else name.rpartition(":")[::2]
    path = Path(whole) / EVAL_FILE if Path(whole).is_dir() else Path(whole)
    if not whole or not is_eval_file(path):
        return None
    tasks = select_tasks(read_eval_tasks(str(path)), tuple(filter(None, ids.split(","))), str(path))
    folder = path.resolve().parent
    data = DatasetFolder(folder)
    return [
        LocatedTable(
            str(
                _require_one_file(
                    data.files(config=_config(one), split=split or one.split), path.parent, folder
                )
            ),
            TableMeta(abbr=f"{folder.name}:{one.id}" if one.id else folder.name, eval_task=one),
        )
        for one in tasks
    ]


def _config(task: EvalTask) -> str | None:
    return None if task.config == ANY_CONFIG else task.config


def _require_one_file(files: tuple[Path, ...], path: Path, folder: Path) -> Path:
    """Return the only file, relative to `shown`; raise if the table has several shards."""
    if len(files) > 1:
        what = (
            f"the data are in {len(files)} files: {listing(str(file.relative_to(folder)) for file in files)}"
        )
        raise AuthorError(Problem("SOURCE-010", what, "merge them into one file", Origin(str(folder))))
    return path / files[0].relative_to(folder)


def _require_datasets(path: Path) -> None:
    """Raise if a program defines neither a dataset class nor a config; its loader reports config errors."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError):
        return
    assigned = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    imported = [alias for node in body if isinstance(node, ast.ImportFrom) for alias in node.names]
    names = [getattr(target, "id", "") for target in assigned] + [alias.name for alias in imported]
    if any(map(_OF_CONFIG.fullmatch, names)):
        return
    classes = [node.name for node in body if isinstance(node, ast.ClassDef)]
    raise UsageError(
        Problem(
            "USAGE-004",
            f"there is no dataset in {str(path)!r}: it has no class that extends MultipleChoiceDataset, "
            "GenerationDataset, Task or another dataset class, and no list called datasets"
            + (f"; {classes[0]!r} extends none of them" if classes else ""),
            "extend one of these classes, or write datasets = [...]; "
            "`assay new NAME --like llmbox` creates a class to start from",
            Origin(str(path)),
        )
    )


def _siblings(path: Path) -> list[str]:
    return [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []


def _locate_config_tables(name: str) -> list[LocatedTable]:
    """Return the tables that a config names; they need no code."""
    # Imported here so that plain tables do not wait for the config loader.
    from assay.dialects.openicl.config.entry import TableEntry
    from assay.dialects.openicl.entries import ENTRY_CODE as NO_LIST
    from assay.dialects.openicl.entries import load_entries

    try:
        entries = load_entries(name, None)
    except AuthorError as error:
        if error.problems[0].code == NO_LIST:
            _require_datasets(Path(name))
        raise
    return [
        locate_config_table(one.entry, one.config.path, one.where)
        for one in entries
        if isinstance(one.entry, TableEntry)
    ]


def locate_config_table(entry: TableEntry, config: Path, where: Origin) -> LocatedTable:
    """Return a table of a config; its path is relative to the working folder, else to the config's folder."""
    here, beside = find_on_disk(Path(entry.path)), find_on_disk(config.parent / entry.path)
    path = beside if not here.exists() and beside.exists() else here
    settings = to_meta({"abbr": entry.abbr, **entry.given}, where)
    on_hub = None if path.exists() else parse_hub_name(entry.path)
    if on_hub is not None:
        (table,) = find_hub_tables(on_hub, None)
        return LocatedTable(table.address, settings, notes=table.notes)
    return LocatedTable(str(path), settings)


def _find_other_split(one: LocatedTable, path: str, split: str, hub: LocalHub | None) -> str:
    """Return the file of another split of the same dataset, or of another dataset on the hub."""
    on_hub = parse_hub_name(split)
    if on_hub is not None and not (hub and hub.has_dataset(on_hub.repository)):
        return find_hub_tables(on_hub, None, preferred=SHOTS_PREFERRED)[0].address
    own = parse_hub_name(path) if is_address(path) else None
    if own is not None:
        return find_hub_tables(own._replace(split=split), None)[0].address
    if hub is not None and one.hub_name is not None:
        return str(hub.resolve(one.hub_name, config=one.config, split=split))
    tried = []
    for known in _SPLITS:
        word = re.compile(rf"(?<![A-Za-z]){known}(?![A-Za-z])")
        if word.search(path):
            # mmlu has test/anatomy_test.csv next to dev/anatomy_dev.csv: replace every mention.
            parts = Path(path).parts
            for depth in range(1, len(parts) + 1):
                other = Path(*parts[:-depth], *(word.sub(split, part) for part in parts[-depth:]))
                tried.append(str(other))
                if str(other) != path and other.is_file():
                    return str(other)
    raise AuthorError(
        Problem(
            "SOURCE-010",
            f"--shots-from {split!r} is neither a file nor a split next to this file"
            + (f"; looked for {listing(dict.fromkeys(tried))}" if tried else ""),
            "give the path of the file that contains the examples",
            Origin(path),
        )
    )


def _qualify_names(compiled: Sequence[CompiledDataset]) -> None:
    """Give benchmarks whose tasks have the names of other datasets the names that the user typed.

    Tasks of lm-eval keep their names: they are unique there, and groups refer to them.
    """
    users: dict[str, set[str]] = {}
    for one in compiled:
        spec = one.task.spec
        for name in filter(None, (spec.name, spec.family)):
            users.setdefault(name, set()).add(spec.display_source)
    members = Counter(one.task.spec.benchmark for one in compiled)
    clashing = {
        spec.benchmark
        for one in compiled
        if (spec := one.task.spec).dialect != "lm_eval"
        and any(len(users.get(name or "", ())) > 1 for name in (spec.name, spec.family))
    }
    for one in compiled:
        spec = one.task.spec
        if (benchmark := spec.benchmark) in clashing and benchmark is not None:
            is_only = members[benchmark] == 1
            name = benchmark if is_only else f"{benchmark}:{spec.name}"
            _get_described_task(one).rename(name, None if is_only else benchmark)


def _get_described_task(one: CompiledDataset) -> DescribedTask:
    assert isinstance(one.task, DescribedTask)
    return one.task


def _require_unique_names(compiled: list[CompiledDataset]) -> list[CompiledDataset]:
    """Raise if two tasks have the same name: their results could not be distinguished."""
    counts = Counter(one.task.spec.name for one in compiled)
    twice = [name for name, count in counts.items() if count > 1]
    if not twice:
        return compiled
    sources = [one.task.spec.display_source for one in compiled if one.task.spec.name == twice[0]]
    raise AuthorError(
        Problem(
            "TABLE-014",
            f"{counts[twice[0]]} datasets have the name {twice[0]!r}: {listing(sources)}",
            'give each its own "abbr" in its meta file or config entry',
        )
    )
