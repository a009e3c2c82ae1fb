from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.backends.hf.batching import Budget, RunningBatch


class Item:
    def __init__(self, length: int) -> None:
        self.length = length


def batch_of(items: list[Item], budget: Budget, factor: int = 1) -> RunningBatch[Item]:
    return RunningBatch(budget, items, lambda item: item.length, factor=factor)


@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    tokens=st.integers(1, 200),
    max_rows=st.none() | st.integers(1, 9),
    data=st.data(),
)
def test_items_come_and_go_within_the_budget(
    lengths: list[int], tokens: int, max_rows: int | None, data: st.DataObject
) -> None:
    items = [Item(length) for length in lengths]
    batch = batch_of(items, Budget(tokens, max_rows), factor=2)
    seen: list[Item] = []
    while batch.running or batch.waiting:
        ran = list(batch.running)
        fresh = batch.admit()
        assert batch.running == [*ran, *fresh]
        seen += fresh
        n, longest = len(batch.running), max(item.length for item in batch.running)
        assert n == 1 or n * longest <= 2 * tokens
        assert max_rows is None or n <= max_rows
        leaving = data.draw(st.lists(st.sampled_from(batch.running), min_size=1, unique=True))
        batch.dismiss(leaving)
    assert sorted(map(id, seen)) == sorted(map(id, items))
    assert [item.length for item in seen] == sorted(lengths, reverse=True)


def test_items_join_in_groups_of_a_quarter() -> None:
    batch = batch_of([Item(1) for _ in range(20)], Budget(100, 8))
    assert len(batch.admit()) == 8
    batch.dismiss(batch.running[:1])
    assert batch.admit() == []
    batch.dismiss(batch.running[2:3])
    assert len(batch.admit()) == 2
    batch.dismiss(list(batch.running))
    assert len(batch.admit()) == 8
    batch.dismiss(batch.running[:1])
    assert batch.admit() == []
    batch.dismiss(batch.running[:1])
    assert len(batch.admit()) == 2  # Nobody waits any more.
    assert not batch.waiting


def test_the_last_ones_join_as_soon_as_they_fit() -> None:
    batch = batch_of([Item(1) for _ in range(9)], Budget(100, 8))
    batch.admit()
    batch.dismiss(batch.running[:1])
    assert len(batch.admit()) == 1


def test_a_longer_item_that_leaves_makes_room_for_several() -> None:
    batch = batch_of([Item(10), Item(10), *(Item(2) for _ in range(9))], Budget(20))
    assert [item.length for item in batch.admit()] == [10, 10]
    batch.dismiss(batch.running[:1])
    assert [item.length for item in batch.admit()] == [2]  # Beside an item of 10, two fit.
    batch.dismiss(batch.running[:1])
    assert len(batch.admit()) == 8  # Without it, nine more; one is left of those that were there.


def test_memory_that_runs_out_halves_what_ran_and_gives_up_what_ran_alone() -> None:
    budget = Budget(100)
    items = [Item(9), *(Item(1) for _ in range(5))]
    batch = batch_of(items, budget)
    assert len(batch.admit()) == 6
    assert batch.shrink() == []
    assert (budget.tokens, batch.running, list(batch.waiting)) == (50, [], items)
    assert batch.admit() == items[:3]
    batch.dismiss(items[1:2])
    assert batch.shrink() == []
    assert batch.admit() == items[:1]
    assert batch.shrink() == items[:1]
    assert list(batch.waiting) == items[2:]
    assert batch.admit() == items[2:]  # What did not fit is gone, and with it the limit it had brought.


def test_nothing_is_tried_for_ever() -> None:
    batch = batch_of([Item(3), Item(2)], Budget(100))
    assert len(batch.shrink()) == 2
    assert not batch.waiting
