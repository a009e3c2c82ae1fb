"""The settings that a rescoring takes from its run."""

from __future__ import annotations

import pytest

from assay.app.rescore import _settings
from assay.app.scorer_selection import ScoringChoices
from assay.core.run import Setting
from fakes.scored_folders import manifest, spec


@pytest.mark.parametrize(
    ("was_offline", "offline", "expected"),
    [(True, False, True), (False, True, True), (False, False, False), (True, True, True)],
)
def test_what_was_kept_offline_stays_so(was_offline: bool, offline: bool, expected: bool) -> None:
    own = manifest("m", [spec("t")], settings={"offline": Setting(was_offline, "flag")})
    assert _settings(own, ScoringChoices(), offline=offline).offline is expected


def test_a_judge_that_is_chosen_takes_the_place_of_the_runs_and_its_answers_are_kept() -> None:
    settings = {
        "judge": Setting("mock", "flag"),
        "judge_args": Setting({"reply": "A"}, "flag"),
        "fresh": Setting(True, "flag"),
        "retry_failed": Setting(True, "flag"),
        "stage": Setting("all", "default"),
    }
    own = manifest("m", [spec("t")], settings=settings)
    kept = _settings(own, ScoringChoices(), offline=False)
    assert (kept.judge, kept.judge_args) == ("mock", {"reply": "A"})
    assert (kept.fresh, kept.retry_failed, kept.stage) == (False, False, "score")
    other = _settings(own, ScoringChoices(judge="smollm2"), offline=False)
    assert (other.judge, other.judge_args) == ("smollm2", {})
