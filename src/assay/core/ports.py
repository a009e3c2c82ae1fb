"""The ports: what the engine needs from other rooms, as protocols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.prompt import Prompt
from assay.core.request import Ask, Generate, Kind, Request
from assay.core.response import Completion, Failure, Outcome, Response
from assay.core.sample import Sample
from assay.core.score import Metric, Score
from assay.core.task import Evaluation
from assay.core.timing import TimedCall

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Backend(Protocol):
    """A model. Cheap to make; weights are read when the first request is pulled."""

    @property
    def card(self) -> ModelCard:
        """Return what it can do. Reads small files only."""

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card, sure of these kinds of ask, after conversations or after plain texts.

        A server is asked what it can do, once; `card` then says it too. Others know already.
        """

    def identity(self) -> ModelIdentity:
        """Return who it is. May hash weight files; does not load them."""

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer requests, in any order.

        Pulls from `requests` only what it can work on, so the caller's memory stays bounded. Trouble
        with one request is a `Failure`; it raises only when the model is gone.
        """

    @property
    def has_more_at_hand(self) -> bool:
        """Whether `run` will give its next response without waiting for it.

        Responses that came together are then written down together, which is several times cheaper.
        """

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return how the model reads an ask. Needs a tokenizer, not weights; empty when it has none."""

    def n_tokens(self, ask: Ask) -> int | None:
        """Return how much of the context an ask needs, without weights; None when that cannot be told.

        SPAN: the whole text. LABELS: the prompt with its longest spelling. GENERATE: the prompt and
        `max_tokens`.
        """

    def stats(self) -> Mapping[str, float]:
        """Return counters of its own since it was made, such as tokens read."""

    def notes(self) -> Sequence[str]:
        """Return what a person should know about how it worked, such as a fast way it could not take."""

    def close(self) -> None:
        """Let go of memory and connections."""


class TimedClient(Protocol):
    """A server's client that makes each call once and says when its answer came.

    Used on one event loop, inside `async with`, by as many tasks at a time as the caller likes.
    """

    async def __aenter__(self) -> TimedClient:
        """Make ready; opens no connection."""

    async def __aexit__(self, *error: object) -> None:
        """Close all connections; calls under way are the caller's to end first."""

    async def connect(self, n: int) -> None:
        """Have so many connections open, as far as the server takes them: that is no part of a call."""

    async def call(self, ask: Generate) -> TimedCall:
        """Send one ask and read its answer. Trouble is a `Failure` in it; raises only when cancelled."""


class Journal(Protocol):
    """Every response as it arrived. What is in it is never asked again."""

    def get(self, request_id: str, key: str) -> Response | None:
        """Return the stored response to exactly this ask."""

    def answer(self, key: str) -> Outcome | None:
        """Return the stored answer to this ask, whichever request asked it; None where it failed."""

    def append(self, response: Response) -> None:
        """Take a response; it is safe after the next `flush`."""

    def flush(self) -> None:
        """Store what was appended so that killing the process does not lose it."""


class ResponseCache(Protocol):
    """Answers kept between runs, by model identity and ask. Holds no failures."""

    def get(self, key: str) -> Outcome | None:
        """Return the answer to this ask, if it was ever given."""

    def put(self, key: str, outcome: Outcome) -> None:
        """Keep an answer."""


class Judge(Protocol):
    """A model that grades the answers of others. Scoring is handed one and never makes one."""

    def identity(self) -> ModelIdentity:
        """Return who judges: a grade means nothing without it."""

    def ask(self, prompts: Sequence[Prompt]) -> Sequence[Completion | Failure]:
        """Return the reply to each prompt, in their order. Trouble with one prompt is a `Failure`."""


class Embedder(Protocol):
    """Turns texts into vectors, so that texts which mean alike lie near each other."""

    def identity(self) -> ModelIdentity:
        """Return which encoder it is; does not load it."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 for each text, in their order, whatever else is embedded with it."""


class Sink(Protocol):
    """Where finished samples go, in the dataset's order."""

    def write(self, task: str, sample: Sample, requests: Sequence[Request], scores: Sequence[Score]) -> None:
        """Take one finished sample, with the scores that are known by then."""

    def write_scores(self, scores: Sequence[Score]) -> None:
        """Take one sample's scores that had to wait for all samples."""


class Aggregator(Protocol):
    """Adds scores up as they come."""

    def add(self, score: Score) -> None:
        """Take one score."""

    def take(self, evaluation: Evaluation) -> None:
        """Take what came out for a whole list."""

    def lose(self, task: str, track: str, why: str) -> None:
        """Report no value for a task and track: the code that had to score its samples raised."""

    def metrics(self) -> Sequence[Metric]:
        """Return the numbers so far."""
