"""Progress of a run: speed, remaining time and scores so far, against simulated runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.app.progress import JudgeProgress, ProgressGauge, RunProgress, Track, WorkersProgress
from assay.core.run import Cost
from assay.core.score import Metric
from assay.core.tally import JudgeTally, MethodPace, Tally


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def answered(tally: Tally, n: int, *, per_sample: int = 1, tokens: int = 10, journaled: bool = False) -> None:
    """Answer so many requests more."""
    tally.n_answered += n
    tally.n_requests = max(tally.n_requests, tally.n_answered)
    tally.n_begun = -(-tally.n_requests // per_sample)
    tally.n_done = tally.n_answered // per_sample
    tally.n_journaled += n if journaled else 0
    cost = tally.costs.setdefault(("t", "gen"), Cost("t", "gen"))
    cost.n_requests += n
    cost.n_prompt_tokens += n * tokens


@given(
    gaps=st.lists(st.floats(0.05, 3.0), min_size=2, max_size=60),
    per_s=st.floats(2, 5_000),
    per_sample=st.integers(1, 5),
)
def test_a_steady_run_ends_when_it_was_said_to(gaps: list[float], per_s: float, per_sample: int) -> None:
    """Whenever it is looked at, the time left is what a steady pace takes, up to the answers it counts in."""
    clock, tally = Clock(), Tally(n_samples=10_000_000)
    gauge = ProgressGauge(clock=clock)
    began = clock.now
    for gap in gaps:
        clock.now += gap
        answered(tally, int(per_s * (clock.now - began)) - tally.n_answered, per_sample=per_sample)
        progress = gauge.look(tally)
    if progress.requests_per_s is None or tally.n_answered < 100:
        return
    # Counts are whole: over a second, one answer more or less at either end.
    assert progress.requests_per_s == pytest.approx(per_s, abs=2.0)
    assert progress.samples_per_s == pytest.approx(progress.requests_per_s / per_sample, rel=0.05)
    assert progress.tokens_per_s == pytest.approx(10 * progress.requests_per_s, rel=1e-6)
    n_left = tally.n_requests / tally.n_begun * tally.n_samples - tally.n_answered
    assert progress.seconds_left == pytest.approx(n_left / progress.requests_per_s)


def test_batches_that_come_seldom_are_reported_by_several_of_them() -> None:
    clock, tally = Clock(), Tally(n_samples=640)
    gauge = ProgressGauge(clock=clock)
    clock.now += 300  # The model loads: that is no part of its pace.
    for batch in range(5):
        clock.now += 40
        for _ in range(64):  # The answers of a batch come within a moment.
            clock.now += 0.001
            answered(tally, 1)
            progress = gauge.look(tally)
        if batch == 0:
            assert progress.requests_per_s is None
            assert progress.seconds_left is None
    assert progress.requests_per_s == pytest.approx(64 / 40, rel=0.02)
    assert progress.seconds_left == pytest.approx(320 / (64 / 40), rel=0.02)


def test_cheap_requests_before_dear_ones_do_not_make_the_time_left_short() -> None:
    """A model scores the options of all samples, then writes: 400 scores of 0.1 s, 100 texts of 5 s."""
    clock, tally = Clock(), Tally(n_samples=100)
    gauge = ProgressGauge(clock=clock)
    tally.n_begun, tally.n_requests = 100, 500
    ppl, gen = tally.methods["ppl"], tally.methods["gen"] = MethodPace(400), MethodPace(100)
    end = clock.now + 400 * 0.1 + 100 * 5.0

    def answer(pace: MethodPace, seconds: float) -> RunProgress:
        clock.now += seconds
        tally.n_answered += 1
        pace.n_answered += 1
        pace.time(seconds)
        return gauge.look(tally)

    for _ in range(400):
        progress = answer(ppl, 0.1)
    assert progress.is_left_at_least
    for n in range(100):
        progress = answer(gen, 5.0)
        assert not progress.is_left_at_least
        assert progress.seconds_left == pytest.approx(end - clock.now, abs=0.01), n
    # What an earlier start has answered is not owed, and so not unknown.
    gen.n_timed = 0
    assert not gauge.look(tally).is_left_at_least


def test_a_judge_has_a_pace_of_its_own() -> None:
    clock, tally = Clock(), Tally(n_samples=10)
    gauge = ProgressGauge(clock=clock)
    answered(tally, 10)
    tally.judge = JudgeTally()
    assert gauge.look(tally).judge is None
    tally.judge.n_prompts, tally.judge.n_journaled, tally.judge.n_replied = 400, 100, 100
    assert gauge.look(tally).judge == JudgeProgress(400, 100, 0, None, None)
    for _ in range(20):
        clock.now += 0.5
        tally.judge.n_replied += 5
        tally.judge.n_failed += 1
        earlier = gauge.look(tally)
    seen = earlier.judge
    assert seen is not None
    assert (seen.n_prompts, seen.n_replied, seen.n_failed) == (400, 200, 20)
    assert seen.replies_per_s == pytest.approx(10)
    assert seen.seconds_left == pytest.approx(20)
    clock.now += 4
    later = gauge.look_again(tally, earlier).judge
    assert later is not None
    assert later.seconds_left == pytest.approx(16)


def test_the_pace_is_that_of_late() -> None:
    clock, tally = Clock(), Tally(n_samples=100_000)
    gauge = ProgressGauge(clock=clock)
    for per_s in (100, 10):
        for _ in range(300):
            clock.now += 0.1
            answered(tally, per_s // 10)
            progress = gauge.look(tally)
    assert progress.requests_per_s == pytest.approx(10)


def test_what_an_earlier_start_answered_is_in_no_rate_and_takes_no_time() -> None:
    clock, tally = Clock(), Tally(n_samples=1_000)
    gauge = ProgressGauge(clock=clock, n_kept=500)
    for _ in range(50):
        clock.now += 0.01
        answered(tally, 8, journaled=True, tokens=10_000)
        progress = gauge.look(tally)
    assert (progress.n_done, progress.requests_per_s, progress.tokens_per_s) == (400, None, None)
    assert progress.phase == "samples"
    # A hundred kept answers lie among those that are still to come.
    for _ in range(40):
        clock.now += 0.5
        answered(tally, 5)
        progress = gauge.look(tally)
    assert progress.requests_per_s == pytest.approx(10)
    assert progress.tokens_per_s == pytest.approx(100)
    assert progress.seconds_left == pytest.approx((1_000 - 600 - 100) / 10)


def test_answers_of_an_earlier_start_that_come_between_others_are_in_no_rate() -> None:
    clock, tally = Clock(), Tally(n_samples=2_000)
    gauge = ProgressGauge(clock=clock, n_kept=800)
    for _ in range(40):
        clock.now += 0.5
        answered(tally, 20, journaled=True)
        answered(tally, 5)
        progress = gauge.look(tally)
    assert progress.requests_per_s == pytest.approx(10)
    # All that was kept has come: what is left is to be asked, every one of it.
    assert progress.seconds_left == pytest.approx((2_000 - 1_000) / 10, rel=1e-9)


def test_no_time_is_left_rather_than_less_than_none() -> None:
    clock, tally = Clock(), Tally(n_samples=100)
    gauge = ProgressGauge(clock=clock)
    for _ in range(9):
        clock.now += 1
        answered(tally, 10)
        gauge.look(tally)
    for silent, left in ((0.25, 0.75), (1.0, 0.0), (30.0, 0.0)):
        clock.now = 109 + silent
        assert gauge.look(tally).seconds_left == pytest.approx(left)


def test_what_came_with_a_batch_is_seen_while_the_next_is_computed() -> None:
    """Another thread looks on by counts alone; it asks for no scores, which the run's own may be adding."""
    asked = []

    def scores() -> list[Metric]:
        asked.append(1)
        return [metric("gen")]

    clock, tally = Clock(), Tally(n_samples=640)
    gauge = ProgressGauge([Track("t", "gen", 640)], scores=scores, clock=clock)
    seen = None
    for _ in range(4):
        clock.now += 40
        answered(tally, 1)
        seen = gauge.look(tally)
        clock.now += 0.01
        answered(tally, 63)
        tally.landed["t"] = tally.n_done
        clock.now += 0.2
        seen = gauge.look_again(tally, seen)
    assert seen is not None
    assert len(asked) == 4
    assert (seen.n_done, seen.tracks[0].n_done, seen.tracks[0].score) == (256, 256, metric("gen"))
    assert seen.requests_per_s == pytest.approx(64 / 40, rel=0.02)
    assert seen.seconds_left is not None
    # It counts down while nothing comes.
    clock.now += 30
    later = gauge.look_again(tally, seen)
    assert later.seconds_silent == pytest.approx(30)
    assert later.seconds_left == pytest.approx(seen.seconds_left - 30)


