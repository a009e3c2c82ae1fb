"""Windows of requests, prepared on a second thread while the device computes the one before.

The requests themselves are pulled on the caller's thread, a few at a time: whoever yields them may also be
handling the answers. What a window's preparation returns does not depend on when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")
U = TypeVar("U")

AT_ONCE = 256
"""Items pulled while a batch is computed: few, so that its results are read soon."""


class WindowFeed(Generic[T, U]):
    """Groups items into windows, and has the next one prepared."""

    def __init__(
        self,
        items: Iterable[T],
        prepare: Callable[[Sequence[T]], U],
        *,
        at_most: int,
        size: Callable[[T], int],
        total: int,
    ) -> None:
        """A window has up to `at_most` items, or fewer whose sizes reach `total`."""
        self._items = iter(items)
        self._prepare = prepare
        self._at_most = at_most
        self._size = size
        self._total = total
        self._window: list[T] = []
        self._weight = 0
        self._is_at_end = False
        self._trouble: Exception | None = None
        """Raised by the items' source, after the windows before it."""
        self._prepared: Future[U] | None = None
        self._thread = ThreadPoolExecutor(1, "prepare")

    def advance(self, n: int = AT_ONCE) -> None:
        """Pull up to `n` more items of the next window; begin to prepare it as soon as it is complete."""
        if self._prepared is not None or self._is_at_end:
            return
        self._pull(n)
        if self._is_at_end or self._is_complete:
            self._submit()

    def start(self) -> None:
        """Begin to prepare the next window."""
        self.advance(self._at_most)

    @property
    def has_more(self) -> bool:
        """Whether there is another window, as far as items were pulled."""
        return self._prepared is not None

    def __iter__(self) -> Iterator[U]:
        """Yield the prepared windows."""
        while True:
            while self._prepared is None and not self._is_at_end:
                self.start()
            if self._prepared is None:
                break
            window, self._prepared = self._prepared, None
            yield window.result()
        if self._trouble is not None:
            raise self._trouble

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)

    @property
    def _is_complete(self) -> bool:
        return len(self._window) >= self._at_most or self._weight >= self._total

    def _pull(self, n: int) -> None:
        try:
            for item in islice(self._items, n):
                self._window.append(item)
                self._weight += self._size(item)
                if self._is_complete:
                    return
                n -= 1
        except Exception as trouble:  # noqa: BLE001 (raised after the windows before it)
            self._trouble = trouble
            self._window.clear()
        self._is_at_end = n > 0

    def _submit(self) -> None:
        if self._window:
            self._prepared = self._thread.submit(self._prepare, tuple(self._window))
        self._window, self._weight = [], 0
