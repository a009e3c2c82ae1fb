"""Small tasks asked of a model that a test writes down: what it says to each request, and what was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.app.scorers import build_scorers
from assay.core.request import Request
from assay.core.response import Outcome, Response
from assay.core.score import Score
from assay.core.task import AnsweredRequest, Scorer, Task


class Rehearsed:
    """Asks a function in a model's place; keeps the tasks it was given."""

    def __init__(self, model: Callable[[Request], Outcome]) -> None:
        self._model = model
        self.tasks: list[Task] = []
        self.requests: list[Request] = []

    def __call__(self, tasks: Sequence[Task]) -> list[list[Score]]:
        return [self._scores(task) for task in tasks]

    def _scores(self, task: Task) -> list[Score]:
        self.tasks.append(task)
        scorers = build_scorers(task)
        scores: list[Score] = []
        for sample in task.samples():
            requests = task.requests(sample)
            self.requests += requests
            answers = [AnsweredRequest(one, Response(one.id, one.key, self._model(one))) for one in requests]
            for scorer in scorers:
                if isinstance(scorer, Scorer):
                    scores.append(scorer.score(sample, answers))
                else:
                    scorer.add(sample, answers)
        for scorer in scorers:
            if not isinstance(scorer, Scorer):
                scores += scorer.finish().scores
        return scores
