"""Errors in scoring code: the task loses its score, and everything else is kept.

The code can be a metric of Assay, of a library or of a dataset's author.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import NamedTuple

from assay.core.errors import (
    AssayError,
    BackendError,
    BudgetReached,
    OfflineError,
    Problem,
    StoreError,
    UsageError,
    describe_exception,
    find_raise_origin,
    is_interrupt,
)
from assay.core.method import Method
from assay.core.sample import Sample
from assay.core.score import NO_METRIC, Score, Verdict

_FATAL_ERRORS = (BackendError, StoreError, UsageError, OfflineError, BudgetReached)
_DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)


class DeferredSample(NamedTuple):
    """What is needed of a sample whose scores come after all samples are complete."""

    id: str
    group: str | None
    cluster: str | None

    @classmethod
    def of(cls, sample: Sample) -> DeferredSample:
        """Return the part of a sample to keep."""
        return cls(sample.id, sample.group, sample.cluster)


def is_fatal_error(error: BaseException) -> bool:
    """Return whether an error is not about scoring: Ctrl-C, a full disk, a lost model, a wrong command."""
    is_full = isinstance(error, OSError) and error.errno in _DISK_FULL_ERRNOS
    return is_interrupt(error) or isinstance(error, _FATAL_ERRORS) or is_full


def describe_scoring_problem(error: BaseException, task: str, track: Method) -> Problem:
    """Return the problem of an error while scoring a task, with the line that raised it."""
    if isinstance(error, AssayError):
        return error.problems[0]
    return Problem(
        "SCORE-007",
        f"scoring {task!r} by {track} raised {describe_exception(error)}",
        "fix the code at this line, then score the stored answers with `assay score RUN`",
        find_raise_origin(error),
    )


def make_failed_scores(samples: Sequence[DeferredSample], task: str, track: Method, why: str) -> list[Score]:
    """Return a failed score for every sample of a task that could not be scored."""
    return [
        Score(
            task,
            sample.id,
            track,
            NO_METRIC,
            Verdict.FAILED,
            why=why,
            group=sample.group,
            cluster=sample.cluster,
        )
        for sample in samples
    ]
