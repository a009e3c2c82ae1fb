"""What an evaluation in a process of its own tells of how far it is."""

from __future__ import annotations

from assay.app.team.evaluating import _Teller
from assay.app.team.messages import Advanced, Event
from assay.engine.execute import Tally
from assay.engine.judging import JudgeTally


def test_a_judge_at_work_is_told_now_and_then_and_not_with_each_reply() -> None:
    told: list[Event] = []
    teller = _Teller(told.append)
    tally = Tally(n_samples=2, judge=JudgeTally())
    assert tally.judge is not None
    tally.n_done = 1
    teller.progress(tally)
    tally.n_done = 2
    teller.progress(tally)
    tally.judge.n_prompts = 1_000
    for _ in range(1_000):
        tally.judge.n_replied += 1
        teller.progress(tally)
    # One for the beginning, one for the end of the samples; a thousand replies took no half of a second.
    assert 2 <= len(told) <= 4
    teller._next = 0.0
    tally.judge.n_failed = 3
    teller.progress(tally)
    assert isinstance(last := told[-1], Advanced)
    names = ("n_done", "n_judge_prompts", "n_judge_replies", "n_judge_failed")
    assert [last.progress[name] for name in names] == [2, 1_000, 1_000, 3]
