"""The record of a finished call; one line of `requests.jsonl`."""

from __future__ import annotations

import msgspec

from assay.core.response import Failure, Finish
from assay.core.timing import CallTimes


class CallRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call."""

    item: str
    """Id of the item; several records have the same if items are repeated."""
    number: int
    """Its position in sending order, from 0."""
    times: CallTimes
    turn: int = 0
    due: float | None = None
    """When it was scheduled, on the same clock; None for closed loads."""
    n_input: int = 0
    """Tokens of the prompt, as counted by the server; 0 if they are not known."""
    n_output: int = 0
    """Tokens of the response, as counted by the server; 0 if it did not count them."""
    finish: Finish | None = None
    failure: Failure | None = None
