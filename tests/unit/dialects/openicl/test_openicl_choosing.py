from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.core.limit import Limit
from assay.core.model import ModelIdentity
from assay.core.request import Span
from assay.core.response import Failure, Response
from assay.core.score import Score
from assay.core.task import AnsweredRequest, PreparingTask, Task, TaskSettings
from assay.engine.limit import limit_task
from assay.scoring.scorers.registry import make_scorer
from fakes.configs import GEN, ROWS, compile_config, likely, write_quiz

SAID = {
    **GEN,
    "ice_template": "dict(type=PromptTemplate, template='Q: {question}\\nA: {answer}')",
    "prompt_template": (
        "dict(type=PromptTemplate, template='</E>Q: {question}\\nA: {answer}', ice_token='</E>')"
    ),
    "retriever": "dict(type='MDLRetriever', ice_num=1, candidate_num=6, select_time=12)",
}
TRAIN = [{"question": f"{n} + {n}?", "A": "x", "B": "y", "answer": "AB"[n % 2]} for n in range(10, 16)]


class Lengths:
    """An encoder that knows how long a text is."""

    def identity(self) -> ModelIdentity:
        return ModelIdentity("lengths", "lengths")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        made = np.array([[1.0, len(text)] for text in texts], dtype=np.float32)
        lengths: NDArray[np.float32] = np.linalg.norm(made, axis=1, keepdims=True)
        return np.asarray(made / lengths, dtype=np.float32)


def rehearse(tasks: Sequence[Task]) -> list[list[Score]]:
    """Answer as a model that doubts least after the example `13 + 13?`, and cannot read `15 + 15?`."""
    found = []
    for task in tasks:
        (spec,) = task.scorers()
        scorer = make_scorer(spec)  # type: ignore[arg-type]
        scores = []
        for sample in task.samples():
            answered = []
            for request in task.requests(sample):
                assert isinstance(request.ask, Span)
                text = str(request.ask.prompt)
                sure = 9.0 if "13 + 13?" in text else 0.1
                outcome = (
                    likely(-sure * request.index) if "15 + 15?" not in text else Failure("too_long", "no")
                )
                answered.append(AnsweredRequest(request, Response(request.id, request.key, outcome)))
            scores.append(scorer.score(sample, answered))  # type: ignore[union-attr]
        found.append(scores)
    return found


def test_the_set_of_examples_after_which_the_model_doubts_least(workdir: Path) -> None:
    config = write_quiz(workdir, SAID, rows={"train": TRAIN, "test": ROWS})
    (one,) = compile_config(config, TaskSettings(), lambda _: Lengths())
    task = one.task
    assert isinstance(task, PreparingTask)
    notes = task.prepare(rehearse)
    assert "lowest entropy" in notes[0]
    prompts = [str(task.requests(sample)[0].ask.prompt) for sample in task.samples()]
    tried = [prompt for prompt in prompts if "13 + 13?" in prompt]
    assert tried
    assert all("15 + 15?" not in prompt for prompt in prompts)
    chosen = task.spec.chosen["examples"]
    assert list(chosen) == [sample.id for sample in task.samples()]


def test_the_least_doubt_is_where_one_label_is_likely_and_not_where_one_is_unlikely(workdir: Path) -> None:
    train = [{**row, "answer": "ABC"[at % 3]} for at, row in enumerate(TRAIN)]
    config = write_quiz(workdir, SAID, rows={"train": train, "test": ROWS})
    (one,) = compile_config(config, TaskSettings(), lambda _: Lengths())
    assert isinstance(one.task, PreparingTask)

    def answer(tasks: Sequence[Task]) -> list[list[Score]]:
        found = []
        for task in tasks:
            (spec,) = task.scorers()
            scorer = make_scorer(spec)  # type: ignore[arg-type]
            scores = []
            for sample in task.samples():
                requests = task.requests(sample)
                clear = "13 + 13?" in str(requests[0].ask.prompt)
                # Of three labels the first is the likely one, or the others are, as much as each other.
                totals = [0.0, -9.0, -9.0] if clear else [-9.0, 0.0, 0.0]
                answered = [
                    AnsweredRequest(request, Response(request.id, request.key, likely(total)))
                    for request, total in zip(requests, totals, strict=True)
                ]
                scores.append(scorer.score(sample, answered))  # type: ignore[union-attr]
            found.append(scores)
        return found

    one.task.prepare(answer)
    prompts = [str(one.task.requests(sample)[0].ask.prompt) for sample in one.task.samples()]
    assert any("13 + 13?" in prompt for prompt in prompts)


@pytest.mark.parametrize("end", ["first", "last"])
def test_with_a_limit_only_rows_that_are_asked_are_tried(
    workdir: Path, end: Literal["first", "last"]
) -> None:
    config = write_quiz(workdir, SAID, rows={"train": TRAIN, "test": ROWS})
    limit = Limit(1, end)
    (one,) = compile_config(config, TaskSettings(limit=limit), lambda _: Lengths())
    task = limit_task(one.task, limit, 0)
    assert isinstance(task, PreparingTask)
    asked: list[str] = []

    def count(tasks: Sequence[Task]) -> list[list[Score]]:
        asked.extend(sample.id for task in tasks for sample in task.samples())
        return rehearse(tasks)

    task.prepare(count)
    (sample,) = task.samples()
    assert {trial.partition(":")[0] for trial in asked} == {sample.id}
    assert list(task.spec.chosen["examples"]) == [sample.id]
