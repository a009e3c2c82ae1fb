"""The folder of a benchmark, read back, and its page."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assay.app.bench_page import (
    N_LOADS,
    StoredBench,
    build_page_data,
    describe_load,
    read_bench,
    render_bench_page,
)
from assay.bench.arrivals import Arrivals, Ramp, TraceArrivals
from assay.bench.folder import BenchManifest, BenchResult, get_records_path
from assay.bench.limits import LoadLimits
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.bench.page_data import PageData
from assay.core.errors import StoreError
from fakes.bench_pages import PAGES, one_load, scheduled, several, swept
from fakes.page_blocks import read_blocks
from fakes.simulated_load import closed_load


def test_a_benchmark_that_was_cut_off_has_no_numbers(tmp_path: Path) -> None:
    (tmp_path / "bench.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StoreError, match="STORE-010"):
        read_bench(tmp_path)
    (tmp_path / "summary.json").write_text("{", encoding="utf-8")
    with pytest.raises(StoreError, match=r"STORE-010 .*bench\.json: the file cannot be decoded"):
        read_bench(tmp_path)


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (Load(ClosedLoad(64), n=1000), "64 concurrent requests, 1,000 in total"),
        (Load(ClosedLoad(2), seconds=30.0), "2 concurrent requests, for 30 s"),
        (Load(OpenLoad(Arrivals(rate=2.5))), "2.5 requests/s, even gaps"),
        (
            Load(OpenLoad(Arrivals(rate=20, burstiness=1), 99)),
            "20 requests/s, Poisson, at most 99 concurrent",
        ),
        (Load(OpenLoad(Arrivals(rate=20, burstiness=0.5))), "20 requests/s, burstiness 0.5"),
        (
            Load(OpenLoad(Arrivals(ramp=Ramp(1, 50, "exponential", 60)))),
            "from 1 to 50 requests/s, exponential, even gaps",
        ),
        (Load(OpenLoad(TraceArrivals())), "at the times of the trace"),
    ],
)
def test_a_load_is_reported_in_words(load: Load, words: str) -> None:
    assert describe_load(load) == words


def test_the_same_data_gives_the_same_page_also_when_it_was_stored() -> None:
    data = several()
    stored = msgspec.json.decode(msgspec.json.encode(data), type=PageData)
    assert render_bench_page(data) == render_bench_page(several()) == render_bench_page(stored)


@pytest.mark.parametrize("name", PAGES)
def test_every_number_of_a_page_is_one(name: str) -> None:
    """JSON has no NaN: what Python could not work out would arrive as null."""
    page = render_bench_page(PAGES[name]())
    assert msgspec.convert(read_blocks(page)["bench"], PageData) == PAGES[name]()


def test_a_page_of_many_calls_is_small() -> None:
    data = one_load(scheduled(100_000))
    assert data.loads[0].n_calls == 100_000
    # As many loads as a page shows in full then fit into 3 MB.
    assert len(render_bench_page(data).encode()) < 3_000_000 / N_LOADS


def test_a_page_has_the_details_of_the_last_loads_alone(tmp_path: Path) -> None:
    n = N_LOADS + 3
    ladder, _ = swept(is_search=False)
    trials = tuple(msgspec.structs.replace(ladder.trials[0], level=level) for level in range(1, n + 1))
    for level in range(1, n + 1):
        records = get_records_path(tmp_path / "trials" / f"{level:02}-{level}")
        records.parent.mkdir(parents=True)
        records.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in closed_load(1, 2)))
    manifest = BenchManifest(
        *("bench", "openai:m@u", {}, Load(ClosedLoad(1)), LoadLimits(), 0, 0, {}, {}, "2026-11-16T00:00:00")
    )
    result = BenchResult(swept=msgspec.structs.replace(ladder, trials=trials), finished="")
    data = build_page_data(StoredBench(tmp_path, manifest, result))
    assert [load.name for load in data.loads] == [f"concurrency {level}" for level in range(4, n + 1)]
    assert data.n_earlier_loads == 3
    assert data.sweep is not None
    assert len(data.sweep.rungs) == n
