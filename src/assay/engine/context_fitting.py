"""Prompts that the model cannot read whole lose whole examples, and nothing else.

All requests of one track of one sample show the same number of examples, the largest with which each of
them fits, so that the options of a question stay comparable. What does not fit without any example is asked
all the same, and the backend answers that it is too long. Room for a generated answer counts as needed while
there is an example to leave out for it.

Must not know how a task writes its examples, nor how a model makes tokens.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from assay.core.ports import Backend
from assay.core.prompt import Message, Prompt, Role, final_text, find_media, replace_final_text
from assay.core.request import Ask, Generate, Labels, Request, Sampling
from assay.core.run import Cost
from assay.core.sample import Sample
from assay.core.task import Task

_MARGIN = 16
"""Tokens by which an estimate may fall short: texts that are joined may be cut into other tokens there."""
_NO_OUTPUT = Sampling(max_tokens=0)


class ContextFitter:
    """Makes requests that one model can read."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._context_length = backend.card.context_length
        self._shortened: set[tuple[str, str]] = set()
        """Tasks and tracks of which examples were left out here; a task may also do so itself."""
        self._n_frame_tokens = cache(self._frame_tokens)
        # The options of a question follow each other and share their context.
        self._n_context_tokens = lru_cache(1)(self._context_tokens)

    def requests(self, task: Task, sample: Sample) -> Sequence[Request]:
        """Return what to ask about a sample, with as many of its examples as the model can read."""
        requests = task.requests(sample)
        if self._context_length is None:
            return requests
        with_at_most = cache(lambda n: task.requests(sample, shots=n))
        for track, n_shots in _tracks_with_shots(requests).items():
            if not self._fit(requests, track):
                fewer = self._drop_examples(with_at_most, track, n_shots)
                self._shortened.add((task.spec.name, track))
                pairs = zip(requests, fewer, strict=True)
                requests = [new if new.track == track else old for old, new in pairs]
        return requests

    def excess(self, ask: Ask) -> int:
        """Return by how many tokens an ask is too long for the model; 0 when it fits."""
        length = self._context_length
        if length is None:
            return 0
        if find_media(ask.prompt):
            # How many tokens an image becomes, only the model knows.
            return self._over(ask, length)
        # A token has at least one byte, so most asks are known to fit before anything is made into tokens.
        n_bytes = sum(map(_n_bytes, _texts(ask.prompt))) + _n_following(ask)
        if n_bytes + self._n_frame_tokens(_roles(ask.prompt)) + _MARGIN <= length:
            return 0
        context, n_own_bytes = _split(ask)
        n_context = self._n_context_tokens(context)
        if n_context is not None and n_context + n_own_bytes + _MARGIN <= length:
            return 0
        return self._over(ask, length)

    def note(self, cost: Cost, n_samples: int) -> str:
        """Return in words how many examples a method of a task had to do without."""
        n_asked_for = cost.n_shots + cost.n_shots_left_out
        why = (
            f"the model reads at most {self._context_length:,} tokens, the answer included"
            if (cost.task, cost.method) in self._shortened
            else "the dataset allows no more tokens for them"
        )
        return (
            f"{cost.task} {cost.method}: {cost.n_shortened:,} of {n_samples:,} samples were shown fewer "
            f"examples than asked for: {cost.n_shots_left_out:,} of {n_asked_for:,} left out, since {why}"
        )

    def _drop_examples(
        self, with_at_most: Callable[[int], Sequence[Request]], track: str, n_shots: int
    ) -> Sequence[Request]:
        """Return the requests with the most examples below a number that is too large for a track."""
        # More examples need more tokens: 1, 2, ... examples fit up to some number, and none above it.
        n = bisect_left(range(1, n_shots), True, key=lambda n: not self._fit(with_at_most(n), track))
        return with_at_most(n)

    def _fit(self, requests: Sequence[Request], track: str) -> bool:
        """Whether all of a track that shows examples can be read."""
        return not any(self.excess(r.ask) for r in requests if r.track == track and r.n_shots)

    def _over(self, ask: Ask, length: int) -> int:
        n_tokens = self._backend.n_tokens(ask)
        return 0 if n_tokens is None else max(0, n_tokens - length)

    def _context_tokens(self, context: Prompt) -> int | None:
        return self._backend.n_tokens(Generate(context, _NO_OUTPUT))

    def _frame_tokens(self, roles: tuple[Role, ...] | None) -> int:
        """Return what a model puts around texts: its chat template, its special tokens."""
        bare: Prompt = "." if roles is None else tuple(Message(role, ".") for role in roles)
        return self._context_tokens(bare) or 0


def _tracks_with_shots(requests: Sequence[Request]) -> dict[str, int]:
    """Return how many examples each track shows, for those that show any."""
    shown: dict[str, int] = {}
    for request in requests:
        if request.n_shots:
            shown[request.track] = max(request.n_shots, shown.get(request.track, 0))
    return shown


def _split(ask: Ask) -> tuple[Prompt, int]:
    """Return the part of an ask that it may share with others, and the most tokens the rest can need."""
    if isinstance(ask, Generate | Labels):
        return ask.prompt, _n_following(ask)
    final = final_text(ask.prompt)
    return replace_final_text(ask.prompt, final[: ask.start]), _n_bytes(final[ask.start :])


def _n_following(ask: Ask) -> int:
    """Return the most tokens that can follow the prompt of an ask."""
    if isinstance(ask, Generate):
        return ask.sampling.max_tokens
    if isinstance(ask, Labels):
        return max((_n_bytes(spelling) for label in ask.labels for spelling in label), default=0)
    return 0


def _texts(prompt: Prompt) -> Sequence[str]:
    return (prompt,) if isinstance(prompt, str) else [message.text for message in prompt]


def _roles(prompt: Prompt) -> tuple[Role, ...] | None:
    return None if isinstance(prompt, str) else tuple(message.role for message in prompt)


def _n_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
