"""What is known of each call of a load once it has ended; one line of `requests.jsonl`."""

from __future__ import annotations

import msgspec

from assay.core.response import Failure, Finish
from assay.core.timing import CallTimes


class CallRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call."""

    item: str
    """Id of the item; in a run that goes round and round, several records have the same."""
    number: int
    """Which call of the run it is, in the order in which they were sent, from 0."""
    times: CallTimes
    turn: int = 0
    due: float | None = None
    """When the load's schedule wanted it sent, on the same clock; None where a free place decided."""
    n_input: int = 0
    """Tokens of the prompt, as the server counted; 0 when it did not and they are not known."""
    n_output: int = 0
    """Tokens of the answer, as the server counted; 0 when it did not."""
    finish: Finish | None = None
    failure: Failure | None = None
