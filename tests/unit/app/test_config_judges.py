"""The judge of a run whose configs name one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import assay
from assay.app.config_declarations import find_config_judge
from assay.core.errors import PlanError
from fakes.configs import GEN, write_quiz

PROMPT = "dict(type=PromptTemplate, template=dict(round=[dict(role='HUMAN', prompt='{prediction}')]))"


def judged(folder: Path, message: str, **more: Any) -> Any:
    evaluator = f"dict(type='GenericLLMEvaluator', prompt_template={PROMPT}, judge_cfg={message})"
    config = write_quiz(folder, GEN, {"evaluator": evaluator})
    return assay.run(config, model="mock", out=str(folder / "run"), cache=False, **more)


def test_a_run_takes_the_judge_of_its_config(workdir: Path) -> None:
    result = judged(workdir, "dict(type='Assay', abbr='j', model='mock', model_args=dict(answer='A'))")
    assert result.score(metric="accuracy") == 1.0
    assert result.manifest["judge"]["name"] == "mock"


def test_of_several_judges_the_first_grades_and_that_is_reported(workdir: Path) -> None:
    message = "dict(type='Assay', abbr='{0}', model='mock', model_args=dict(answer='{0}'))"
    evaluator = f"dict(type='GenericLLMEvaluator', prompt_template={PROMPT}, judge_cfg={message.format('A')})"
    config = write_quiz(workdir, GEN, {"evaluator": evaluator}, more=", n=1")
    other = "quiz_datasets.append(dict(quiz_datasets[0], abbr='b', eval_cfg=dict(evaluator=dict("
    other += f"quiz_datasets[0]['eval_cfg']['evaluator'], judge_cfg={message.format('B')}))))"
    config.write_text(f"{config.read_text(encoding='utf-8')}\n{other}\n", encoding="utf-8")
    result = assay.run(config, model="mock", out=str(workdir / "run"), cache=False)
    assert result.score(metric="accuracy", task="b") == 1.0
    assert "the configs name 2 judges; the first one grades all answers" in result.manifest["notes"]


def test_a_judge_that_a_person_names_wins(workdir: Path) -> None:
    message = "dict(type='Assay', abbr='j', model='mock', model_args=dict(answer='A'))"
    result = judged(workdir, message, judge="mock", judge_args={"answer": "B"})
    assert result.score(metric="accuracy") == 0.0


def test_a_config_that_leaves_the_judge_open(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OC_JUDGE_MODEL", raising=False)
    with pytest.raises(PlanError, match="JUDGE-001"):
        judged(workdir, "dict()")
    open_ended: dict[str, Any] = {"eval_cfg": {"evaluator": {"judge_cfg": {}}}}
    assert find_config_judge([open_ended]).judge is None
    monkeypatch.setenv("OC_JUDGE_MODEL", "grader")
    monkeypatch.setenv("OC_JUDGE_API_BASE", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OC_JUDGE_API_KEY", "sesame")
    judge, notes = find_config_judge([open_ended, open_ended])
    assert judge is not None
    assert (judge.model, notes) == ("openai:grader@http://127.0.0.1:9/v1", ())
    assert judge.secret == "sesame"
    assert "sesame" not in repr(judge)
