"""The items of a load as a run takes them: how many, what to know of them, and others for warm-up calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
            f"{len(self._off):,} prompts could not be made with exactly the tokens asked for; "
            f"they are off by {least:+d} to {most:+d} tokens",
        )
