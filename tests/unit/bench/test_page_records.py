from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from assay.bench import page_records
from assay.bench.goodput import RequestLimit
from assay.bench.measures import Measures
from assay.bench.page_data import LoadView, Timeline, TimeSpan
from assay.bench.page_records import PageRecorder, build_load_view
from assay.bench.records import CallRecord
from assay.bench.steady import find_steady_window
from assay.core.response import Failure
from assay.core.timing import CallTimes
from fakes.simulated_load import START, closed_load


def view(records: list[CallRecord], level: int | None = None) -> LoadView:
    return build_load_view(records, level=level)


def rounded(part: Any) -> Any:
    """Return a document with nine significant digits."""
    if isinstance(part, float):
        return float(f"{part:.9g}")
    if isinstance(part, dict):
        return {name: rounded(one) for name, one in part.items()}
    return [rounded(one) for one in part] if isinstance(part, list | tuple) else part


def talk(item: str, number: int, began: float, turn: int) -> CallRecord:
    return CallRecord(item, number, CallTimes(began, began + 0.5), turn=turn)


def rows(timeline: Timeline) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(timeline.n_rows)]
    for bar in timeline.bars:
        found[bar.row].append(bar.number)
    return found


def test_numbers_are_those_of_the_summary() -> None:
    records = list(closed_load(4, 60, failing=0.2))
    limits = (RequestLimit("ttft", 0.15),)
    measures = Measures(limits)
    for record in records:
        measures.add(record)
    summary = measures.summary()
    seen = build_load_view(records, limits=limits)
    assert {one.name.lower(): one.stats for one in seen.whole.latencies} == {
        name: summary.metrics[name] for name in ("ttft", "itl", "tpot", "e2el")
    }
    assert [one.value for one in seen.whole.amounts[:3]] == [
        summary.throughput.requests_per_s,
        summary.throughput.input_tokens_per_s,
        summary.throughput.output_tokens_per_s,
    ]
    assert seen.whole.goodput is not None
    assert summary.goodput is not None
    assert seen.whole.goodput.n_kept == summary.goodput.n_good
    assert seen.whole.goodput.n == 60
    assert seen.whole.goodput.limits == ("ttft <= 150 ms",)
    for one in seen.distributions:
        assert sum(one.histogram.counts) + one.histogram.n_below == pytest.approx(one.stats.n)


def test_rates_over_time_add_up_to_all_calls_and_tokens() -> None:
    records = list(closed_load(4, 80, failing=0.1))
    seen = view(records)
    good = [record for record in records if record.failure is None]
    edges = [place * seen.requests.width for place in range(len(seen.requests.values))] + [seen.requests.end]
    widths = [right - left for left, right in pairwise(edges)]
    assert sum(map(float.__mul__, widths, seen.requests.values)) == pytest.approx(len(good))
    assert seen.output is not None
    assert seen.output_unit == "tokens"
    assert sum(map(float.__mul__, widths, seen.output.values)) == pytest.approx(20 * len(good))
    first = min(record.times.began for record in records)
    inside = [record for record in good if edges[3] <= record.times.ended - first < edges[4]]
    assert seen.requests.values[3] == pytest.approx(len(inside) / widths[3])


def test_pieces_stand_for_tokens_that_were_not_counted() -> None:
    records = [msgspec.structs.replace(record, n_output=0) for record in closed_load(2, 10)]
    seen = view(records)
    assert seen.output_unit == "chunks"
    assert seen.output is not None
    assert [one.absent for one in seen.whole.latencies if one.stats is None] == [
        "The server did not count output tokens."
    ]


def test_without_a_stream_only_the_whole_call_is_known() -> None:
    seen = view(list(closed_load(2, 10, streams=False)))
    assert [one.name for one in seen.distributions] == ["E2EL"]
    assert all(one.absent for one in seen.whole.latencies if one.name != "E2EL")
    assert all(bar.first_text is None for bar in seen.timeline.bars)
    assert seen.output_unit == "tokens"


def test_nothing_is_known_of_a_load_without_calls() -> None:
    seen = view([])
    assert (seen.n_calls, seen.distributions, seen.timeline.bars) == (0, (), ())


def test_the_order_of_the_records_plays_no_part() -> None:
    records = list(closed_load(8, 500))
    # Sums may differ in their last digits, which no page shows.
    one, other = (rounded(msgspec.to_builtins(view(some))) for some in (records, records[::-1]))
    assert one == other


