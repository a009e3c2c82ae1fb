"""The items of a load as a run takes them: how many, what to know of them, and others for warm-up calls."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, NamedTuple, Protocol

import msgspec

from assay.bench.items import LoadItem


class WarmUp(NamedTuple):
    """Items for calls before the run."""

    items: Sequence[LoadItem]
    are_measured: bool
    """Whether they are items of the run as well: the server may have kept what it made of them."""


class ItemSource(Protocol):
    """Where items come from."""

    def __iter__(self) -> Iterator[LoadItem]:
        """Yield the items in the order in which they are sent."""

    def iter_forever(self) -> Iterator[LoadItem]:
        """Yield the same and more: other ones where they can be made, else the same again."""

    def warmup(self, n: int) -> WarmUp:
        """Return so many items for calls before the run."""

    def came_up(self, n_sent: int) -> Sequence[str]:
        """Return what showed itself while the items were walked, so many of which were sent."""


class Items:
    """The items of a load, made as they are walked; walked as often as needed."""

    def __init__(
        self,
        load: ItemSource,
        n: int,
        describes: Mapping[str, Any],
        notes: Sequence[str] = (),
        output: Callable[[int], int] | None = None,
        remarks: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.n = n
        self.notes = tuple(notes)
        """What a person should know about them before they are sent."""
        self.describes: dict[str, Any] = {**describes, "n": n}
        """Where they came from and how they were made, for summary.json."""
        self._load = load
        self._output = output
        """Gives the longest answer by an item's place; None: as the items say."""
        self._remarks = remarks

    def __iter__(self) -> Iterator[LoadItem]:
        return (self._apply_output_length(item, place) for place, item in enumerate(self._load))

    def iter_forever(self) -> Iterator[LoadItem]:
        """Yield the same and more, for a load that lasts or is tried several times: made-up items are always
        new, others come again.
        """
        more = self._load.iter_forever()
        return (self._apply_output_length(item, place % self.n) for place, item in enumerate(more))

    def warmup(self, n: int) -> WarmUp:
        """Return items for calls before the run: others than the run's, where there are others."""
        found = self._load.warmup(n)
        return found._replace(
            items=[self._apply_output_length(item, at % self.n) for at, item in enumerate(found.items)]
        )

    def _apply_output_length(self, item: LoadItem, place: int) -> LoadItem:
        if self._output is None:
            return item
        return msgspec.structs.replace(item, max_tokens=self._output(place))

    def came_up(self, n_sent: int) -> tuple[str, ...]:
        """Return what showed itself while the items were walked, so many of which were sent."""
        return (*self._remarks(), *self._load.came_up(n_sent))


class InexactPrompts:
    """Prompts that could not be made with exactly the tokens asked for, counted as they are made."""

    def __init__(self) -> None:
        self._off: dict[str, int] = {}

    def check_item(self, item: LoadItem, n_wanted: int | None) -> LoadItem:
        """Return the item; note it if its tokens are known and others than wanted."""
        if n_wanted is not None and item.n_prompt_tokens not in (None, n_wanted):
            self._off[item.id] = (item.n_prompt_tokens or 0) - n_wanted
        return item

    def said(self) -> Sequence[str]:
        """Return how many there were, and by how much they are off."""
        if not self._off:
            return ()
        least, most = min(self._off.values()), max(self._off.values())
        return (
            f"{len(self._off):,} prompts do not have exactly the requested number of tokens; "
            f"they are off by {least:+d} to {most:+d} tokens",
        )


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
