from __future__ import annotations

import pytest

from assay.app.bench_report import build_tables, format_milliseconds
from assay.bench.goodput import RequestLimit
from assay.bench.measures import Measures
from assay.bench.records import CallRecord
from assay.bench.steady import SteadyWindow
from assay.bench.summary import BenchSummary
from fakes.calls import call


def summary(*records: CallRecord, window: SteadyWindow | None = None) -> BenchSummary:
    measures = Measures([RequestLimit("ttft", 0.5)], window=window)
    for record in records:
        measures.add(record)
    return measures.summary()


def cells(found: BenchSummary, steady: BenchSummary | None = None) -> dict[str, list[str]]:
    return {row[0]: list(row[1:]) for table in build_tables(found, steady) for row in table.rows}


STREAM = call(0, 2.0, [0.00512, 1.5], n_output=1200, n_input=7, due=0)


def test_each_number_has_its_row_and_its_unit() -> None:
    found = build_tables(summary(STREAM, call(0, 1, failure="timeout")))
    assert [table.title for table in found] == ["all requests", "totals", "failures"]
    assert found[0].headings == ("", "mean", "std", "min", "max", "p50", "p75", "p90", "p95", "p99", "n")
    rows = cells(summary(STREAM, call(0, 1, failure="timeout")))
    assert rows["TTFT, ms"] == ["5.12", "0.00", *["5.12"] * 7, "1"]
    assert rows["E2EL, ms"][0] == "1,500"
    assert rows["requests/s"] == ["0.5"]
    assert rows["output tokens/s"] == ["600"]
    assert rows["good requests, % (ttft <= 500 ms)"] == ["50.0"]
    assert rows["concurrent requests, max"] == ["2"]
    assert rows["timeout"] == ["1", "timeout of call 0"]


def test_every_row_is_as_wide_as_its_headings() -> None:
    for table in build_tables(summary(STREAM), summary(STREAM, window=SteadyWindow(0, 2, 1, 1))):
        assert all(len(row) == len(table.headings) for row in table.rows)


def test_what_was_not_counted_is_said_so_and_pieces_are_named_as_such() -> None:
    rows = cells(summary(call(0, 2, [1.0, 2.0])))
    assert rows["output tokens"] == ["not counted"]
    assert rows["output tokens/s"] == ["not counted"]
    assert rows["output chunks/s (not tokens)"] == ["1"]
    assert "output chunks/s (not tokens)" not in cells(summary(STREAM))


def test_the_steady_window_is_beside_the_whole_run() -> None:
    records = [call(at, at + 1.0, [at + 1.0], n_output=10, n_input=1) for at in range(10)]
    rows = cells(summary(*records), summary(*records, window=SteadyWindow(2, 7, 1, 1)))
    assert rows["requests"] == ["10", "5"]
    assert rows["duration, s"] == ["10.00", "5.00"]


def test_a_run_in_which_all_failed_has_dashes() -> None:
    rows = cells(summary(call(0, 1, failure="timeout")))
    assert rows["requests/s"] == ["-"]
    assert "TTFT, ms" not in rows


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.00"),
        (0.0012345, "1.23"),
        (0.0099951, "10.0"),
        (0.0123456, "12.3"),
        (12.3456, "12,346"),
        (-0.001, "-1.00"),
    ],
)
def test_times_have_as_many_digits_as_they_deserve(seconds: float, shown: str) -> None:
    assert format_milliseconds(seconds) == shown
