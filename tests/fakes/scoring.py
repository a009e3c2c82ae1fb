"""What a task's own scorer makes of one reply."""

from __future__ import annotations

from assay.app.scorers import build_scorers
from assay.core.response import Completion, Finish, Output, Response
from assay.core.task import AnsweredRequest, Scorer, Task


def score_reply(task: Task, reply: str) -> float | None:
    """Return the score of a reply to the first sample; a reply without an answer scores 0."""
    sample = next(iter(task.samples()))
    asked = next(request for request in task.requests(sample) if request.track == "gen")
    outcome = Completion((Output(reply, Finish.END, 1),), 1)
    scorer = next(one for one in build_scorers(task) if isinstance(one, Scorer) and one.track == "gen")
    score = scorer.score(sample, [AnsweredRequest(asked, Response(asked.id, asked.key, outcome))])
    return 0.0 if score.value is None and score.answer is None else score.value
