"""What to do when code that scores raises: its own task loses the score, and everything else is kept.

The code may be a metric of Assay, of a library or of a dataset's author. Must not know how metrics work.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import NamedTuple

from assay.core.errors import (
    AssayError,
    BackendError,
    OfflineError,
    Problem,
    StoreError,
    UsageError,
    find_raise_origin,
    is_interrupt,
)
from assay.core.sample import Sample
from assay.core.score import NO_METRIC, Score, Verdict

_FATAL_ERRORS = (BackendError, StoreError, UsageError, OfflineError)
_DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)


class DeferredSample(NamedTuple):
    """What a score needs to know of a sample whose scores come when all samples are there."""

    id: str
    group: str | None
    cluster: str | None

    @classmethod
    def of(cls, sample: Sample) -> DeferredSample:
        """Return what to keep of a sample."""
        return cls(sample.id, sample.group, sample.cluster)


def is_fatal_error(error: BaseException) -> bool:
    """Whether an error is none of scoring: Ctrl-C, a full disk, a model that is gone, a wrong command."""
    is_full = isinstance(error, OSError) and error.errno in _DISK_FULL_ERRNOS
    return is_interrupt(error) or isinstance(error, _FATAL_ERRORS) or is_full


def describe_scoring_problem(error: BaseException, task: str, track: str) -> Problem:
    """Return what went wrong while a task was scored, with the line that raised."""
    if isinstance(error, AssayError):
        return error.problems[0]
    return Problem(
        "SCORE-007",
        f"scoring {task!r} by {track} raised {type(error).__name__}: {error}",
        "correct the code at this line, then score the kept answers: `assay score RUN`",
        find_raise_origin(error),
    )


def make_failed_scores(samples: Sequence[DeferredSample], task: str, track: str, why: str) -> list[Score]:
    """Return a failed score for every sample of a task that could not be scored."""
    return [
        Score(
            task,
            one.id,
            track,
            NO_METRIC,
            Verdict.FAILED,
            why=why,
            group=one.group,
            cluster=one.cluster,
        )
        for one in samples
    ]
