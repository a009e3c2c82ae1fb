"""A server that refuses all requests alike before it answered any: the settings are wrong, not the inputs.

A model that is not there, an answer longer than the server writes: the run would be as many failed samples as
there are rows. The first refusals are held back until something else comes, so that a run that ends here has
stored none of them, and the corrected command asks all anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assay.core.errors import BackendError, Problem
from assay.core.response import Failure, Response

AT_MOST = 20
"""Refusals, and nothing else, with which a run may begin."""


def check_uniform_rejections(
    responses: Iterator[Response], was_answered: Callable[[], bool]
) -> Iterator[Response]:
    """Yield the responses; raise MODEL-010 when the first ones are all refusals alike.

    `was_answered`: whether anything of the run was answered otherwise, by the cache for example.
    """
    held: list[Response] = []
    statuses: set[str] = set()
    for response in responses:
        held.append(response)
        outcome = response.outcome
        if not isinstance(outcome, Failure) or outcome.kind != "refused" or was_answered():
            break
        # The status alone: what is said beside it may speak of the input.
        statuses.add(outcome.message.partition(":")[0])
        if len(statuses) > 1:
            break
        if len(held) == AT_MOST:
            raise _make_rejection_error(outcome)
    yield from held
    yield from responses


def _make_rejection_error(last: Failure) -> BackendError:
    what = (
        f"the first {AT_MOST} requests were all refused and none was answered, the last with {last.message}"
    )
    fix = (
        "correct what the server names; if these inputs alone are at fault, --keep-going asks the others too"
    )
    return BackendError(Problem("MODEL-010", what, fix))
