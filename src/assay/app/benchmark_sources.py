"""The systems whose benchmarks can be named: where each has them, and how they are listed.

A source is an installed package, read as data and never imported, or a checkout. Listing reads files; what a
run takes for a name is a path, or a name that the dialect itself resolves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from assay.backends.cache_dir import cache_dir
from assay.core.benchmark import Benchmark, DataNeed

_TEAM_DATABASE = "ASSAY_TEAM_DATABASE"
_PASSWORD = re.compile(r"(?<=:)[^:/@]*(?=@)")


class BenchmarkSource(NamedTuple):
    """A system with benchmarks."""

    name: str
    """The prefix of its benchmarks."""
    title: str
    find: Callable[[Path], Sequence[Path]]
    """Return the folders with its benchmarks in a checkout, or in the folder of its package."""
    list: Callable[[Any], list[Benchmark]]
    """Return the benchmarks of such a folder, or of a database."""
    dialect: str
    module: str | None = None
    """The top folder of its package; None if it has none with benchmarks."""
    package: str = ""
    """The name of its package, for pip."""
    find_database: Callable[[], str | None] | None = None
    """Return the database of its benchmarks: a file or an address; None if there is no database."""


class SourceFolder(NamedTuple):
    """A folder or a database with benchmarks."""

    source: BenchmarkSource
    folder: Path | str
    """A folder is a path, a database a text."""
    version: str
    """The package's version; empty for a checkout."""

    @property
    def shown_place(self) -> str:
        """Return the folder or the database for display, without a password."""
        return _PASSWORD.sub("***", str(self.folder))


def find_installed_folders(source: BenchmarkSource) -> list[SourceFolder]:
    """Return the folders of a source's installed package. Imports nothing of it."""
    if source.find_database is not None:
        database = source.find_database()
        return [] if database is None else [SourceFolder(source, database, "")]
    spec = None if source.module is None else find_spec(source.module)
    places = () if spec is None else spec.submodule_search_locations or ()
    roots = dict.fromkeys(Path(place).parent for place in places)
    folders = [folder for root in roots for folder in source.find(root)]
    return [SourceFolder(source, folder, _get_version(source.package)) for folder in folders]


def _get_version(package: str) -> str:
    # Imported here, because a run of a file does not need it.
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _find_task_files(root: Path) -> list[Path]:
    from assay.dialects.lm_eval.detect import is_task_file

    inside = root / "lm_eval" / "tasks"
    if inside.is_dir():
        return [inside]
    is_flat = root.is_dir() and (is_task_file(str(root)) or any(map(is_task_file, map(str, root.glob("*/")))))
    return [root] if is_flat else []


def _list_task_files(folder: Path) -> list[Benchmark]:
    from assay.dialects.lm_eval.benchmark_list import list_task_entries
    from assay.dialects.lm_eval.task_index import load_folder_index

    return list_task_entries(load_folder_index(folder, cache_dir()), folder)


def _find_opencompass_configs(root: Path) -> list[Path]:
    from assay.dialects.openicl.benchmark_list import find_config_packages

    return [folder for folder in find_config_packages(root) if "ais_bench" not in folder.parts[-3:]]


def _find_aisbench_configs(root: Path) -> list[Path]:
    from assay.dialects.openicl.benchmark_list import find_config_packages

    return [folder for folder in find_config_packages(root) if "ais_bench" in folder.parts[-3:]]


def _list_configs(folder: Path) -> list[Benchmark]:
    from assay.dialects.openicl.benchmark_list import list_configs

    return list_configs(folder)


def _find_classes(root: Path) -> list[Path]:
    from assay.dialects.llmbox.benchmark_list import find_class_folder

    folder = find_class_folder(root)
    return [] if folder is None else [folder]


def _list_classes(folder: Path) -> list[Benchmark]:
    from assay.dialects.llmbox.benchmark_list import list_classes

    return list_classes(folder)


def _find_dataset_folders(root: Path) -> list[Path]:
    from assay.dialects.ultraeval.detect import find_dataset_folders

    return [root] if find_dataset_folders(root) else []


def _list_dataset_folders(folder: Path) -> list[Benchmark]:
    from assay.dialects.ultraeval.benchmark_list import list_dataset_folders

    return list_dataset_folders(folder)


def _find_task_classes(root: Path) -> list[Path]:
    from assay.dialects.leap.detect import find_task_folder

    return [root] if find_task_folder(root) is not None else []


def _list_task_classes(folder: Path) -> list[Benchmark]:
    from assay.dialects.leap.benchmark_list import list_tasks

    return list_tasks(folder)


def _find_team_database() -> str | None:
    """Return the database of the team server of this folder: a file that exists, or an address."""
    from assay.app.team.settings import FILE, TeamSettings, resolve_team_settings

    named = os.environ.get(_TEAM_DATABASE)
    if named is None and not Path(FILE).is_file() and not Path(TeamSettings().database_place).is_file():
        return None
    place = resolve_team_settings({"database": named}, Path.cwd()).database_place
    return place if "://" in place or Path(place).is_file() else None


def _list_registered_datasets(database: str) -> list[Benchmark]:
    from assay.ledger.database import open_database
    from assay.ledger.datasets import Datasets

    opened = open_database(database)
    try:
        registered = Datasets(opened).every()
    finally:
        opened.close()
    return [
        Benchmark(one.name, one.place, one.explanation, data=(DataNeed(one.place),)) for one in registered
    ]


SOURCES = {
    source.name: source
    for source in (
        BenchmarkSource(
            "lm_eval",
            "lm-evaluation-harness",
            _find_task_files,
            _list_task_files,
            "lm_eval",
            "lm_eval",
            "lm-eval",
        ),
        BenchmarkSource(
            "opencompass",
            "OpenCompass",
            _find_opencompass_configs,
            _list_configs,
            "openicl",
            "opencompass",
            "opencompass",
        ),
        BenchmarkSource(
            "aisbench",
            "AISBench",
            _find_aisbench_configs,
            _list_configs,
            "openicl",
            "ais_bench",
            "ais_bench_benchmark",
        ),
        BenchmarkSource("llmbox", "LLMBox", _find_classes, _list_classes, "llmbox"),
        BenchmarkSource("ultraeval", "UltraEval", _find_dataset_folders, _list_dataset_folders, "ultraeval"),
        BenchmarkSource(
            "team",
            "the team's registered datasets",
            lambda root: (),
            _list_registered_datasets,
            "table",
            find_database=_find_team_database,
        ),
        BenchmarkSource("leap", "LEAP", _find_task_classes, _list_task_classes, "leap"),
    )
}
"""By prefix."""
