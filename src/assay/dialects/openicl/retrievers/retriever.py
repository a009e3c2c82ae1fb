"""What every retriever is: the arguments that a config gives it, and a way to pick examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated, ClassVar, TypeAlias, TypeVar

import msgspec

from assay.core.errors import Problem, UsageError, listing
from assay.dialects.openicl.retrievers.corpus import Corpus

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
AtLeastOne: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
PickedRows: TypeAlias = Sequence[tuple[int, ...]]
"""For each test row the train rows that it is shown, in order."""

_Self = TypeVar("_Self", bound="CountingRetriever")


class Retriever(msgspec.Struct, frozen=True, kw_only=True):
    """Picks examples. Its fields are the arguments of a config, by the originals' names."""

    ice_separator: str = "\n"
    """Stands between two examples of a text prompt."""
    ice_eos_token: str = "\n"
    """Stands behind the last of them."""

    needs_embedder: ClassVar[bool] = False
    """Whether the corpus must have an `embedder`."""
    needs_model: ClassVar[bool] = False
    """Whether the corpus must have `losses`, so that the model is asked before the samples."""
    original_runs_short: ClassVar[bool] = False
    """Whether the original goes on where the train split has fewer rows than are asked for."""

    @property
    def count(self) -> int:
        """How many examples a row is shown, as far as there are so many."""
        raise NotImplementedError

    @property
    def encoder(self) -> str | None:
        """The sentence encoder that the config names; None where it leaves that open or needs none."""
        return None

    def pick(self, corpus: Corpus, *, is_faithful: bool = False) -> PickedRows:
        """Return the examples of every test row.

        What is picked for a row depends on the train split, the row, the seed and the task alone. It is never
        the row itself, unless `is_faithful`: then it is what the original picks, row after row.
        """
        self.check(corpus, is_faithful=is_faithful)
        if not self.count or not corpus.test:
            return [()] * len(corpus.test)
        return self._pick_originals(corpus) if is_faithful else self._picked(corpus)

    def check(self, corpus: Corpus, *, is_faithful: bool = False) -> None:
        """Raise if the dataset cannot give what is asked for; needs neither vectors nor a model."""
        n = len(corpus.train)
        if n < (min(self.count, 1) if is_faithful and self.original_runs_short else self.count):
            raise corpus.lacks(
                f"{type(self).__name__} is asked for {self.count} examples, and the split "
                f"{corpus.train_split!r} has {n}",
                "ask for fewer, or name another train_split",
            )

    def with_count(self, n: int) -> Retriever:
        """Return a retriever that shows n examples to a row instead."""
        # No examples are also no separators.
        return ZeroRetriever() if n == 0 else self._counting(n)

    def _counting(self, n: int) -> Retriever:
        raise NotImplementedError

    def _picked(self, corpus: Corpus) -> PickedRows:
        """Return the examples of every test row; the train split has at least as many as are asked for."""
        raise NotImplementedError

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        """Return what the original picks."""
        return self._picked(corpus)

    def _build_count_error(self, n: int, fix: str) -> UsageError:
        what = f"--shots {n}: {type(self).__name__} shows {self.count} examples and knows no others"
        return UsageError(Problem("OPENICL-030", what, fix))


class ZeroRetriever(Retriever, frozen=True, kw_only=True):
    """No examples."""

    ice_separator: str = ""
    ice_eos_token: str = ""

    @property
    def count(self) -> int:
        """None."""
        return 0

    def _counting(self, n: int) -> Retriever:
        raise self._build_count_error(n, "leave --shots away, or write another retriever and an ice_template")


class CountingRetriever(Retriever, frozen=True, kw_only=True):
    """A retriever that is told how many examples to pick."""

    ice_num: Count = 1

    @property
    def count(self) -> int:
        """`ice_num`."""
        return self.ice_num

    def _counting(self: _Self, n: int) -> _Self:
        return msgspec.structs.replace(self, ice_num=n)


def pick_others(corpus: Corpus, row: int, preferred: Iterable[int], n: int) -> tuple[int, ...]:
    """Return the first n of some train rows that are not the test row itself."""
    own = corpus.own(row)
    return tuple(islice((at for at in preferred if at not in own), n))


class FixKRetriever(Retriever, frozen=True, kw_only=True):
    """Rows of the train split by their indexes."""

    fix_id_list: tuple[int, ...]
    ice_num: Count = 1
    """Without effect: all of the list is shown."""

    @property
    def count(self) -> int:
        """The length of the list."""
        return len(self.fix_id_list)

    def check(self, corpus: Corpus, *, is_faithful: bool = False) -> None:
        """Raise if an index is not one of a row."""
        n = len(corpus.train)
        if outside := [str(at) for at in self.fix_id_list if not 0 <= at < n]:
            has = f"rows 0 to {n - 1}" if n else "no rows"
            raise corpus.lacks(
                f"fix_id_list names {listing(outside)}, and the split {corpus.train_split!r} has {has}",
                "name rows that are there, or another train_split",
            )

    def _counting(self, n: int) -> Retriever:
        if n > self.count:
            raise self._build_count_error(n, f"ask for {self.count} or fewer, or write more into fix_id_list")
        return msgspec.structs.replace(self, fix_id_list=self.fix_id_list[:n])

    def _picked(self, corpus: Corpus) -> PickedRows:
        return [pick_others(corpus, row, self.fix_id_list, self.count) for row in range(len(corpus.test))]

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        return [self.fix_id_list] * len(corpus.test)


class SlidingWindowRetriever(Retriever, frozen=True, kw_only=True):
    """The k train rows before a row's own place; before the first comes the last."""

    k: AtLeastOne
    ice_num: Count = 1
    """Without effect: `k` are shown."""

    @property
    def count(self) -> int:
        """`k`."""
        return self.k

    def _counting(self, n: int) -> Retriever:
        return msgspec.structs.replace(self, k=n)

    def _picked(self, corpus: Corpus) -> PickedRows:
        n = len(corpus.train)
        picked = []
        for row, place in enumerate(corpus.places):
            back = ((place - step) % n for step in range(1, n + 1))
            picked.append(pick_others(corpus, row, back, self.k)[::-1])
        return picked

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        n = len(corpus.train)
        picked = []
        for place in corpus.places:
            window = tuple(range(place - self.k, place))
            # Before the first row come the last ones of the train split; behind its end comes nothing.
            wrapped = tuple(n + at if at < 0 else at for at in window)
            if min(wrapped) < 0 or max(wrapped) >= n:
                raise corpus.lacks(
                    f"row {place} of the test split is shown the train rows {window[0]} to {window[-1]}, "
                    f"and the split {corpus.train_split!r} has {n}",
                    "leave --fidelity faithful away, or use splits of one length",
                )
            picked.append(wrapped)
        return picked
