"""The ports: protocols for what the engine needs from other packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from assay.core.method import Method
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
    """A model. Cheap to create; it loads its weights when the first request is pulled."""

    @property
    def card(self) -> ModelCard:
        """Return its capabilities. Reads only small files."""

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card, verified for these kinds of ask with conversations or plain texts.

        A server is probed once, and `card` then includes the result. Other backends know already.
        """

    def identity(self) -> ModelIdentity:
        """Return its identity. May hash weight files, but does not load them."""

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer requests in any order.

        Pulls from `requests` only what it can work on, so the caller's memory stays bounded. A failed request
        is a `Failure`. Raises only if the model is no longer available.
        """

    @property
    def has_more_at_hand(self) -> bool:
        """Whether `run` can yield its next response without waiting.

        Responses that arrive together are stored together, which is several times cheaper.
        """

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return the tokens of an ask. Needs a tokenizer but no weights; empty without a tokenizer."""

    def n_tokens(self, ask: Ask) -> int | None:
        """Return how many tokens of context an ask needs, without weights; None if unknown.

        SPAN: the whole text. LABELS: the prompt with its longest spelling. GENERATE: the prompt and
        `max_tokens`.
        """

    def stats(self) -> Mapping[str, float]:
        """Return its own counters since it was created, such as tokens read."""

    def notes(self) -> Sequence[str]:
        """Return notes for the user about how it worked, such as an optimization it could not use."""

    def close(self) -> None:
        """Release memory and connections."""


class TimedClient(Protocol):
    """A server client that makes each call once and records when the answer arrived.

    Used on one event loop, inside `async with`, by any number of concurrent tasks.
    """

    async def __aenter__(self) -> TimedClient:
        """Prepare the client; opens no connection."""

    async def __aexit__(self, *error: object) -> None:
        """Close all connections. The caller must end calls in progress first."""

    async def connect(self, n: int) -> None:
        """Open `n` connections, if the server accepts them, so that calls do not include that time."""

    async def call(self, ask: Generate) -> TimedCall:
        """Send one ask and read its answer. An error is a `Failure` in it; raises only if cancelled."""


class Journal(Protocol):
    """Every response as it arrived. Stored responses are never requested again."""

    def get(self, request_id: str, key: str) -> Response | None:
        """Return the stored response to exactly this ask."""

    def answer(self, key: str) -> Outcome | None:
        """Return the stored answer to this ask, from any request; None if it failed."""

    def append(self, response: Response) -> None:
        """Add a response. It is safe after the next `flush`."""

    def flush(self) -> None:
        """Store the appended responses, so that killing the process does not lose them."""


class ResponseCache(Protocol):
    """Answers kept between runs, by model identity and ask. Contains no failures."""

    def get(self, key: str) -> Outcome | None:
        """Return the answer to this ask, if it is stored."""

    def put(self, key: str, outcome: Outcome) -> None:
        """Store an answer."""


class Judge(Protocol):
    """A model that grades the answers of others. Passed to scoring, which never creates one."""

    def identity(self) -> ModelIdentity:
        """Return the identity of the judge, which is part of the meaning of a grade."""

    def ask(self, prompts: Sequence[Prompt]) -> Sequence[Completion | Failure]:
        """Return the reply to each prompt, in order. A failed prompt is a `Failure`."""


class Embedder(Protocol):
    """Turns texts into vectors, so that texts with similar meanings are close to each other."""

    def identity(self) -> ModelIdentity:
        """Return the identity of the encoder, without loading it."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector per text, in order, independent of the other texts."""


class Sink(Protocol):
    """Receives finished samples in the order of the dataset."""

    def write(self, task: str, sample: Sample, requests: Sequence[Request], scores: Sequence[Score]) -> None:
        """Write one finished sample with the scores known by then."""

    def write_scores(self, scores: Sequence[Score]) -> None:
        """Write the scores of one sample that had to wait for all samples."""


class Aggregator(Protocol):
    """Aggregates scores as they arrive."""

    def add(self, score: Score) -> None:
        """Add one score."""

    def take(self, evaluation: Evaluation) -> None:
        """Add the results of a whole list."""

    def lose(self, task: str, track: Method, why: str) -> None:
        """Report no value for a task and track, because the code that scores its samples raised."""

    def metrics(self) -> Sequence[Metric]:
        """Return the metrics so far."""
