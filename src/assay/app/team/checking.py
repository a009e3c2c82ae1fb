"""Check an evaluation before it is queued, in a separate process."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

import msgspec

from assay.app.check import CheckedDataset, check
from assay.app.open_model import open_model
from assay.app.run import compile_with_settings
from assay.app.scorers import build_scorers
from assay.app.settings import RunSettings, Settings
from assay.app.team.folders import require_allowed
from assay.app.team.messages import Check, CheckedTask, CheckPassed
from assay.core.compilation import CompiledDataset
from assay.core.errors import AuthorError, PlanError, Problem, listing, suggest_name
from assay.core.method import Method
from assay.core.request import METHOD_BY_KIND
from assay.core.score import MACRO
from assay.dialects.table.compile import CompiledTable
from assay.scoring.scorers.registry import DeclaresMetrics
from assay.scoring.scorers.response_outcomes import ACCURACY

_MB = 1_000_000


@contextmanager
def bounded_memory(at_most_mb: int) -> Iterator[None]:
    """Limit the memory of this process from now on; raise TEAM-047 if the body needs more.

    A few kilobytes of a compressed table can expand to gigabytes, so a file's size is no limit.
    """
    # Array libraries reserve memory for each core, and a check does no such arithmetic.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = at_most_mb * _MB
    resource.setrlimit(
        resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
    )
    try:
        yield
    except MemoryError as error:
        what = f"reading the dataset needs more than {at_most_mb:,} MB of memory"
        fix = "upload a part of it, or shorter texts; or ask the owner to increase check_mb"
        raise AuthorError(Problem("TEAM-047", what, fix)) from error


def require_headline(datasets: tuple[str, ...], values: RunSettings, headline: str) -> None:
    """Raise if no method gives some tables a metric. The tables are known to compile."""
    known: dict[str, None] = {}
    for method in METHOD_BY_KIND.values():
        for name in _metrics(_compile_by_method(method, datasets, values)):
            if name == headline:
                return
            known[name] = None
    hint = suggest_name(headline, known)
    what = f"the 'headline' is {headline!r}{hint}, but the dataset has no such metric"
    fix = f"use one of {listing(known, at_most=len(known))}, or leave it empty"
    raise AuthorError(Problem("TEAM-046", what, fix))


def _compile_by_method(
    method: Method, datasets: tuple[str, ...], values: RunSettings
) -> Sequence[CompiledDataset]:
    try:
        return compile_with_settings(datasets, msgspec.structs.replace(values, method=(method,)), None)
    except (AuthorError, PlanError):
        # The method does not fit: texts have no answers, and free answers have no options.
        return ()


def _metrics(compiled: Sequence[CompiledDataset]) -> Iterator[str]:
    for one in compiled:
        has_groups = isinstance(one, CompiledTable) and len(one.survey.group_counts) > 1
        for scorer in build_scorers(one.task):
            if isinstance(scorer, DeclaresMetrics):
                yield from scorer.gives
                if has_groups and scorer.gives[0] == ACCURACY:
                    yield f"{ACCURACY}{MACRO}"


def check_order(order: Check) -> CheckPassed:
    """Compile the datasets and check every row; raise all errors."""
    if order.memory_mb is None:
        return _check_plan(order)
    with bounded_memory(order.memory_mb):
        return _check_plan(order)


def _check_plan(order: Check) -> CheckPassed:
    if order.folder is not None:
        # Relative names keep paths of this machine out of errors.
        os.chdir(order.folder)
    values = order.plan.values
    require_allowed(order.plan.datasets, order.allow_python)
    try_model(values)
    settings = Settings(values, order.plan.sources)
    checked = check(order.plan.datasets, settings, with_model=False)
    if order.headline is not None:
        require_headline(order.plan.datasets, values, order.headline)
    return CheckPassed(tuple(_task(one, order.n_rows) for one in checked))


def try_model(values: RunSettings) -> None:
    """Raise if a model cannot be opened; checks only its files, packages and arguments."""
    open_model(values).close()


def _task(one: CheckedDataset, n_rows: int) -> CheckedTask:
    task = one.compiled.task
    rows = tuple(sample.fields for sample in islice(task.samples(), n_rows))
    return CheckedTask(
        task.spec.name,
        task.spec.dialect,
        task.spec.methods,
        task.spec.n_samples,
        tuple(dict.fromkeys(name for row in rows for name in row)),
        rows,
        tuple(finding.text for finding in one.findings if finding.is_warning),
    )
