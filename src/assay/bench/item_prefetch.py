"""Generate items before they are due: generating a prompt may take longer than a call may be late."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator

from assay.bench.items import LoadItem

MAX_PREFETCHED = 8192
"""Maximum number of prefetched items; a smaller load is generated completely before it starts."""
MAX_PREFETCHED_CHARS = 64_000_000
"""Maximum characters of their prompts: fewer long prompts are prefetched."""
_LEAST = 256
"""Minimum number of prefetched items; more if more are sent at once."""


class ItemPrefetcher(Iterator[LoadItem]):
    """Items in order. Taking one schedules the generation of another after the loop has sent what is due."""

    def __init__(self, items: Iterable[LoadItem], *, ahead: int = MAX_PREFETCHED) -> None:
        self._source = iter(items)
        self._ahead = ahead
        self._ready: deque[LoadItem] = deque()
        self._n_chars = 0
        self._n_to_come = 0
        """Items that the load will still take, as far as known."""
        self._least = _LEAST
        self._is_out = False
        self.n_unready = 0
        """Items that had to be generated when they were taken."""

    def prepare(self, n: int | None, at_once: int = 1) -> int:
        """Generate items for a load that takes `n` (None: not known) and may send `at_once` of them at once;
        return how many are ready.
        """
        self._n_to_come = n or 0
        self._least = max(_LEAST, 2 * at_once)
        while self._is_short:
            self._make()
        return len(self._ready)

    def __next__(self) -> LoadItem:
        """Return the next item."""
        if not self._ready and not self._is_out:
            self._make()
            self.n_unready += bool(self._ready)
        if not self._ready:
            raise StopIteration
        item = self._ready.popleft()
        self._n_chars -= _count_chars(item)
        self._n_to_come = max(self._n_to_come - 1, 0)
        if self._is_short:
            asyncio.get_running_loop().call_soon(self._restock)
        return item

    @property
    def _is_short(self) -> bool:
        wanted = min(self._ahead, max(self._n_to_come, self._least))
        return not self._is_out and len(self._ready) < wanted and self._n_chars < MAX_PREFETCHED_CHARS

    def _restock(self) -> None:
        if self._is_short:
            self._make()

    def _make(self) -> None:
        item = next(self._source, None)
        if item is None:
            self._is_out = True
            return
        self._ready.append(item)
        self._n_chars += _count_chars(item)


def _count_chars(item: LoadItem) -> int:
    texts = (item.prompt,) if isinstance(item.prompt, str) else (message.text for message in item.prompt)
    return sum(map(len, texts)) + sum(map(len, item.turns))
