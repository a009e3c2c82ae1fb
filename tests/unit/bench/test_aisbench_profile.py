"""AISBench's formulas by hand, on the numbers that its own definitions give."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from assay.bench.aisbench_profile import (
    PARAMETERS,
    AISBenchProfile,
    NoResult,
    ProfileResult,
    ProfileTable,
    StableStage,
)
from assay.bench.records import CallRecord
from fakes.calls import call, calls

TWO = [
    # A role chunk at 10.1, text at 10.2 and 10.4, usage at 10.5.
    call(10.0, 10.6, [10.2, 10.4], n_output=3, n_input=100, event_at=[10.1, 10.2, 10.4, 10.5]),
    call(10.5, 11.9, [11.5], n_output=1, n_input=50, event_at=[11.5]),
]


def profiled(records: Iterable[CallRecord], batch_size: int = 2) -> AISBenchProfile:
    profile = AISBenchProfile(batch_size)
    for record in records:
        profile.add(record)
    return profile


def result(records: Iterable[CallRecord], batch_size: int = 2) -> ProfileResult:
    found = profiled(records, batch_size).result()
    assert isinstance(found, ProfileResult)
    return found


def stable(records: list[CallRecord], batch_size: int) -> ProfileResult:
    stage = profiled(records, batch_size).stable_stage()
    assert isinstance(stage, StableStage)
    profile = AISBenchProfile(batch_size, stage=stage)
    for record in records:
        profile.add(record)
    found = profile.result()
    assert isinstance(found, ProfileResult)
    return found


def test_parameters_by_hand() -> None:
    found = result(TWO).parameters
    assert tuple(found) == PARAMETERS
    assert found["E2EL"]["Average"] == "750.0 ms"  # (0.5 + 1.0) / 2: to the last event, not the last text.
    assert found["TTFT"]["Min"] == "100.0 ms"  # To the role chunk.
    assert found["TPOT"]["Max"] == "200.0 ms"  # (0.5 - 0.1) / (3 - 1)
    assert found["TPOT"]["Min"] == "0.0 ms"  # A single token counts as 0.
    assert found["ITL"]["Median"] == "100.0 ms"  # Of 0.1, 0.2 and 0.1.
    assert found["InputTokens"]["Average"] == 75.0
    assert found["OutputTokens"]["P75"] == 2.5
    assert found["OutputTokenThroughput"]["Max"] == "6.0 token/s"  # 3 / 0.5
    assert [found[name]["N"] for name in PARAMETERS] == [2, 2, 1, 1, 2, 2, 2]


def test_common_metrics_by_hand() -> None:
    assert result([*TWO, call(9.0, 99.0, failure="timeout")], 8).common == {
        "Benchmark Duration": "1500.0 ms",
        "Total Requests": 3,
        "Failed Requests": 1,
        "Success Requests": 2,
        "Concurrency": 1.0,
        "Max Concurrency": 8,
        "Request Throughput": "1.3333 req/s",
        "Total Input Tokens": 150,
        "Prefill Token Throughput": "136.3636 token/s",  # 150 / (0.1 + 1.0)
        "Total Generated Tokens": 4,
        "Input Token Throughput": "100.0 token/s",
        "Output Token Throughput": "2.6667 token/s",
        "Total Token Throughput": "102.6667 token/s",
    }


def test_statistics_have_a_resolution_of_a_tenth_of_a_millisecond() -> None:
    found = result([call(0, 1, [0.01234567], event_at=[0.01234567], n_output=1)]).parameters
    assert found["TTFT"]["Average"] == "12.3 ms"


def test_without_a_stream_ttft_is_the_time_to_the_reply() -> None:
    found = result([call(0, 2, n_output=4, n_input=3)])
    expected = ("E2EL", "TTFT", "InputTokens", "OutputTokens", "OutputTokenThroughput")
    assert tuple(found.parameters) == expected
    assert found.parameters["E2EL"] == found.parameters["TTFT"]
    assert found.parameters["TTFT"]["Max"] == "2000.0 ms"
    assert found.common["Prefill Token Throughput"] == "1.5 token/s"


def test_events_of_one_read_count_as_a_gap() -> None:
    # The original reads its clock for each event, so that two events never have one time.
    found = result([call(0, 2, [1.0], n_output=1, n_input=3, event_at=[1.0, 1.0]), TWO[0]]).parameters
    assert found["ITL"]["N"] == 2
    assert found["TPOT"]["N"] == 2


def test_tokens_that_were_not_counted_are_0_as_in_the_original() -> None:
    found = result([call(0, 2, [1.0, 2.0], event_at=[1.0, 2.0])])
    assert "TPOT" not in found.parameters
    assert found.common["Total Generated Tokens"] == 0
    assert "Prefill Token Throughput" not in found.common


def test_where_all_failed_the_reason_is_given() -> None:
    assert profiled([call(0, 1, failure="timeout")]).result() == NoResult("no request succeeded")


def closed_load() -> list[CallRecord]:
    """Return two places with calls of 2 s; the second place begins 1 s after the first."""
    begins = [0.0, 1.0, 2.5, 3.5, 5.0, 6.0]
    return [
        call(at, at + 2, [at + 2], event_at=[at + 1, at + 2], n_output=2, n_input=4, number=number)
        for number, at in enumerate(begins)
    ]


def test_the_stable_stage_opens_with_the_second_full_batch() -> None:
    # Two are under way from 1 to 2, from 2.5 to 3, from 3.5 to 4.5, from 5 to 5.5 and from 6 to 7. 98 % of a
    # batch of 2 are 1, so the stage lasts until the first end after the last beginning.
    assert profiled(closed_load()).stable_stage() == StableStage(2.5, 7.0, frozenset({2, 3, 4, 5}))


def test_the_stable_stage_by_hand() -> None:
    found = stable(closed_load(), 2)
    assert found.stage == "stable"
    assert found.common["Benchmark Duration"] == "4500.0 ms"
    assert found.common["Total Requests"] == 4  # Those that began at 2.5, 3.5, 5 and 6.
    assert found.common["Request Throughput"] == "0.8889 req/s"
    assert found.common["Concurrency"] == 1.7778  # 4 * 2 / 4.5
    assert found.parameters["TTFT"]["Average"] == "1000.0 ms"


def test_failed_calls_do_not_shift_the_counts_of_the_stable_stage() -> None:
    failed = [call(at, at + 0.1, failure="status 500") for at in (0.2, 0.4, 3.0)]
    found = stable([*failed, *closed_load()], 2)
    assert found.common["Total Requests"] == 5
    assert found.common["Failed Requests"] == 1
    assert found.common["Success Requests"] == 4
    assert found.parameters["E2EL"]["N"] == 4


@pytest.mark.parametrize(("batch_size", "times"), [(3, "at no point"), (1, "only once")])
def test_without_a_stable_stage_the_reason_is_given(batch_size: int, times: str) -> None:
    records = closed_load()[:2] if batch_size == 1 else closed_load()
    stage = profiled(records, batch_size).stable_stage()
    assert isinstance(stage, NoResult)
    assert stage.reason.endswith(times)


def test_the_files_are_as_the_original_writes_them() -> None:
    found = result(TWO)
    rows = list(csv.reader(io.StringIO(found.csv())))
    assert found.csv().count("\r\n") == 8
    assert rows[0] == [
        "Performance Parameters", "Stage", "Average", "Min", "Max", "Median", "P75", "P90", "P99", "N",
    ]  # fmt: skip
    assert rows[2][:4] == ["TTFT", "total", "550.0 ms", "100.0 ms"]
    assert rows[5][2] == "75.0"
    stored = json.loads(found.json())
    assert stored["Benchmark Duration"] == {"total": "1500.0 ms"}
    assert stored["Total Requests"] == {"total": 2}
    assert found.json().startswith('{\n    "Benchmark Duration": {\n        "total": ')
    _, common = found.tables()
    assert common.headings == ("Common Metric", "Stage", "Value")
    assert common.rows[1] == ("Total Requests", "total", "2")


@given(calls())
def test_the_formulas_hold_for_any_calls(records: list[CallRecord]) -> None:
    found = profiled(records, 3).result()
    stamps = [
        [record.times.began, *(record.times.event_at or (record.times.ended,))]
        for record in records
        if record.failure is None
    ]
    seconds = max((t[-1] for t in stamps), default=0.0) - min((t[0] for t in stamps), default=0.0)
    if not seconds:
        assert isinstance(found, NoResult)
        return
    assert isinstance(found, ProfileResult)
    total = sum(t[-1] - t[0] for t in stamps)
    assert found.common["Concurrency"] == pytest.approx(total / seconds, abs=1e-4)
    itl = [later - earlier for t in stamps for earlier, later in pairwise(t[1:])]
    assert ("ITL" in found.parameters) == bool(itl)
    if itl:
        shown = str(found.parameters["ITL"]["P90"]).removesuffix(" ms")
        assert float(shown) == pytest.approx(1000 * np.percentile(itl, 90), abs=0.051)


def test_other_statistics_where_they_are_asked_for() -> None:
    profile = AISBenchProfile(2, stats=("P50", "P1", "Max"))
    for record in TWO:
        profile.add(record)
    found = profile.result()
    assert isinstance(found, ProfileResult)
    assert found.parameters["InputTokens"] == {"P50": 75.0, "P1": 50.5, "Max": 100.0, "N": 2}
    assert found.tables()[0].headings == ("Performance Parameters", "Stage", "P50", "P1", "Max", "N")


def test_a_table_is_drawn_in_the_originals_lines() -> None:
    assert ProfileTable(("A", "Long"), (("1", "x"), ("22", "y"))).draw() == "\n".join(
        [
            "╒═════╤════════╕",
            "│  A  │ Long   │",
            "╞═════╪════════╡",
            "│  1  │ x      │",
            "├─────┼────────┤",
            "│ 22  │ y      │",
            "╘═════╧════════╛",
        ]
    )
