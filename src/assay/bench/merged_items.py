"""Items of several datasets as those of one load."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice

import msgspec

from assay.bench.item_stream import Items, WarmUp
from assay.bench.items import LoadItem

_TRACE_KIND = "trace"


def merge_items(parts: Mapping[str, Items]) -> Items:
    """Return the items of all parts, one part after the other; traces together by their times.

    An item's id begins with the name of its part and a slash.
    """
    kinds = {str(items.describes.get("kind")) for items in parts.values()}
    described_by = {
        "source": ", ".join(parts),
        "kind": kinds.pop() if len(kinds) == 1 else "several",
        "parts": {name: items.describes for name, items in parts.items()},
    }
    notes = dict.fromkeys(note for items in parts.values() for note in items.notes)
    load = _MergedSource(parts, is_by_time=described_by["kind"] == _TRACE_KIND)
    return Items(load, sum(items.n for items in parts.values()), described_by, tuple(notes))


def split_item_id(item: str, names: Sequence[str]) -> tuple[str, str]:
    """Return which part an item of a joined load is of, and its id there."""
    name = max((name for name in names if item.startswith(f"{name}/")), key=len)
    return name, item.removeprefix(f"{name}/")


class _MergedSource:
    """The load behind joined items."""

    def __init__(self, parts: Mapping[str, Items], *, is_by_time: bool) -> None:
        self._parts = parts
        self._is_by_time = is_by_time

    def __iter__(self) -> Iterator[LoadItem]:
        every = [_prefix_ids(name, items) for name, items in self._parts.items()]
        if self._is_by_time:
            yield from heapq.merge(*every, key=lambda item: item.at_s or 0.0)
            return
        for items in every:
            yield from items

    def iter_forever(self) -> Iterator[LoadItem]:
        """Yield the items of all parts, round after round."""
        endless = [(_prefix_ids(name, items.iter_forever()), items.n) for name, items in self._parts.items()]
        for _ in count():
            for items, n in endless:
                yield from islice(items, n)

    def warmup(self, n: int) -> WarmUp:
        """Return items of the first part."""
        name, items = next(iter(self._parts.items()))
        found = items.warmup(n)
        return found._replace(items=list(_prefix_ids(name, found.items)))

    def came_up(self, n_sent: int) -> Sequence[str]:
        """Say what came up in each part; of a last round that was not whole, the first parts were sent."""
        rounds, rest = divmod(n_sent, sum(items.n for items in self._parts.values()))
        said = []
        for name, items in self._parts.items():
            n_of_rest = min(rest, items.n)
            rest -= n_of_rest
            said += [f"{name}: {one}" for one in items.came_up(rounds * items.n + n_of_rest)]
        return said


def _prefix_ids(name: str, items: Items | Iterator[LoadItem] | Sequence[LoadItem]) -> Iterator[LoadItem]:
    return (msgspec.structs.replace(item, id=f"{name}/{item.id}") for item in items)
