"""Calls of a load, made up: by hand, or drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from assay.bench.records import CallRecord
from assay.core.response import Failure
from assay.core.timing import CallTimes


def call(
    began: float,
    ended: float,
    text_at: Sequence[float] = (),
    *,
    n_output: int = 0,
    n_input: int = 0,
    due: float | None = None,
    failure: str | None = None,
    event_at: Sequence[float] = (),
    number: int = 0,
) -> CallRecord:
    """Return a call; `failure` is the kind of its trouble."""
    return CallRecord(
        item="an item",
        number=number,
        times=CallTimes(began, ended, tuple(text_at), tuple(event_at)),
        due=due,
        n_input=n_input,
        n_output=n_output,
        failure=None if failure is None else Failure(failure, f"{failure} of call {number}"),
    )


_MOMENTS = st.floats(0, 3, allow_subnormal=False)


@st.composite
def calls(draw: st.DrawFn) -> list[CallRecord]:
    """Draw some calls, in the order in which they ended or in any other."""
    records = []
    for number in range(draw(st.integers(0, 25))):
        began = 1000 + draw(_MOMENTS)
        at = began
        event_at, text_at = [], []
        for gap, has_text in draw(st.lists(st.tuples(_MOMENTS, st.booleans()), max_size=6)):
            at += gap
            event_at.append(at)
            if has_text:
                text_at.append(at)
        record = call(
            began,
            at + draw(_MOMENTS),
            text_at,
            event_at=event_at,
            n_output=draw(st.integers(0, 5)),
            n_input=draw(st.integers(0, 5)),
            due=draw(st.none() | st.just(began - 0.25)),
            failure=draw(st.sampled_from([None, None, None, "timeout", "status 500"])),
            number=number,
        )
        records.append(record)
    return records
