"""The samples of a run folder with their responses and scores, one at a time, for exports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from assay.core.errors import Problem, StoreError
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.prompt import Prompt
from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Output, Response
from assay.core.score import Score
from assay.results.read import StoredRun
from assay.results.records import AskRecord, SampleRecord


class StoredResult(NamedTuple):
    """How one sample was answered by one method."""

    method: Method
    score: Score | None
    """None if answers were collected but not scored."""
    asks: Sequence[AskRecord]
    responses: Mapping[str, Response]
    """By request id; failed requests have a `Failure`, and unanswered ones are absent."""

    def outputs(self) -> list[Output]:
        """Return all texts that the model wrote, in the order of the requests."""
        outcomes = (self.responses[ask.id].outcome for ask in self.asks if ask.id in self.responses)
        return [
            output for outcome in outcomes if isinstance(outcome, Completion) for output in outcome.outputs
        ]

    def likelihoods(self, role: str) -> list[tuple[AskRecord, Likelihood | None]]:
        """Return the asks of a role (`option`, `text`, `unconditional`) with their likelihoods."""
        found: list[tuple[AskRecord, Likelihood | None]] = []
        for ask in self.asks:
            if ask.role == role:
                response = self.responses.get(ask.id)
                outcome = None if response is None else response.outcome
                found.append((ask, outcome if isinstance(outcome, Likelihood) else None))
        return found

    def label_probs(self) -> LabelProbs | None:
        """Return the probabilities of the labels, if the method asks for them."""
        outcomes = (self.responses[ask.id].outcome for ask in self.asks if ask.id in self.responses)
        return next((one for one in outcomes if isinstance(one, LabelProbs)), None)

    def count_tokens(self) -> tuple[int, int]:
        """Return how many tokens its requests read and wrote; 0 if the model does not report them."""
        n_read = n_written = 0
        for response in self.responses.values():
            outcome = response.outcome
            if isinstance(outcome, Completion):
                n_read += outcome.n_prompt_tokens
                n_written += sum(output.n_tokens for output in outcome.outputs)
            elif isinstance(outcome, Likelihood):
                n_read += outcome.n_prompt_tokens + outcome.n_tokens
            elif isinstance(outcome, LabelProbs):
                n_read += outcome.n_prompt_tokens
        return n_read, n_written

    def seconds(self) -> float:
        """Return how long its requests took."""
        return sum(response.latency_s or response.seconds for response in self.responses.values())

    def failure(self) -> Failure | None:
        """Return the first failure of its requests."""
        outcomes = (self.responses[ask.id].outcome for ask in self.asks if ask.id in self.responses)
        return next((one for one in outcomes if isinstance(one, Failure)), None)


class StoredSample(NamedTuple):
    """One sample of a run with everything that is stored about it."""

    record: SampleRecord
    results: Sequence[StoredResult]
    """One per method, in the order of the task's methods."""

    def prompt(self, ask: AskRecord) -> Prompt:
        """Return what precedes an ask's scored text, or the whole prompt of a generated one."""
        return self.record.contexts[ask.context]


def iter_stored_samples(run: StoredRun) -> Iterator[StoredSample]:
    """Yield the samples of a complete run, in the order of samples.jsonl."""
    methods = {task.name: task.methods for task in run.manifest.tasks}
    scores = run.scores()
    waiting: dict[tuple[str, str], list[Score]] = {}
    with run.response_index() as index:
        for record in run.samples():
            key = (record.task, record.sample.id)
            wanted = methods.get(record.task, ())
            # Scores of whole lists come after those of single samples; only these wait in memory.
            while len(waiting.get(key, ())) < len(wanted):
                score = next(scores, None)
                if score is None:
                    break
                waiting.setdefault((score.task, score.sample_id), []).append(score)
            by_method = {score.track: score for score in waiting.pop(key, ())}
            results = []
            for method in wanted:
                asks = [ask for ask in record.asks if ask.track == method]
                found = ((ask.id, index.get(ask.id)) for ask in asks)
                responses = {id_: response for id_, response in found if response is not None}
                results.append(StoredResult(method, by_method.get(method), asks, responses))
            yield StoredSample(record, results)


def require_exportable(run: StoredRun) -> None:
    """Raise LOG-010 for a run that has no results to export."""
    if not run.manifest.status.is_finished:
        raise StoreError(
            Problem(
                "LOG-010",
                f"the run is not complete: its status is {run.manifest.status}",
                "complete it with the same `assay run` command",
                Origin(str(run.path)),
            )
        )
