"""As many items as a load needs: the first ones of a source, or all of them repeatedly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice

import msgspec

from assay.bench.item_stream import WarmUp
from assay.bench.items import LoadItem


class Rounds:
    """Items in rounds: from the second round on, the id includes the round (`17~2`)."""

    def __init__(self, once: Callable[[], Iterable[LoadItem]], n: int, *, period_s: float = 0.0) -> None:
        self._iter_round = once
        self._n = n
        self._period_s = period_s
        """How much later an item with a time is due in each further round."""
        self._n_different = 0
        """Items of the longest round so far."""

    def __iter__(self) -> Iterator[LoadItem]:
        return islice(self.iter_forever(), self._n)

    def iter_forever(self) -> Iterator[LoadItem]:
        """Yield the first n items, round after round."""
        for round_ in count():
            for place, item in enumerate(islice(self._iter_round(), self._n), 1):
                self._n_different = max(self._n_different, place)
                yield item if not round_ else self._again(item, round_)

    def warmup(self, n: int) -> WarmUp:
        """Return n items that the load does not send; if there are none, its own first ones."""
        others = list(islice(self._iter_round(), self._n, self._n + n))
        found = others or list(islice(self._iter_round(), n))
        return WarmUp([found[at % len(found)] for at in range(n)], are_measured=not others)

    def list_notes(self, n_sent: int) -> Sequence[str]:
        """Return a note if items were repeated."""
        if n_sent <= self._n_different:
            return ()
        return (
            f"{self._n_different:,} different prompts were sent {n_sent:,} times in total; "
            "a server with prefix caching answers repeated prompts faster",
        )

    def _again(self, item: LoadItem, round_: int) -> LoadItem:
        at_s = None if item.at_s is None else item.at_s + round_ * self._period_s
        return msgspec.structs.replace(item, id=f"{item.id}~{round_ + 1}", at_s=at_s)