def test_the_steady_window_counts_from_the_first_call() -> None:
    records = list(closed_load(4, 100))
    measures = Measures()
    for record in records:
        measures.add(record)
    window = find_steady_window(measures.build_concurrency_curve(), level=4)
    seen = view(records, level=4)
    assert seen.steady is not None
    assert seen.steady == TimeSpan(window.start - START, window.end - START)  # type: ignore[union-attr]
    assert seen.steady_note.startswith("Steady for")
    assert view(records, level=400).steady_note.startswith(
        "No steady window: the peak was 4 concurrent requests"
    )


def test_concurrency_is_the_measured_one() -> None:
    seen = view(list(closed_load(4, 100)))
    assert seen.concurrency.peak == 4 == max(seen.concurrency.levels)
    assert seen.concurrency.levels[-1] == 0


def test_turns_of_a_conversation_share_a_row() -> None:
    records = [talk("a", 0, 1.0, 0), talk("b", 1, 1.1, 0), talk("a", 2, 2.0, 1), talk("b", 3, 2.1, 1)]
    assert rows(view(records).timeline) == [[0, 2], [1, 3]]


def test_a_conversation_that_comes_again_gets_a_row_of_its_own() -> None:
    first = [talk("a", 0, 1.0, 0), talk("a", 1, 2.0, 1), talk("a", 2, 3.0, 2)]
    again = [talk("a", 3, 1.5, 0), talk("a", 4, 2.5, 1)]
    assert rows(view([*first, *again]).timeline) == [[0, 1, 2], [3, 4]]


def test_without_turns_each_call_is_a_row() -> None:
    records = [talk("a", number, 1.0 + number, 0) for number in range(5)]
    assert rows(view(records).timeline) == [[number] for number in range(5)]


def test_rows_are_drawn_with_equal_chances_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_records, "N_ROWS", 50)
    records = [
        talk(f"talk {n}", 2 * n + turn, n + turn * 0.6, turn) for n in range(2000) for turn in range(2)
    ]
    timeline = view(records).timeline
    drawn = rows(timeline)
    assert (timeline.n_rows, timeline.n_all_rows, timeline.n_all_calls) == (50, 2000, 4000)
    assert all(second == first + 1 for first, second in drawn)
    assert drawn == sorted(drawn)
    # Each fifth of the load has ten rows on average; less than two or more than twenty would be no fair lot.
    fifths = Counter(first // 800 for first, _ in drawn)
    assert all(2 <= fifths[fifth] <= 20 for fifth in range(5))


def test_calls_of_long_conversations_are_bounded() -> None:
    records = [
        talk(f"talk {n}", 700 * n + turn, turn + n / 10, turn) for n in range(5) for turn in range(700)
    ]
    assert len(view(records).timeline.bars) == 700
    endless = [talk("talk", turn, float(turn), turn) for turn in range(3000)]
    assert len(view(endless).timeline.bars) == page_records.N_BARS


def test_what_was_sent_and_what_was_due() -> None:
    records = [
        CallRecord(str(n), n, CallTimes(10 + n * 0.1 + 0.02, 12 + n * 0.1), due=10 + n * 0.1)
        for n in range(50)
    ]
    seen = view(records).send_rate
    assert seen is not None
    assert seen.lateness.p50 == pytest.approx(0.02)
    assert seen.lateness.n == 50
    width = seen.due.width
    assert sum(seen.due.values[:-1]) * width == pytest.approx(50, abs=1)
    assert max(seen.late_max.values) == pytest.approx(0.02)
    assert view(list(closed_load(2, 5))).send_rate is None


def test_failures_are_counted_by_kind_with_a_few_messages() -> None:
    recorder, measures = PageRecorder(), Measures()
    for number in range(100):
        failure = Failure(f"kind {number % 3 and 1}", f"message {number % 7} " + "x" * 1000)
        record = CallRecord("i", number, CallTimes(1.0 + number, 2.0 + number), failure=failure)
        recorder.add(record)
        measures.add(record)
    seen = recorder.view("load", measures)
    assert [(one.kind, one.n) for one in seen.failures] == [("kind 1", 66), ("kind 0", 34)]
    for one in seen.failures:
        assert len(one.examples) == len(set(one.examples)) == 3
        assert all(len(example) == page_records.N_MESSAGE + 1 for example in one.examples)


def test_a_kind_too_many_is_counted_among_others() -> None:
    recorder, measures = PageRecorder(), Measures()
    for number in range(100):
        record = CallRecord("i", number, CallTimes(1.0, 2.0), failure=Failure(f"kind {number}", ""))
        recorder.add(record)
        measures.add(record)
    failures = recorder.view("load", measures).failures
    assert failures[0].kind == "other"
    assert sum(one.n for one in failures) == 100
    assert len(failures) == page_records.N_KINDS + 1
