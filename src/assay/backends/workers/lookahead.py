"""Pulls requests ahead of the workers, and splits them into batches that keep shared prefixes together.

The number of pulled requests is limited, and so is the caller's memory, whatever the size of the dataset and
the number of workers. A batch is a fraction of the pulled requests: large in the middle of a run, where a
model fills its batches best, and smaller towards the end, so that no worker has much left while others are
idle.
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
"""Maximum size of a batch: what a model in this process would sort at once."""
FEWEST = 16
"""Minimum size of a batch made smaller for balance."""
_SHARES = 4
"""Batches per worker into which the pulled requests are split."""
_MOST_REQUESTS = 65_536
_MOST_CHARS = 64_000_000
"""Maximum pulled requests, for all workers together."""
_ALIKE = 64
"""Positions whose prompts share about the same prefix, within this many characters, are equally good."""
_STEP = 1024
"""Requests pulled before the workers are served again."""


class Lookahead:
    """Pulled requests that are not yet with a worker, in order."""

    def __init__(self, requests: Iterable[Request]) -> None:
        self._source: Iterator[Request] = iter(requests)
        self._ready: deque[Request] = deque()
        self._n_chars = 0
        self.is_at_end = False
        """Whether the source is exhausted."""

    def __len__(self) -> int:
        return len(self._ready)

    def fill(self, n_workers: int) -> bool:
        """Pull some more requests; return whether more can be pulled."""
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
        """Return the next batch for one of `n_workers` workers; empty if no request is ready."""
        if not self._ready:
            return ()
        share = -(-len(self._ready) // (_SHARES * n_workers))
        size = self._cut(min(BATCH_REQUESTS, max(FEWEST, share)))
        taken = tuple(self._ready.popleft() for _ in range(size))
        self._n_chars -= sum(count_ask_chars(request.ask) for request in taken)
        return taken

    def _cut(self, wanted: int) -> int:
        """Return the size of the next batch: whole samples, split where prompts share the shortest prefix."""
        least = wanted - wanted // 4
        best, best_shared = 0, -1
        chars = 0
        before: Request | None = None
        for at, request in enumerate(islice(self._ready, 2 * BATCH_REQUESTS)):
            is_border = before is not None and _is_border(before, request)
            if is_border and before is not None and at >= least:
                shared = _n_shared(before.ask.prompt, request.ask.prompt) // _ALIKE
                # Among equally good positions, take the last one: the batch is as large as possible.
                if best_shared < 0 or shared <= best_shared:
                    best, best_shared = at, shared
            is_full = at >= wanted or chars >= BATCH_CHARS
            if is_full and (best or is_border):
                return best or at
            chars += count_ask_chars(request.ask)
            before = request
        # The remainder, or one sample that is too large to wait for.
        return min(len(self._ready), 2 * BATCH_REQUESTS)


def _is_border(before: Request, after: Request) -> bool:
    """Return whether two requests belong to different samples: options of a question stay together."""
    return before.sample_id != after.sample_id or before.task != after.task


def _n_shared(one: Prompt, other: Prompt) -> int:
    """Return the number of characters in the shared prefix of two prompts, counting whole messages."""
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
