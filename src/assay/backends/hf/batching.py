"""Batches within a token budget, made smaller when memory runs out. Knows neither texts nor models."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Sizes(NamedTuple):
    """How much is computed at once on a type of device."""

    batch_tokens: int
    lane_tokens: int


CPU_SIZES = Sizes(4096, 256)
"""Attention dominates the cost of long sequences, so lanes are short."""
GPU_SIZES = Sizes(16_896, 4224)
"""Long lanes use the GPU fully: 128 tokens, or 32, for each of the 132 processors of current large GPUs."""


class Budget:
    """The maximum size of a batch. Shrinks permanently when memory runs out, so that this happens once."""

    def __init__(self, tokens: int, max_rows: int | None = None) -> None:
        self.tokens = tokens
        self.max_rows = max_rows

    def batches(
        self, items: Iterable[T], length: Callable[[T], int], *, factor: int = 1, even: bool = False
    ) -> Iterator[list[T]]:
        """Yield batches of similar length, longest first, each within the budget of padded tokens.

        A single item may exceed it. The budget is read again for each batch. With `even`, for items of about
        the same length, no small batch remains at the end.
        """
        # Longest first: if memory is too small, this fails at once and not after an hour.
        queue = sorted(items, key=length, reverse=True)
        at = 0
        while at < len(queue):
            rows = max(1, self.tokens * factor // max(1, length(queue[at])))
            rows = min(rows, self.max_rows or rows)
            if even:
                n_batches = -(-(len(queue) - at) // rows)
                rows = -(-(len(queue) - at) // n_batches)
            yield queue[at : at + rows]
            at += rows

    def run(self, batch: list[T], work: Callable[[list[T]], None], give_up: Callable[[T], None]) -> None:
        """Process a batch; if memory runs out, process its halves, down to single items."""
        if self._fits(batch, work):
            return
        if len(batch) == 1:
            give_up(batch[0])
            return
        half = len(batch) // 2
        self.tokens = max(1, self.tokens // 2)
        self.run(batch[:half], work, give_up)
        self.run(batch[half:], work, give_up)

    @staticmethod
    def _fits(batch: list[T], work: Callable[[list[T]], None]) -> bool:
        # A separate function: the error keeps its frames and their tensors in memory until it is released.
        try:
            work(batch)
        except (RuntimeError, MemoryError) as trouble:
            if not is_out_of_memory(trouble):
                raise
            return False
        return True


class RunningBatch(Generic[T]):
    """A batch whose items come and go: waiting items replace finished ones."""

    def __init__(
        self, budget: Budget, items: Iterable[T], length: Callable[[T], int], *, factor: int = 1
    ) -> None:
        """Queue items, longest first; equal items keep their order."""
        self._budget = budget
        self._length = length
        self._factor = factor
        self._max_rows: int | None = None
        # Longest first: if memory is too small, this fails at once, and later items need less memory.
        self.waiting = deque(sorted(items, key=length, reverse=True))
        self.running: list[T] = []

    def admit(self) -> list[T]:
        """Return the waiting items that join the batch now, if any.

        Their number is limited by the maximum length that any item in the batch can reach. They join in
        groups of at least a quarter of the batch, because joining one by one would cost more.
        """
        if not self.waiting:
            return []
        n_rows = self._count_rows(max(map(self._length, self.running or [self.waiting[0]])))
        free = n_rows - len(self.running)
        if self.running and free < min(len(self.waiting), -(-n_rows // 4)):
            return []
        fresh = [self.waiting.popleft() for _ in range(min(free, len(self.waiting)))]
        self.running += fresh
        return fresh

    def dismiss(self, items: Iterable[T]) -> list[int]:
        """Remove finished items; the last ones take their places, so that few items move.

        Return the former number of each item that is left.
        """
        gone = {id(item) for item in items}
        left = [number for number, item in enumerate(self.running) if id(item) not in gone]
        n_left = len(left)
        order = [
            number if id(item) not in gone else left.pop()
            for number, item in enumerate(self.running[:n_left])
        ]
        self.running = [self.running[number] for number in order]
        return order

    def shrink(self) -> list[T]:
        """After memory ran out: return all running items to the queue, and halve the budget.

        Return the items that cannot be processed: the one that ran alone, or all if none could begin.
        """
        if len(self.running) > 1:
            self._budget.tokens = max(1, self._budget.tokens // 2)
            self._max_rows = len(self.running) // 2
            self.waiting.extendleft(reversed(self.running))
            self.running = []
            return []
        hopeless = self.running or list(self.waiting)
        if not self.running:
            self.waiting.clear()
        self.running, self._max_rows = [], None
        return hopeless

    @property
    def largest(self) -> tuple[int, int]:
        """Return how many of the waiting items the batch will begin with, and the maximum length of one."""
        longest = max(map(self._length, self.waiting), default=0)
        return min(len(self.waiting), self._count_rows(longest)), longest

    def _count_rows(self, longest: int) -> int:
        rows = self._budget.tokens * self._factor // max(1, longest)
        limits = [limit for limit in (self._budget.max_rows, self._max_rows) if limit is not None]
        return max(1, min([rows, *limits]))


def is_out_of_memory(trouble: BaseException) -> bool:
    """Return whether an error means that memory ran out: torch's own type, or its CPU allocator's message."""
    if isinstance(trouble, MemoryError) or type(trouble).__name__ == "OutOfMemoryError":
        return True
    message = str(trouble).lower()
    return isinstance(trouble, RuntimeError) and (
        "not enough memory" in message or "can't allocate memory" in message or "out of memory" in message
    )


def iter_windows(
    items: Iterable[T], *, at_most: int, size: Callable[[T], int], total: int
) -> Iterator[Sequence[T]]:
    """Pull items in groups: up to `at_most` of them, or until their sizes reach `total`."""
    source = iter(items)
    while first := list(islice(source, 1)):
        window, weight = first, size(first[0])
        while len(window) < at_most and weight < total:
            following = list(islice(source, 1))
            if not following:
                break
            window += following
            weight += size(following[0])
        yield window
