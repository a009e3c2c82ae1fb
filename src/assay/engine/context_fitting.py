"""Fit prompts into the model's context by omitting whole examples, and nothing else.

All requests of one track of one sample show the same number of examples: the largest with which all of them
fit, so that the options of a question stay comparable. A prompt that does not fit without examples is sent
anyway, and the backend reports that it is too long. Space for a generated answer counts as needed while there
is an example that can be omitted for it.

Independent of how a task writes its examples and how a model tokenizes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache

from assay.core.ports import Backend
from assay.core.prompt import Message, Prompt, Role, final_text, find_media, replace_final_text
from assay.core.request import Ask, Generate, Labels, Request, Sampling
from assay.core.run import Cost
from assay.core.sample import Sample
from assay.core.shared_prefix import count_shared_prefix
from assay.core.task import Task

_MARGIN = 16
"""Tokens by which an estimate can be too low: joined texts can be tokenized differently at the boundary."""
_NO_OUTPUT = Sampling(max_tokens=0)


class ContextFitter:
    """Builds requests that fit into one model's context."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._context_length = backend.card.context_length
        self._shortened: set[tuple[str, str]] = set()
        """Tasks and tracks whose examples were omitted here; a task can also omit some itself."""
        self._n_frame_tokens = cache(self._frame_tokens)
        self._counted: tuple[Prompt, int | None] = ("", 0)
        """The last context whose tokens were counted, and their number."""

    def requests(self, task: Task, sample: Sample) -> Sequence[Request]:
        """Return the requests for a sample, with as many of its examples as fit into the context."""
        requests = task.requests(sample)
        if self._context_length is None:
            return requests
        with_at_most = cache(lambda n: task.requests(sample, shots=n))
        for track, n_shots in _tracks_with_shots(requests).items():
            if not self._do_all_fit(requests, track):
                fewer = self._drop_examples(with_at_most, track, n_shots)
                self._shortened.add((task.spec.name, track))
                pairs = zip(requests, fewer, strict=True)
                requests = [new if new.track == track else old for old, new in pairs]
        return requests

    def excess(self, ask: Ask) -> int:
        """Return by how many tokens an ask exceeds the context; 0 if it fits."""
        length = self._context_length
        if length is None:
            return 0
        if find_media(ask.prompt):
            # Only the model knows how many tokens an image needs.
            return self._count_excess(ask, length)
        # A token has at least one byte, so most asks are known to fit without tokenizing them.
        n_bytes = sum(map(_n_bytes, _texts(ask.prompt))) + _n_following(ask)
        if n_bytes + self._n_frame_tokens(_roles(ask.prompt)) + _MARGIN <= length:
            return 0
        context, n_own_bytes = _split(ask)
        n_most = self._find_most_tokens(context)
        if n_most is not None and n_most + n_own_bytes + _MARGIN <= length:
            return 0
        n_context = self._count_context(context)
        if n_context is not None and n_context + n_own_bytes + _MARGIN <= length:
            return 0
        return self._count_excess(ask, length)

    def note(self, cost: Cost, n_samples: int) -> str:
        """Return a note about how many examples a method of a task had to omit."""
        n_requested = cost.n_shots + cost.n_shots_left_out
        why = (
            f"prompt and answer share a context of {self._context_length:,} tokens"
            if (cost.task, cost.method) in self._shortened
            else "the dataset limits their tokens"
        )
        return (
            f"{cost.task} {cost.method}: {cost.n_shortened:,} of {n_samples:,} samples had fewer "
            f"examples than requested: {cost.n_shots_left_out:,} of {n_requested:,} omitted, because {why}"
        )

    def _drop_examples(
        self, with_at_most: Callable[[int], Sequence[Request]], track: str, n_shots: int
    ) -> Sequence[Request]:
        """Return the requests with the most examples that fit, fewer than `n_shots`, which do not."""
        # More examples need more tokens: some number of examples fits, and no larger number does.
        n = bisect_left(range(1, n_shots), True, key=lambda n: not self._do_all_fit(with_at_most(n), track))
        return with_at_most(n)

    def _do_all_fit(self, requests: Sequence[Request], track: str) -> bool:
        """Return whether all requests of a track with examples fit."""
        return not any(self.excess(r.ask) for r in requests if r.track == track and r.n_shots)

    def _count_excess(self, ask: Ask, length: int) -> int:
        n_tokens = self._backend.n_tokens(ask)
        return 0 if n_tokens is None else max(0, n_tokens - length)

    def _find_most_tokens(self, context: Prompt) -> int | None:
        """Return the most tokens that a context can have, given the last one counted; None if unknown.

        The contexts of a task begin with the same examples, so few characters differ.
        """
        counted, n_tokens = self._counted
        if n_tokens is None or isinstance(context, str) != isinstance(counted, str):
            return None
        n_shared = count_shared_prefix(counted, context)
        if isinstance(context, str):
            # Between words, the shared part has no other tokens than as a part of the whole.
            n_shared = max(0, context.rfind(" ", 0, n_shared))
            return n_tokens + _n_bytes(context[n_shared:])
        n_new = sum(_n_bytes(message.text) for message in context[n_shared:])
        return n_tokens + n_new + self._n_frame_tokens(_roles(context))

    def _count_context(self, context: Prompt) -> int | None:
        # The options of a question are consecutive and share their context.
        if context != self._counted[0]:
            self._counted = context, self._context_tokens(context)
        return self._counted[1]

    def _context_tokens(self, context: Prompt) -> int | None:
        return self._backend.n_tokens(Generate(context, _NO_OUTPUT))

    def _frame_tokens(self, roles: tuple[Role, ...] | None) -> int:
        """Return the tokens that a model adds around texts: its chat template, its special tokens."""
        bare: Prompt = "." if roles is None else tuple(Message(role, ".") for role in roles)
        return self._context_tokens(bare) or 0


def _tracks_with_shots(requests: Sequence[Request]) -> dict[str, int]:
    """Return the number of examples of each track that shows any."""
    n_shots: dict[str, int] = {}
    for request in requests:
        if request.n_shots:
            n_shots[request.track] = max(request.n_shots, n_shots.get(request.track, 0))
    return n_shots


def _split(ask: Ask) -> tuple[Prompt, int]:
    """Return the part of an ask that it can share with others, and the maximum tokens of the rest."""
    if isinstance(ask, Generate | Labels):
        return ask.prompt, _n_following(ask)
    final = final_text(ask.prompt)
    return replace_final_text(ask.prompt, final[: ask.start]), _n_bytes(final[ask.start :])


def _n_following(ask: Ask) -> int:
    """Return the maximum tokens that can follow the prompt of an ask."""
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
