"""The folder of a benchmark, read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.bench_page import describe_load, read_bench
from assay.bench.arrivals import Arrivals, Ramp, TraceArrivals
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.core.errors import StoreError


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
def test_a_load_is_told_in_words(load: Load, words: str) -> None:
    assert describe_load(load) == words
