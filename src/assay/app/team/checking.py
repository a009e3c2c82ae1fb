"""What can be known of an evaluation before it is queued, found out in a process of its own."""

from __future__ import annotations

import os
from itertools import islice

from assay.app.check import CheckedDataset, check
from assay.app.open_model import open_model
from assay.app.settings import RunSettings, Settings
from assay.app.team.folders import require_allowed
from assay.app.team.headlines import require_headline
from assay.app.team.memory import bounded_memory
from assay.app.team.messages import Check, CheckedTask, CheckPassed


def check_order(order: Check) -> CheckPassed:
    """Compile the datasets and look at every row; raise what is wrong."""
    if order.memory_mb is None:
        return _check_plan(order)
    with bounded_memory(order.memory_mb):
        return _check_plan(order)


def _check_plan(order: Check) -> CheckPassed:
    if order.folder is not None:
        # So errors name the file as whoever sent it does, and tell nothing of this machine.
        os.chdir(order.folder)
    values = order.plan.values
    require_allowed(order.plan.datasets, order.allow_python)
    try_model(values)
    settings = Settings(values, order.plan.sources)
    found = check(order.plan.datasets, settings, with_model=False)
    if order.headline is not None:
        require_headline(order.plan.datasets, values, order.headline)
    return CheckPassed(tuple(_task(one, order.n_rows) for one in found))


def try_model(values: RunSettings) -> None:
    """Raise where a model cannot be opened: its files, packages and arguments are looked at, no more."""
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