def test_the_phases_of_a_run() -> None:
    tally = Tally(n_samples=2)
    assert ProgressGauge().look(tally).phase == "loading"
    answered(tally, 1)
    assert ProgressGauge().look(tally).phase == "samples"
    assert ProgressGauge(is_beforehand=True).look(tally).phase == "beforehand"
    answered(tally, 1)
    assert ProgressGauge().look(tally).phase == "scoring"


def metric(method: str, name: str = "accuracy") -> Metric:
    return Metric("t", method, name, None, 0.5, 0.4, 0.6, 10, 9, 1, 0, 0, is_headline=True)


def test_each_method_has_the_score_that_decides_or_waits_for_the_end() -> None:
    tally = Tally(n_samples=20, landed={"t": 10}, failures={"timeout": 2}, n_failed=2, last_failure="s1: no")
    gauge = ProgressGauge(
        [Track("t", "gen", 20), Track("t", "ppl", 20, is_scored_late=True)],
        scores=lambda: [metric("gen"), metric("gen", "f1")],
        stats=lambda: {"concurrency": 64.0, "retries": 3.0},
    )
    progress = gauge.look(tally)
    gen, ppl = progress.tracks
    assert (gen.n_done, gen.score, gen.is_scored_late) == (10, metric("gen"), False)
    assert (ppl.score, ppl.is_scored_late) == (None, True)
    assert (progress.concurrency, progress.n_retries) == (64, 3)
    assert (progress.n_failed, progress.failures, progress.last_failure) == (2, {"timeout": 2}, "s1: no")
    # It is frozen: later events do not change what was reported.
    tally.failures["timeout"] = 3
    assert progress.failures == {"timeout": 2}


def test_workers_come_and_go_while_no_answer_comes() -> None:
    stats = {"workers": 0.0, "workers_awaited": 2.0, "workers_lost": 0.0}
    tally = Tally(n_samples=20)
    gauge = ProgressGauge(stats=lambda: stats)
    first = gauge.look(tally)
    assert first.workers == WorkersProgress(0, 2, None, 0)
    stats.update(workers=1.0, workers_awaited=1.0, workers_lost=3.0, nodes=1.0)
    assert gauge.look_again(tally, first).workers == WorkersProgress(1, 1, 1, 3)
    # A model in this process has none, and its counters are left alone by other threads.
    alone = ProgressGauge(stats=lambda: {"tokens": 1.0})
    assert alone.look_again(tally, alone.look(tally)).workers is None
