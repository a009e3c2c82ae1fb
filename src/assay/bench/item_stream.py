"""The items of a load: their number, notes about them, and extra items for the warm-up."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, NamedTuple, Protocol

import msgspec

from assay.bench.items import LoadItem


class WarmUp(NamedTuple):
    """Items for warm-up calls."""

    items: Sequence[LoadItem]
    are_measured: bool
    """Whether the run sends them as well: the server may have cached them."""


class ItemSource(Protocol):
    """Where items come from."""

    def __iter__(self) -> Iterator[LoadItem]:
        """Yield the items in sending order."""

    def iter_forever(self) -> Iterator[LoadItem]:
        """Yield items without end: new ones if they can be generated, else the same again."""

    def warmup(self, n: int) -> WarmUp:
        """Return n items for warm-up calls."""

    def list_notes(self, n_sent: int) -> Sequence[str]:
        """Return notes about the items generated so far, of which `n_sent` were sent."""


class Items:
    """The items of a load, generated during iteration; can be iterated repeatedly."""

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
        """Notes to show before they are sent."""
        self.describes: dict[str, Any] = {**describes, "n": n}
        """Where they come from and how they were generated, for bench.json."""
        self._load = load
        self._output = output
        """Returns the maximum response length by position; None: the items have their own."""
        self._remarks = remarks

    def __iter__(self) -> Iterator[LoadItem]:
        return (self._apply_output_length(item, place) for place, item in enumerate(self._load))

    def iter_forever(self) -> Iterator[LoadItem]:
        """Yield items without end, for long loads and repeated trials: generated items are always
        new, others are repeated.
        """
        more = self._load.iter_forever()
        return (self._apply_output_length(item, place % self.n) for place, item in enumerate(more))

    def warmup(self, n: int) -> WarmUp:
        """Return items for warm-up calls that the run does not send, if there are any."""
        found = self._load.warmup(n)
        return found._replace(
            items=[self._apply_output_length(item, at % self.n) for at, item in enumerate(found.items)]
        )

    def _apply_output_length(self, item: LoadItem, place: int) -> LoadItem:
        if self._output is None:
            return item
        return msgspec.structs.replace(item, max_tokens=self._output(place))

    def list_notes(self, n_sent: int) -> tuple[str, ...]:
        """Return notes about the items generated so far, of which `n_sent` were sent."""
        return (*self._remarks(), *self._load.list_notes(n_sent))


class InexactPrompts:
    """Counts prompts that do not have exactly the requested number of tokens."""

    def __init__(self) -> None:
        self._off: dict[str, int] = {}

    def check_item(self, item: LoadItem, n_wanted: int | None) -> LoadItem:
        """Return the item; count it if its number of tokens is known and differs from the requested one."""
        if n_wanted is not None and item.n_prompt_tokens not in (None, n_wanted):
            self._off[item.id] = (item.n_prompt_tokens or 0) - n_wanted
        return item

    def list_notes(self) -> Sequence[str]:
        """Return a note with their number and the largest differences."""
        if not self._off:
            return ()
        least, most = min(self._off.values()), max(self._off.values())
        return (
            f"{len(self._off):,} prompts do not have exactly the requested number of tokens; "
            f"they are off by {least:+d} to {most:+d} tokens",
        )


_TRACE_KIND = "trace"


def merge_items(parts: Mapping[str, Items]) -> Items:
    """Return the items of all parts, one part after the other; traces are merged by time.

    The id of an item starts with the name of its part and a slash.
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
    """Return the part of an item of a merged load, and its id in that part."""
    name = max((name for name in names if item.startswith(f"{name}/")), key=len)
    return name, item.removeprefix(f"{name}/")


class _MergedSource:
    """The source of merged items."""

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

    def list_notes(self, n_sent: int) -> Sequence[str]:
        """Return the notes of each part; an incomplete last round sent the first parts."""
        rounds, rest = divmod(n_sent, sum(items.n for items in self._parts.values()))
        notes = []
        for name, items in self._parts.items():
            n_of_rest = min(rest, items.n)
            rest -= n_of_rest
            notes += [f"{name}: {note}" for note in items.list_notes(rounds * items.n + n_of_rest)]
        return notes


def _prefix_ids(name: str, items: Items | Iterator[LoadItem] | Sequence[LoadItem]) -> Iterator[LoadItem]:
    return (msgspec.structs.replace(item, id=f"{name}/{item.id}") for item in items)
