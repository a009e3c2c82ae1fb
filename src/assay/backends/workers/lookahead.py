"""Requests pulled a little ahead of the workers, and cut into batches that keep together what begins alike.

How much is pulled is bounded, so the caller's memory is, whatever the size of the dataset and the number of
workers. A batch is a share of what lies ready: large in the middle of a run, where a model fills its batches
best, and smaller and smaller at the end, where no worker should be left with much while others have nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile

from assay.backends.local.request_sizes import count_ask_chars
from assay.core.prompt import Message, Prompt
from assay.core.request import Request

BATCH_REQUESTS = 2048
BATCH_CHARS = 2_000_000
"""A batch holds so much at most: what a model in this process would sort at once."""
FEWEST = 16
"""A batch is not made smaller than this for the sake of balance."""
_SHARES = 4
"""Batches for each worker that what lies ready is thought to be cut into."""
_MOST_REQUESTS = 65_536
_MOST_CHARS = 64_000_000
"""What lies ready at most, for all workers together."""
_ALIKE = 64
"""Borders whose prompts share about the same, to so many characters, are as good as each other."""
_STEP = 1024
"""Requests that are pulled before the workers are looked after again."""


class Lookahead:
    """Requests on their way to the workers, in their order."""

    def __init__(self, requests: Iterable[Request]) -> None:
        self._source: Iterator[Request] = iter(requests)
        self._ready: deque[Request] = deque()
        self._n_chars = 0
        self.is_at_end = False
        """Whether there is nothing more to pull."""

    def __len__(self) -> int:
        return len(self._ready)

    def fill(self, n_workers: int) -> bool:
        """Pull some more; return whether there is room for yet more, and something to fill it."""
        most = min(_MOST_REQUESTS, n_workers * _SHARES * BATCH_REQUESTS)
        most_chars = min(_MOST_CHARS, n_workers * _SHARES * BATCH_CHARS)
        for _ in range(_STEP):
            if self.is_at_end or len(self._ready) >= most or self._n_chars >= most_chars:
                return False
            request = next(self._source, None)
            if request is None:
                self.is_at_end = True
            else:
                self._ready.append(request)
                self._n_chars += count_ask_chars(request.ask)
        return True

    def take(self, n_workers: int) -> tuple[Request, ...]:
        """Return the next batch for one of so many workers; nothing when nothing lies ready."""
        if not self._ready:
            return ()
        share = -(-len(self._ready) // (_SHARES * n_workers))
        size = self._cut(min(BATCH_REQUESTS, max(FEWEST, share)))
        taken = tuple(self._ready.popleft() for _ in range(size))
        self._n_chars -= sum(count_ask_chars(request.ask) for request in taken)
        return taken

    def _cut(self, wanted: int) -> int:
        """Return how many requests go together: whole samples, parted where they have least in common."""
        least = wanted - wanted // 4
        best, best_shared = 0, -1
        chars = 0
        before: Request | None = None
        for at, request in enumerate(islice(self._ready, 2 * BATCH_REQUESTS)):
            is_border = before is not None and _is_border(before, request)
            if is_border and before is not None and at >= least:
                shared = _n_shared(before.ask.prompt, request.ask.prompt) // _ALIKE
                # Of borders that are alike the last: a batch is as large as it may be.
                if best_shared < 0 or shared <= best_shared:
                    best, best_shared = at, shared
            is_full = at >= wanted or chars >= BATCH_CHARS
            if is_full and (best or is_border):
                return best or at
            chars += count_ask_chars(request.ask)
            before = request
        # What is left altogether, or one sample that is too large to wait for.
        return min(len(self._ready), 2 * BATCH_REQUESTS)


def _is_border(before: Request, after: Request) -> bool:
    """Whether two requests belong to different samples: the options of a question stay together."""
    return before.sample_id != after.sample_id or before.task != after.task


def _n_shared(one: Prompt, other: Prompt) -> int:
    """Return how many characters two prompts begin with alike, whole messages counted by their texts."""
    if not isinstance(one, str) or not isinstance(other, str):
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
        return sum(len(message.text) for message, _ in alike if isinstance(message, Message))
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
