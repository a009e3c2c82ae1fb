"""Stop a run whose first requests are all rejected the same way: the settings are wrong, not the inputs.

With a model that does not exist, or a longer answer than the server allows, every sample would fail. The
first rejections are kept back until another response arrives. A run that stops here has stored none of them,
and the corrected command sends all requests again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assay.core.errors import BackendError, Problem
from assay.core.response import Failure, Response

AT_MOST = 20
"""Number of rejections after which a run stops, if nothing else arrived."""
_KINDS = ("refused", "raised", "wrong_type")
"""Failures of a server that rejects a request, and of a Python function."""


def check_uniform_rejections(
    responses: Iterator[Response], was_answered: Callable[[], bool]
) -> Iterator[Response]:
    """Yield the responses; raise MODEL-010 if the first ones are all rejected with the same status.

    `was_answered`: whether any request was already answered, for example by the cache.
    """
    pending: list[Response] = []
    statuses: set[str] = set()
    for response in responses:
        pending.append(response)
        outcome = response.outcome
        if not isinstance(outcome, Failure) or outcome.kind not in _KINDS or was_answered():
            break
        # Only the status, or the type of the exception: the rest of the message can refer to the input.
        statuses.add(outcome.message.partition(":")[0])
        if len(statuses) > 1:
            break
        if len(pending) == AT_MOST:
            raise _make_rejection_error(outcome)
    yield from pending
    yield from responses


def _make_rejection_error(last: Failure) -> BackendError:
    if last.kind != "refused":
        what = f"the function failed on the first {AT_MOST} prompts; last error: {last.message}"
        fix = "correct the function; if only these prompts are the problem, add keep_going=True"
        return BackendError(Problem("MODEL-010", what, fix))
    what = f"the server rejected the first {AT_MOST} requests and answered none; last error: {last.message}"
    fix = "fix what the server reports; if only these requests are wrong, add --keep-going"
    return BackendError(Problem("MODEL-010", what, fix))
