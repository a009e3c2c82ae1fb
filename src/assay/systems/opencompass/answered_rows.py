"""The rows of a run with their requests and responses, for the files of OpenCompass and AISBench."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from assay.core.method import Method
from assay.core.prompt import Prompt
from assay.core.response import Completion, Failure, Likelihood, Outcome, Output
from assay.core.score import Score
from assay.results.read import StoredRun
from assay.results.records import AskRecord, SampleRecord
from assay.results.response_index import ResponseIndex

_ROLES = {"user": "HUMAN", "assistant": "BOT", "system": "SYSTEM"}
_END_OF_THOUGHT = "</think>"


class AnsweredRow(NamedTuple):
    """One row of a dataset, with its requests and responses."""

    number: int
    record: SampleRecord
    asks: Sequence[tuple[AskRecord, Outcome]]
    score: Score | None

    @property
    def failure(self) -> Failure | None:
        """Return why the row has no answer, if it has none."""
        return next((outcome for _, outcome in self.asks if isinstance(outcome, Failure)), None)


def read_rows_by_task(run: StoredRun) -> dict[str, list[AnsweredRow]]:
    """Return the rows of each task in order, each with its answers by the first method."""
    scores = {(score.task, score.sample_id): score for score in run.scores()}
    first = {task.name: task.methods[0] for task in run.manifest.tasks}
    rows: dict[str, list[AnsweredRow]] = {task.name: [] for task in run.manifest.tasks}
    with run.response_index() as responses:
        for record in run.samples():
            task_rows = rows[record.task]
            asks = list(_pair_outcomes(record, first[record.task], responses))
            score = scores.get((record.task, record.sample.id))
            task_rows.append(AnsweredRow(len(task_rows), record, asks, score))
    return rows


def _pair_outcomes(
    record: SampleRecord, method: Method, responses: ResponseIndex
) -> Iterator[tuple[AskRecord, Outcome]]:
    for ask in record.asks:
        if ask.track == method:
            response = responses.get(ask.id)
            missing = Failure("not_asked", "the request was never sent to the model")
            yield ask, missing if response is None else response.outcome


def format_prompt(prompt: Prompt) -> Any:
    """Return a prompt as the originals write it: a text, or a list of role messages."""
    if isinstance(prompt, str):
        return prompt
    return [{"role": _ROLES[message.role], "prompt": message.display_text} for message in prompt]


def _text(output: Output) -> Any:
    if output.turns:
        return list(output.turns)
    return output.text if output.reasoning is None else f"{output.reasoning}{_END_OF_THOUGHT}{output.text}"


def list_texts(row: AnsweredRow) -> list[Any]:
    """Return all generated texts of a row, in order."""
    return [
        _text(output)
        for _, outcome in row.asks
        if isinstance(outcome, Completion)
        for output in outcome.outputs
    ]


def iterate_options(row: AnsweredRow) -> Iterator[tuple[str, AskRecord, Likelihood]]:
    """Yield the compared labels with their requests and likelihoods."""
    labels = row.record.sample.labels
    for ask, outcome in row.asks:
        if ask.role == "option" and isinstance(outcome, Likelihood):
            yield labels[ask.index] if ask.index < len(labels) else str(ask.index), ask, outcome


def mean_loss(outcome: Likelihood) -> float:
    """Return the mean negative log-likelihood of the scored tokens."""
    return -outcome.sum_logprob / max(1, outcome.n_tokens)
