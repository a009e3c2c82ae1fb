"""A backend that replays stored answers of a model that is not available.

Answers can be scored again, also with another evaluator, after the server or the weights are gone. A stored
answer counts for exactly the same ask, from any sample. An ask that was never sent is a `Failure` of its own
kind, which is not stored in the journal, because the model can still be asked later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.ports import Journal
from assay.core.request import Ask, Kind, Request
from assay.core.response import Failure, Outcome, Response
from assay.core.run import Cost
from assay.core.sample import Sample
from assay.core.task import Task, TaskSpec
from assay.engine.journal import ResponseLines, describe_damage, read_response
from assay.engine.line_index import LineIndex

NOT_SENT = "not_asked"

ShotCounts = Mapping[tuple[str, str], Mapping[str, int]]
"""For samples (task, id) with fewer examples than requested: the number of examples of each track."""


class StoredAnswers:
    """The answers in a journal by ask: a read-only `ResponseCache`."""

    def __init__(self, journal: Path) -> None:
        self._answers = LineIndex(journal)
        self._failures = LineIndex(journal)
        with open(journal, "rb") as file:
            lines = ResponseLines(file)
            for place, response in lines:
                is_failure = isinstance(response.outcome, Failure)
                (self._failures if is_failure else self._answers).add(response.key, place)
        consequence = (
            "a sample whose answer is lost counts as failed; run the same `assay run` again to request it"
        )
        self.notes = describe_damage(journal.name, lines.n_damaged, consequence)
        """Notes about damage."""

    def __len__(self) -> int:
        return len(self._answers)

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def get(self, key: str) -> Outcome | None:
        """Return the answer to this ask, if it is stored."""
        return _find_latest_outcome(self._answers, key)

    def failure(self, key: str) -> Failure | None:
        """Return why this ask failed, if it was sent."""
        outcome = _find_latest_outcome(self._failures, key)
        return outcome if isinstance(outcome, Failure) else None

    def put(self, key: str, outcome: Outcome) -> None:
        """Store nothing: the answers belong to another run."""

    def close(self) -> None:
        """Close the file."""
        self._answers.close()
        self._failures.close()


def _find_latest_outcome(lines: LineIndex, key: str) -> Outcome | None:
    responses = map(read_response, lines.lines(key))
    return next((response.outcome for response in responses if response and response.key == key), None)


class StoredModel:
    """A `Backend` that replaces a model that is not opened."""

    def __init__(
        self,
        identity: ModelIdentity,
        card: ModelCard,
        answers: StoredAnswers,
        notes: Sequence[str] = (),
        specs: Sequence[TaskSpec] = (),
    ) -> None:
        """`specs`: the tasks of its run, as recorded."""
        self._identity = identity
        self._card = card
        self._answers = answers
        self._notes = (*answers.notes, *notes)
        self.specs = {spec.name: spec for spec in specs}
        self._n_not_sent = 0

    @property
    def card(self) -> ModelCard:
        """Return its capabilities."""
        return self._card

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return its recorded capabilities: the model can no longer be probed."""
        return self._card

    def identity(self) -> ModelIdentity:
        """Return its identity."""
        return self._identity

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Yield a failure for each request, with the reason."""
        for request in requests:
            failure = self._answers.failure(request.key)
            if failure is None:
                self._n_not_sent += 1
                failure = Failure(
                    NOT_SENT, "this request was never sent to the model, so no answer is stored"
                )
            yield Response(request.id, request.key, failure)

    @property
    def has_more_at_hand(self) -> bool:
        """Return False: answers are looked up one by one."""
        return False

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return an empty sequence: its tokenizer is not opened."""
        return ()

    def n_tokens(self, ask: Ask) -> int | None:
        """Return None: not known."""
        return None

    def stats(self) -> Mapping[str, float]:
        """Return an empty mapping."""
        return {}

    def notes(self) -> Sequence[str]:
        """Return a note about requests that were never sent."""
        if not self._n_not_sent:
            return self._notes
        return (
            *self._notes,
            f"{self._n_not_sent:,} requests were never sent to the model and count as failed; "
            "the prompts or the rows have changed, or the run did not include all of them",
        )

    def close(self) -> None:
        """Close the stored answers."""
        self._answers.close()


class ScoringJournal:
    """A journal that stores answers, but not that a request was never sent."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def get(self, request_id: str, key: str) -> Response | None:
        """Return the stored response to exactly this ask."""
        return self._journal.get(request_id, key)

    def answer(self, key: str) -> Outcome | None:
        """Return the stored answer to this ask."""
        return self._journal.answer(key)

    def append(self, response: Response) -> None:
        """Store a response, unless it says that the request was never sent."""
        outcome = response.outcome
        if not (isinstance(outcome, Failure) and outcome.kind == NOT_SENT):
            self._journal.append(response)

    def flush(self) -> None:
        """Store the appended responses."""
        self._journal.flush()


class RecordedFitter:
    """Builds the requests that were sent to the model, with the examples that fitted then."""

    def __init__(self, shown: ShotCounts) -> None:
        self._shown = shown

    def requests(self, task: Task, sample: Sample) -> Sequence[Request]:
        """Return the requests that were sent for a sample, if the task still makes the same ones."""
        requests = task.requests(sample)
        for track, n_shots in self._shown.get((task.spec.name, sample.id), {}).items():
            pairs = zip(requests, task.requests(sample, shots=n_shots), strict=True)
            requests = [new if new.track == track else old for old, new in pairs]
        return requests

    def note(self, cost: Cost, n_samples: int) -> str:
        """Return a note about how many examples a method of a task had to omit."""
        return (
            f"{cost.task} {cost.method}: {cost.n_shortened:,} of {n_samples:,} samples had fewer "
            f"examples than requested during the run: {cost.n_shots_left_out:,} examples omitted"
        )
