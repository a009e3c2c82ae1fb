"""Many datasets checked at once: for each, whether it compiles, which data it lacks, or what is wrong.

Only the beginning of each is looked at, so that a folder of a hundred files takes seconds; `app.check` looks
at every row of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.app.dataset_state import DatasetState
from assay.app.dialects import list_members
from assay.app.offline.watch import offline_watch
from assay.app.open_model import open_model
from assay.app.run import compile_with_settings
from assay.app.scorers import build_scorers
from assay.app.settings import RunSettings, Settings
from assay.core.errors import AssayError, Problem
from assay.core.ports import Backend
from assay.dialects.shared.compilation import CompiledDataset
from assay.engine.plan import check_plan, probe_model_card
from assay.sources.dataset_folder import DatasetMissing

ROWS_LOOKED_AT = 50
"""Rows of each dataset, or subset of it, that are formatted and rendered."""


class FileCheckResult(NamedTuple):
    """One dataset, and what was found out about it."""

    name: str
    state: DatasetState
    n_rows: int = 0
    n_tasks: int = 0
    """Subsets, or 1."""
    methods: tuple[str, ...] = ()
    class_name: str | None = None
    problem: Problem | None = None
    """What it needs, or the first thing that is wrong."""
    n_problems: int = 0


class NamedDatasets(NamedTuple):
    """The datasets that a person's words mean."""

    datasets: tuple[str, ...]
    skipped: tuple[str, ...]
    """Files of a folder that are no datasets."""


def expand_datasets(names: Sequence[str], dialect: str | None) -> NamedDatasets:
    """Put the datasets of a folder in its place; a folder without any is left as it is."""
    datasets: list[str] = []
    skipped: list[str] = []
    for name in names:
        members = list_members(name, dialect)
        datasets += members or [name]
        if any(Path(member).is_file() for member in members):
            skipped += [str(file) for file in sorted(Path(name).glob("*.py")) if str(file) not in members]
    return NamedDatasets(tuple(datasets), tuple(skipped))


def check_files(
    datasets: Sequence[str], settings: Settings, *, with_model: bool
) -> Iterator[FileCheckResult]:
    """Yield what is found out about each dataset, one after the other."""
    values = settings.values
    limit = values.limit or f"first:{ROWS_LOOKED_AT}"
    values = msgspec.structs.replace(values, limit=limit)
    with offline_watch(values) as watch:
        watch.seal()
        if not with_model:
            yield from (_check_file(name, values, None) for name in datasets)
            return
        with closing(open_model(values)) as backend:
            yield from (_check_file(name, values, backend) for name in datasets)


def _check_file(name: str, values: RunSettings, backend: Backend | None) -> FileCheckResult:
    try:
        compiled = compile_with_settings((name,), values, backend)
        for one in compiled:
            build_scorers(one.task)
        if backend is not None:
            tasks = [one.task for one in compiled]
            check_plan(tasks, probe_model_card(backend, tasks))
        _render(compiled)
    except DatasetMissing as missing:
        return FileCheckResult(
            name, DatasetState.NEEDS_DATA, problem=missing.problems[0], n_problems=missing.total
        )
    except AssayError as error:
        return FileCheckResult(name, DatasetState.ERROR, problem=error.problems[0], n_problems=error.total)
    specs = [one.task.spec for one in compiled]
    return FileCheckResult(
        name,
        DatasetState.OK,
        n_rows=sum(spec.n_rows for spec in specs),
        n_tasks=len(specs),
        methods=tuple(dict.fromkeys(method for spec in specs for method in spec.methods)),
        class_name=specs[0].settings.get("class"),
    )


def _render(compiled: Sequence[CompiledDataset]) -> None:
    """Make the prompts: a template that cannot be filled shows itself only then."""
    for one in compiled:
        for sample in islice(one.task.samples(), ROWS_LOOKED_AT):
            one.task.requests(sample)
