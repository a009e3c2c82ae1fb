"""Calls before a load whose times do not count: connections are opened, and the server has seen work."""

from __future__ import annotations

import time
from collections.abc import Iterable

from assay.bench.drive import Clock, LoadDriver
from assay.bench.items import LoadItem
from assay.bench.load import ClosedLoad, Load
from assay.bench.load_result import LoadResult
from assay.bench.records import CallRecord
from assay.core.errors import BackendError, Problem
from assay.core.ports import TimedClient
from assay.core.request import Sampling
from assay.core.response import Failure


async def warm_up(
    client: TimedClient,
    items: Iterable[LoadItem],
    sampling: Sampling,
    concurrency: int,
    *,
    clock: Clock = time.perf_counter,
) -> LoadResult:
    """Send items, so many at a time; an error when none of them is answered."""
    first: Failure | None = None

    def keep_first(record: CallRecord) -> None:
        nonlocal first
        first = first or record.failure

    driven = await LoadDriver(
        client, items, Load(ClosedLoad(concurrency), sampling), keep_first, clock=clock
    ).run()
    if first is not None and driven.n_failed == driven.n_done:
        raise BackendError(
            Problem(
                "LOAD-004",
                f"none of {driven.n_done} calls to warm up was answered; the first failed with "
                f"{first.kind!r}: {first.message}",
                "look at the server, the model's name and the key; a warm-up of 0 begins without",
            )
        )
    return driven
