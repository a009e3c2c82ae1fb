"""Windows are prepared one ahead, in order, whatever the items' source does."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from assay.backends.hf.window_feed import WindowFeed


def feed_of(
    items: Iterator[int] | Sequence[int], at_most: int = 3, total: int = 1000
) -> WindowFeed[int, list[int]]:
    return WindowFeed(items, list, at_most=at_most, size=lambda item: item, total=total)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("at_once", [0, 1, 2, 5])
def test_every_item_is_in_one_window_in_order(n: int, at_once: int) -> None:
    with feed_of(range(n)) as feed:
        windows = []
        for window in feed:
            windows.append(window)
            if at_once:
                feed.advance(at_once)
    assert windows == [list(range(n))[at : at + 3] for at in range(0, n, 3)]


def test_a_window_ends_when_its_items_are_large_enough() -> None:
    with feed_of([5, 5, 9, 20, 1], at_most=10, total=10) as feed:
        assert list(feed) == [[5, 5], [9, 20], [1]]


def test_the_next_window_is_prepared_on_another_thread_while_this_one_is_used() -> None:
    begun = threading.Event()
    threads = []

    def prepare(items: Sequence[int]) -> list[int]:
        threads.append(threading.current_thread())
        if items[0] == 3:
            begun.set()
        return list(items)

    with WindowFeed(range(6), prepare, at_most=3, size=lambda item: 0, total=1) as feed:
        first = next(iter(feed))
        feed.advance(2)
        assert not begun.is_set()  # Not complete yet.
        feed.advance(2)
        assert begun.wait(timeout=60)
    assert first == [0, 1, 2]
    assert threading.current_thread() not in threads


def test_at_most_one_window_is_pulled_ahead() -> None:
    pulled = []

    def count() -> Iterator[int]:
        for n in range(100):
            pulled.append(n)
            yield n

    with feed_of(count()) as feed:
        for _ in range(5):
            feed.advance()
        assert pulled == [0, 1, 2]
        next(iter(feed))
        for _ in range(5):
            feed.advance()
    assert pulled == [0, 1, 2, 3, 4, 5]


def test_an_error_of_the_source_is_raised_after_the_windows_before_it() -> None:
    def broken() -> Iterator[int]:
        yield from range(4)
        raise ValueError("row 5")

    with feed_of(broken()) as feed:
        windows = iter(feed)
        assert next(windows) == [0, 1, 2]
        feed.advance()
        with pytest.raises(ValueError, match="row 5"):
            next(windows)


def test_an_error_of_the_preparation_is_raised_where_its_window_is_used() -> None:
    def prepare(items: Sequence[int]) -> list[int]:
        if 4 in items:
            raise ValueError("window 2")
        return list(items)

    with WindowFeed(range(9), prepare, at_most=3, size=lambda item: 0, total=1) as feed:
        windows = iter(feed)
        assert next(windows) == [0, 1, 2]
        feed.advance()
        with pytest.raises(ValueError, match="window 2"):
            next(windows)
    assert not [one for one in threading.enumerate() if one.name.startswith("prepare")]
