"""A model that is not there: what it was once asked is known, and nothing else is asked of it.

Answers can be scored again, by another evaluator too, when the server is down and the weights are gone. A
stored answer counts for exactly the ask that it was given to, whichever sample asks it now. What was never
asked is a `Failure` of its own kind, which no journal keeps: the model may still be asked for it later.
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

NOT_ASKED = "not_asked"

ShotCounts = Mapping[tuple[str, str], Mapping[str, int]]
"""For the samples (task, id) that were shown fewer examples than asked for: how many each track shows."""


class StoredAnswers:
    """The answers in a journal by what was asked: a `ResponseCache` that is only read."""

    def __init__(self, journal: Path) -> None:
        self._answers = LineIndex(journal)
        self._failures = LineIndex(journal)
        with open(journal, "rb") as file:
            lines = ResponseLines(file)
            for place, response in lines:
                is_failure = isinstance(response.outcome, Failure)
                (self._failures if is_failure else self._answers).add(response.key, place)
        consequence = (
            "a sample whose answer is lost counts as failed; the same `assay run` asks the model again"
        )
        self.notes = describe_damage(journal.name, lines.n_damaged, consequence)
        """What is damaged, in words."""

    def __len__(self) -> int:
        return len(self._answers)

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def get(self, key: str) -> Outcome | None:
        """Return the answer to this ask, if it was ever given."""
        return _find_latest_outcome(self._answers, key)

    def failure(self, key: str) -> Failure | None:
        """Return why this ask was not answered, if it was asked."""
        found = _find_latest_outcome(self._failures, key)
        return found if isinstance(found, Failure) else None

    def put(self, key: str, outcome: Outcome) -> None:
        """Keep nothing: these are another run's."""

    def close(self) -> None:
        """Close the file."""
        self._answers.close()
        self._failures.close()


def _find_latest_outcome(lines: LineIndex, key: str) -> Outcome | None:
    responses = map(read_response, lines.lines(key))
    return next((one.outcome for one in responses if one and one.key == key), None)


class StoredModel:
    """A `Backend` in the place of a model that is not opened."""

    def __init__(
        self,
        identity: ModelIdentity,
        card: ModelCard,
        answers: StoredAnswers,
        notes: Sequence[str] = (),
        specs: Sequence[TaskSpec] = (),
    ) -> None:
        """`specs`: the tasks that it was asked about, as its run recorded them."""
        self._identity = identity
        self._card = card
        self._answers = answers
        self._notes = (*answers.notes, *notes)
        self.specs = {spec.name: spec for spec in specs}
        self._n_not_asked = 0

    @property
    def card(self) -> ModelCard:
        """Return what it could do."""
        return self._card

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return what it could do: it cannot be asked any more."""
        return self._card

    def identity(self) -> ModelIdentity:
        """Return who it was."""
        return self._identity

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Say of each request why there is no answer to it."""
        for request in requests:
            failure = self._answers.failure(request.key)
            if failure is None:
                self._n_not_asked += 1
                failure = Failure(NOT_ASKED, "the model was never asked this: its answers are not stored")
            yield Response(request.id, request.key, failure)

    @property
    def has_more_at_hand(self) -> bool:
        """Return False: answers are looked up one by one."""
        return False

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return nothing: its tokenizer is not opened."""
        return ()

    def n_tokens(self, ask: Ask) -> int | None:
        """Return that it cannot be told."""
        return None

    def stats(self) -> Mapping[str, float]:
        """Return nothing: it does nothing."""
        return {}

    def notes(self) -> Sequence[str]:
        """Say how much it was never asked."""
        if not self._n_not_asked:
            return self._notes
        return (
            *self._notes,
            f"{self._n_not_asked:,} questions were never asked of the model and count as failed; "
            "the prompts or the rows have changed, or the model was not asked about all of them",
        )

    def close(self) -> None:
        """Close the answers."""
        self._answers.close()


class ScoringJournal:
    """A journal that takes what is known, and not that something is unknown."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def get(self, request_id: str, key: str) -> Response | None:
        """Return the stored response to exactly this ask."""
        return self._journal.get(request_id, key)

    def answer(self, key: str) -> Outcome | None:
        """Return the stored answer to this ask."""
        return self._journal.answer(key)

    def append(self, response: Response) -> None:
        """Store a response, unless it says that the model was not asked."""
        outcome = response.outcome
        if not (isinstance(outcome, Failure) and outcome.kind == NOT_ASKED):
            self._journal.append(response)

    def flush(self) -> None:
        """Store what was appended."""
        self._journal.flush()


class RecordedFitter:
    """Makes the requests that the model was shown, with the examples that fitted then."""

    def __init__(self, shown: ShotCounts) -> None:
        self._shown = shown

    def requests(self, task: Task, sample: Sample) -> Sequence[Request]:
        """Return what was asked about a sample, as far as the task still asks the same."""
        requests = task.requests(sample)
        for track, n_shots in self._shown.get((task.spec.name, sample.id), {}).items():
            pairs = zip(requests, task.requests(sample, shots=n_shots), strict=True)
            requests = [new if new.track == track else old for old, new in pairs]
        return requests

    def note(self, cost: Cost, n_samples: int) -> str:
        """Return in words how many examples a method of a task had to do without."""
        return (
            f"{cost.task} {cost.method}: {cost.n_shortened:,} of {n_samples:,} samples were shown fewer "
            f"examples than asked for, when the model was asked: {cost.n_shots_left_out:,} left out"
        )
