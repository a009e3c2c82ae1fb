"""Batches under a token budget, and smaller ones when memory runs out. Knows neither texts nor models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


class Budget:
    """How much goes into one batch. Shrinks for good when memory runs out, so that it runs out once."""

    def __init__(self, tokens: int, max_rows: int | None = None) -> None:
        self.tokens = tokens
        self.max_rows = max_rows

    def batches(
        self, items: Iterable[T], length: Callable[[T], int], *, factor: int = 1
    ) -> Iterator[list[T]]:
        """Yield batches of similar length, longest first, each within the budget of padded tokens.

        One item alone may exceed it. The budget is read anew for each batch.
        """
        # Longest first: if memory is too small, that shows at once and not after an hour.
        queue = sorted(items, key=length, reverse=True)
        at = 0
        while at < len(queue):
            rows = max(1, self.tokens * factor // max(1, length(queue[at])))
            rows = min(rows, self.max_rows or rows)
            yield queue[at : at + rows]
            at += rows

    def run(self, batch: list[T], work: Callable[[list[T]], None], give_up: Callable[[T], None]) -> None:
        """Do the work on a batch; when memory runs out do it in halves, down to single items."""
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
        # A function of its own: the error holds the frames, and they the tensors, until it is let go.
        try:
            work(batch)
        except (RuntimeError, MemoryError) as trouble:
            if not is_out_of_memory(trouble):
                raise
            return False
        return True


def is_out_of_memory(trouble: BaseException) -> bool:
    """Whether an error says that memory ran out: torch's own type, or the words of its CPU allocator."""
    if isinstance(trouble, MemoryError) or type(trouble).__name__ == "OutOfMemoryError":
        return True
    said = str(trouble).lower()
    return isinstance(trouble, RuntimeError) and (
        "not enough memory" in said or "can't allocate memory" in said or "out of memory" in said
    )


def windows(
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
