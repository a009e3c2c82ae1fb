"""Progress messages of an evaluation in its own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.settings import RunSettings
from assay.app.team.evaluating import _ProgressReporter, evaluate
from assay.app.team.messages import Evaluate, EvaluationProgress, Event
from assay.app.team.plan import EvaluationPlan
from assay.core.errors import PlanError
from assay.core.method import Method
from assay.core.tally import JudgeTally, Tally


def test_a_judge_at_work_is_reported_now_and_then_and_not_with_each_reply() -> None:
    reported: list[Event] = []
    teller = _ProgressReporter(reported.append)
    tally = Tally(n_samples=2, judge=JudgeTally())
    assert tally.judge is not None
    tally.n_done = 1
    teller.on_progress(tally)
    tally.n_done = 2
    teller.on_progress(tally)
    tally.judge.n_prompts = 1_000
    for _ in range(1_000):
        tally.judge.n_replied += 1
        teller.on_progress(tally)
    # One for the beginning, one for the end of the samples; a thousand replies took no half of a second.
    assert 2 <= len(reported) <= 4
    teller._next = 0.0
    tally.judge.n_failed = 3
    teller.on_progress(tally)
    assert isinstance(last := reported[-1], EvaluationProgress)
    names = ("n_done", "n_judge_prompts", "n_judge_replies", "n_judge_failed")
    assert [last.progress[name] for name in names] == [2, 1_000, 1_000, 3]


def test_an_evaluation_in_which_nothing_could_be_scored_has_failed(tmp_path: Path) -> None:
    table = tmp_path / "sums.csv"
    table.write_text("question,A,B,answer\n1+1=,1,2,B\n", encoding="utf-8")
    values = RunSettings(model="mock", model_args={"fail_every": "1"}, cache=False)
    plan = EvaluationPlan((str(table),), values, dict.fromkeys(RunSettings.__struct_fields__, "default"))
    with pytest.raises(PlanError, match=r"TEAM-014 sums gen: no sample could be scored: every row failed"):
        evaluate(Evaluate(plan, str(tmp_path / "run"), allow_python=()), lambda event: None)
    assert (tmp_path / "run" / "summary.json").is_file()


def test_an_evaluation_that_reached_its_budget_has_failed_and_keeps_its_answers(tmp_path: Path) -> None:
    table = tmp_path / "sums.csv"
    table.write_text("question,A,B,answer\n" + "1+1=,1,2,B\n2+2=,4,5,A\n" * 20, encoding="utf-8")
    values = RunSettings(model="mock", method=(Method.GEN,), budget="50-tokens", cache=False)
    plan = EvaluationPlan((str(table),), values, dict.fromkeys(RunSettings.__struct_fields__, "default"))
    with pytest.raises(PlanError, match=r"BUDGET-004 .*budget"):
        evaluate(Evaluate(plan, str(tmp_path / "run"), allow_python=()), lambda event: None)
    assert (tmp_path / "run" / "responses.jsonl").stat().st_size > 0
