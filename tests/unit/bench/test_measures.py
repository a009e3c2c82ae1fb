"""Numbers of a load, against an oracle that goes through the records one by one, and by hand."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench import columns
from assay.bench.goodput import RequestLimit
from assay.bench.measures import Measures
from assay.bench.records import CallRecord
from assay.bench.steady import SteadyWindow, find_steady_window
from assay.bench.summary import METRICS, BenchSummary
from assay.core.timing import CallTimes
from fakes.calls import call, calls

LIMITS = (
    RequestLimit("ttft", 2.0),
    RequestLimit("tpot", 1.5),
    RequestLimit("itl", 2.0),
    RequestLimit("e2el", 6),
)


def summary(
    records: Iterable[CallRecord], limits: Sequence[RequestLimit] = (), window: SteadyWindow | None = None
) -> BenchSummary:
    measures = Measures(limits, window=window)
    for record in records:
        measures.add(record)
    return measures.summary()


def values(record: CallRecord) -> dict[str, list[float]]:
    """Return what one call says, by the definitions of docs/reference/serving-benchmark-metrics.md."""
    times, n = record.times, record.n_output
    late = [] if record.due is None else [times.began - record.due]
    if record.failure is not None:
        return {"late": late}
    text = times.text_at
    e2el = (text[-1] if text else times.ended) - times.began
    return {
        "late": late,
        "ttft": [text[0] - times.began] if text else [],
        "itl": [later - earlier for earlier, later in pairwise(text)],
        "tpot": [(text[-1] - text[0]) / (n - 1)] if len(text) > 1 and n > 1 else [],
        "e2el": [e2el],
        "input_tokens": [record.n_input] if record.n_input else [],
        "output_tokens": [n] if n else [],
        "output_rate": [n / e2el] if n and e2el > 0 else [],
    }


def is_good(record: CallRecord) -> bool | None:
    """Return whether a call met `LIMITS`; None if that is unknown."""
    if record.failure is not None:
        return False
    seen = values(record)
    ttft, tpot, itl, (e2el,) = seen["ttft"], seen["tpot"], seen["itl"], seen["e2el"]
    if any(value > 2.0 for value in ttft + itl) or any(value > 1.5 for value in tpot) or e2el > 6:
        return False
    return True if ttft and (tpot or record.n_output == 1) else None


def assert_stats(found: BenchSummary, records: Iterable[CallRecord]) -> None:
    pools: dict[str, list[float]] = {name: [] for name in METRICS}
    for record in records:
        for name, part in values(record).items():
            pools[name].extend(part)
    assert set(found.metrics) == {name for name, pool in pools.items() if pool}
    for name, stats in found.metrics.items():
        pool = pools[name]
        assert stats.n == len(pool)
        assert stats.mean == pytest.approx(statistics.fmean(pool))
        assert stats.std == pytest.approx(statistics.pstdev(pool), rel=1e-9, abs=1e-9)
        assert (stats.min, stats.max) == (min(pool), max(pool))
        assert stats.p90 == pytest.approx(np.percentile(pool, 90))


@given(calls())
def test_the_numbers_of_a_run_are_those_of_its_records(records: list[CallRecord]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_CALLS_AT_ONCE", 4)
        found = summary(records, LIMITS)
    ok = [record for record in records if record.failure is None]
    assert (found.n_calls, found.n_succeeded) == (len(records), len(ok))
    assert found.n_failed == len(records) - len(ok)
    assert {one.kind: one.n for one in found.failures} == Counter(
        record.failure.kind for record in records if record.failure
    )
    assert_stats(found, records)
    assert found.input_tokens == (sum(record.n_input for record in ok) or None)
    assert found.output_tokens == (sum(record.n_output for record in ok) or None)
    assert found.n_output_uncounted == sum(not record.n_output for record in ok)
    assert found.n_untimed == sum(not record.times.text_at for record in ok)
    judged = [is_good(record) for record in records]
    assert found.goodput is not None
    assert (found.goodput.n_good, found.goodput.n_unknown) == (judged.count(True), judged.count(None))
    if not ok:
        assert found.throughput.requests_per_s is None
        return
    seconds = max(record.times.ended for record in ok) - min(record.times.began for record in ok)
    assert found.duration_s == seconds
    if seconds:
        assert found.throughput.requests_per_s == pytest.approx(len(ok) / seconds)
        assert found.goodput.share == pytest.approx(judged.count(True) / len(records))
        assert found.goodput.per_s == pytest.approx(judged.count(True) / seconds)


@given(calls())
def test_counts_over_time_add_up_to_the_totals(records: list[CallRecord]) -> None:
    found = summary(records)
    if not records:
        assert found.over_time is None
        return
    assert found.over_time is not None
    assert sum(found.over_time.sent) == found.n_calls
    assert sum(found.over_time.succeeded) == found.n_succeeded
    assert sum(found.over_time.failed) == found.n_failed
    assert sum(found.over_time.output_pieces) == found.output_pieces
    assert sum(found.over_time.output_tokens) == pytest.approx(found.output_tokens or 0)
    assert len(found.over_time.sent) <= 240
    assert -found.over_time.width_s < found.over_time.start_s <= 0


def share_inside(record: CallRecord, window: SteadyWindow) -> float:
    began, ended = record.times.began, record.times.ended
    if began == ended:
        return float(window.start < ended <= window.end)
    return max(0.0, min(ended, window.end) - max(began, window.start)) / (ended - began)


@given(calls(), st.floats(1000, 1010), st.floats(0.5, 10))
def test_a_window_holds_the_calls_that_began_in_it_and_the_tokens_that_came_in_it(
    records: list[CallRecord], start: float, seconds: float
) -> None:
    window = SteadyWindow(start, start + seconds, 1, 1)
    found = summary(records, LIMITS, window)
    mine = [record for record in records if start <= record.times.began < window.end]
    assert found.n_calls == len(mine)
    assert found.n_failed == sum(record.failure is not None for record in mine)
    assert_stats(found, mine)
    ok = [record for record in records if record.failure is None]
    n_through = sum(share_inside(record, window) for record in ok)
    tokens, pieces = 0.0, 0
    for record in ok:
        came = record.times.text_at or (record.times.ended,)
        inside = [at for at in came if start < at <= window.end]
        tokens += record.n_output * len(inside) / len(came)
        pieces += len(inside) if record.times.text_at else 0
    assert found.output_pieces == pieces
    assert found.throughput.requests_per_s == pytest.approx(n_through / window.seconds)
    if any(record.n_output for record in ok):
        assert found.throughput.output_tokens_per_s == pytest.approx(tokens / window.seconds)
    else:
        assert found.throughput.output_tokens_per_s is None
    assert found.over_time is None


def test_by_hand_two_streams() -> None:
    found = summary(
        [
            call(10.0, 10.9, [10.2, 10.4, 10.8], n_output=5, n_input=100, due=9.9),
            call(10.5, 12.0, [11.0, 11.5], n_output=2, n_input=50, due=10.5),
        ],
        [RequestLimit("ttft", 0.3)],
    )
    metrics = found.metrics
    assert metrics["ttft"].mean == pytest.approx((0.2 + 0.5) / 2)
    assert metrics["itl"].n == 3
    assert metrics["itl"].mean == pytest.approx((0.2 + 0.4 + 0.5) / 3)
    assert metrics["tpot"].min == pytest.approx(0.6 / 4)
    assert metrics["tpot"].max == pytest.approx(0.5 / 1)
    assert metrics["e2el"].max == pytest.approx(1.0)  # To the last text, not to the end of the stream.
    assert metrics["late"].max == pytest.approx(0.1)
    assert metrics["output_rate"].max == pytest.approx(5 / 0.8)
    assert found.duration_s == pytest.approx(2.0)
    assert found.throughput.requests_per_s == pytest.approx(1.0)
    assert found.throughput.input_tokens_per_s == pytest.approx(75.0)
    assert found.throughput.output_tokens_per_s == pytest.approx(3.5)
    assert found.throughput.total_tokens_per_s == pytest.approx(78.5)
    assert found.goodput is not None
    assert found.goodput.share == 0.5
    assert found.goodput.per_s == pytest.approx(0.5)
    assert found.concurrency is not None
    assert found.concurrency.mean == pytest.approx((0.9 + 1.5) / 2.0)
    assert found.concurrency.max == 2
    assert [number for _, number in found.concurrency.steps] == [1, 2, 1, 0]
    assert found.notes == ()


def test_events_without_text_count_in_no_metric() -> None:
    # A chunk that only names the role comes first, one with the usage last.
    found = summary([call(0, 3.0, [1.0, 2.0], n_output=2, n_input=1, event_at=[0.1, 1.0, 2.0, 2.9])])
    assert found.metrics["ttft"].mean == 1.0
    assert found.metrics["itl"].n == 1
    assert found.metrics["e2el"].mean == 2.0


def test_tokens_that_the_server_did_not_count_are_none_and_not_zero() -> None:
    found = summary([call(0, 2, [1.0, 2.0]), call(0, 2, [1.0, 2.0])])
    assert found.output_tokens is None
    assert found.throughput.output_tokens_per_s is None
    assert found.throughput.total_tokens_per_s is None
    assert found.throughput.output_pieces_per_s == 2.0
    assert not {"tpot", "input_tokens", "output_tokens", "output_rate"} & set(found.metrics)
    assert any("did not count output tokens in 2 of 2" in note for note in found.notes)


def test_where_some_replies_are_counted_the_others_are_said_to_be_missing() -> None:
    found = summary([call(0, 2, [1.0, 2.0], n_output=2, n_input=1), call(0, 2, [1.0, 2.0], n_input=1)])
    assert found.output_tokens == 2
    assert found.n_output_uncounted == 1
    assert any("1 of 2" in note for note in found.notes)


def test_a_single_token_has_no_time_per_token_rather_than_0() -> None:
    found = summary([call(0, 1, [1.0], n_output=1), call(0, 3, [1.0, 3.0], n_output=3)])
    assert found.metrics["tpot"].n == 1
    assert found.metrics["tpot"].min == 1.0


def test_many_tokens_in_one_piece_have_no_time_per_token() -> None:
    assert "tpot" not in summary([call(0, 1, [1.0], n_output=50)]).metrics


def test_times_are_not_rounded() -> None:
    found = summary([call(0, 0.01, [0.0012345, 0.0067890], n_output=2)])
    assert found.metrics["ttft"].mean == 0.0012345
    assert found.metrics["itl"].p50 == pytest.approx(0.0055545, abs=1e-12)


def test_a_reply_without_a_stream_has_no_times_of_tokens() -> None:
    found = summary([call(0, 4, n_output=8, n_input=3)])
    assert set(found.metrics) == {"e2el", "input_tokens", "output_tokens", "output_rate"}
    assert found.metrics["e2el"].mean == 4
    assert found.throughput.output_tokens_per_s == 2
    assert found.throughput.output_pieces_per_s is None
    assert any("without a stream" in note for note in found.notes)


def test_failed_calls_stand_apart_wherever_they_come() -> None:
    good = [call(at, at + 1, [at + 0.5, at + 1], n_output=2, number=at) for at in range(4)]
    bad = call(1.5, 60, [1.6, 50], n_output=9, failure="timeout", number=9)
    apart = summary([*good[:2], bad, *good[2:]])
    alone = summary(good)
    assert apart.metrics == alone.metrics
    assert apart.throughput == alone.throughput  # The call that hung for a minute does not stretch the run.
    assert (apart.n_calls, apart.n_failed) == (5, 1)
    assert (apart.failures[0].kind, apart.failures[0].example) == ("timeout", "timeout of call 9")
    assert apart.concurrency is not None
    assert apart.concurrency.max == 2  # But it was under way.


def test_a_run_in_which_all_failed_is_said_to_have_nothing_to_measure() -> None:
    found = summary([call(0, 1, failure="status 500")], LIMITS)
    assert found.metrics == {}
    assert found.throughput.requests_per_s is None
    assert found.goodput is not None
    assert found.goodput.share == 0
    assert found.notes == ("no request succeeded: there is nothing to measure",)


def test_a_window_shorter_than_three_calls_is_not_to_be_trusted() -> None:
    records = [call(at, at + 4, [at + 4], n_output=1, n_input=1) for at in range(10)]
    found = summary(records, window=SteadyWindow(0, 10, 1, 1))
    assert any("shorter than three times its longest request" in note for note in found.notes)
    assert not summary(records, window=SteadyWindow(0, 14, 1, 1)).notes


def test_a_limit_that_cannot_be_seen_makes_no_call_good() -> None:
    found = summary([call(0, 1, n_output=4)], [RequestLimit("ttft", 9)])
    assert found.goodput is not None
    assert (found.goodput.n_good, found.goodput.n_unknown) == (0, 1)
    assert any("not counted as good" in note for note in found.notes)


def test_a_single_token_keeps_any_limit_on_the_time_per_token() -> None:
    found = summary([call(0, 1, [1.0], n_output=1)], [RequestLimit("tpot", 0.001)])
    assert found.goodput is not None
    assert (found.goodput.n_good, found.goodput.n_unknown) == (1, 0)


def test_a_call_that_was_sent_late_and_failed_was_sent_late() -> None:
    assert summary([call(3, 4, due=1, failure="timeout")]).metrics["late"].mean == 2


def test_a_limit_on_gaps_is_one_on_the_longest() -> None:
    smooth, hitch = call(0, 4, [1.0, 2.0, 3.0]), call(0, 4, [1.0, 1.1, 3.0])
    found = summary([smooth, hitch, call(0, 1, [1.0])], [RequestLimit("itl", 1.0)])
    assert found.goodput is not None
    assert found.goodput.n_good == 2


def test_a_summary_is_stored_and_read_back() -> None:
    found = summary([call(0, 2, [1.0, 2.0], n_output=2), call(0, 1, failure="timeout")], LIMITS)
    assert msgspec.json.decode(msgspec.json.encode(found), type=BenchSummary) == found


def test_numbers_are_found_by_name() -> None:
    found = summary([call(0, 2, [1.0, 2.0], n_output=2), call(0, 1, failure="timeout")], LIMITS)
    assert found.value("ttft", "p99") == 1.0
    assert found.value("late", "p99") is None
    assert found.value("failed") == 0.5
    assert found.value("goodput") == 0.5
    assert found.value("output_tokens_per_s") == 1.0
    for metric, stat in (("ttft", "p42"), ("tfft", "p99"), ("ttft", "unit"), ("speed", None)):
        with pytest.raises(KeyError):
            found.value(metric, stat)


def test_calls_in_step_are_all_in_the_throughput_of_the_steady_window() -> None:
    # Eight places whose calls take a second each and begin within a millisecond: five rounds.
    records = [
        CallRecord("a", n, CallTimes(at, at + 0.9999, (at + 0.5, at + 0.9999)), n_input=1, n_output=2)
        for n, at in enumerate(turn + place * 1e-4 for turn in range(5) for place in range(8))
    ]
    limits = (RequestLimit("ttft", 0.6),)
    run = Measures(limits)
    for record in records:
        run.add(record)
    window = find_steady_window(run.build_concurrency_curve(), level=8)
    assert isinstance(window, SteadyWindow)
    steady = summary(records, limits, window)
    assert steady.throughput.requests_per_s == pytest.approx(8.0, rel=0.01)
    assert steady.goodput is not None
    assert steady.goodput.per_s == pytest.approx(8.0, rel=0.01)


def test_a_window_in_which_no_call_succeeded_has_no_latencies_and_says_so() -> None:
    found = summary([call(10, 12)], window=SteadyWindow(10.5, 11.5, 1, 1))
    assert found.notes == ("no request that started in the steady window succeeded, so it has no latencies",)
    assert found.throughput.requests_per_s == pytest.approx(0.5)
