"""The base classes of retrievers, and those without vectors: none, fixed and sliding window."""

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
"""For each test row, the train rows that are its examples, in order."""

_Self = TypeVar("_Self", bound="CountingRetriever")


class Retriever(msgspec.Struct, frozen=True, kw_only=True):
    """Chooses examples. Its fields are the config arguments, with the originals' names."""

    ice_separator: str = "\n"
    """The separator between examples in a text prompt."""
    ice_eos_token: str = "\n"
    """The text after the last example."""

    needs_embedder: ClassVar[bool] = False
    """Whether the corpus must have an `embedder`."""
    needs_model: ClassVar[bool] = False
    """Whether the corpus must have `losses`, which the model computes before the run."""
    original_runs_short: ClassVar[bool] = False
    """Whether the original continues if the train split has fewer rows than requested."""

    @property
    def count(self) -> int:
        """The maximum number of examples per row."""
        raise NotImplementedError

    @property
    def encoder(self) -> str | None:
        """The sentence encoder of the config, or None."""
        return None

    def pick(self, corpus: Corpus, *, is_faithful: bool = False) -> PickedRows:
        """Return the examples of every test row.

        The examples of a row depend only on the train split, the row, the seed and the task. They never
        include the row itself. With `is_faithful`, they are what the original picks, row after row.
        """
        self.check(corpus, is_faithful=is_faithful)
        if not self.count or not corpus.test:
            return [()] * len(corpus.test)
        return self._pick_originals(corpus) if is_faithful else self._pick_rows(corpus)

    def check(self, corpus: Corpus, *, is_faithful: bool = False) -> None:
        """Raise if the dataset has too few examples. Needs neither vectors nor a model."""
        n = len(corpus.train)
        if n < (min(self.count, 1) if is_faithful and self.original_runs_short else self.count):
            raise corpus.lacks(
                f"{type(self).__name__} needs {self.count} examples, but the split "
                f"{corpus.train_split!r} has {n}",
                "request fewer, or name another train_split",
            )

    def with_count(self, n: int) -> Retriever:
        """Return a retriever for n examples per row."""
        # Without examples there are no separators.
        return ZeroRetriever() if n == 0 else self._with_count(n)

    def _with_count(self, n: int) -> Retriever:
        raise NotImplementedError

    def _pick_rows(self, corpus: Corpus) -> PickedRows:
        """Return the examples of every test row; the train split has enough rows."""
        raise NotImplementedError

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        """Return what the original picks."""
        return self._pick_rows(corpus)

    def _build_count_error(self, n: int, fix: str) -> UsageError:
        what = f"--shots {n}: {type(self).__name__} has exactly {self.count} examples"
        return UsageError(Problem("OPENICL-030", what, fix))


class ZeroRetriever(Retriever, frozen=True, kw_only=True):
    """No examples."""

    ice_separator: str = ""
    ice_eos_token: str = ""

    @property
    def count(self) -> int:
        """Zero."""
        return 0

    def _with_count(self, n: int) -> Retriever:
        raise self._build_count_error(n, "omit --shots, or write another retriever and an ice_template")


class CountingRetriever(Retriever, frozen=True, kw_only=True):
    """A retriever with a configurable number of examples."""

    ice_num: Count = 1

    @property
    def count(self) -> int:
        """`ice_num`."""
        return self.ice_num

    def _with_count(self: _Self, n: int) -> _Self:
        return msgspec.structs.replace(self, ice_num=n)


def pick_others(corpus: Corpus, row: int, preferred: Iterable[int], n: int) -> tuple[int, ...]:
    """Return the first n preferred train rows that do not equal the test row."""
    own = corpus.find_equal_rows(row)
    return tuple(islice((at for at in preferred if at not in own), n))


class FixKRetriever(Retriever, frozen=True, kw_only=True):
    """Fixed rows of the train split, by index."""

    fix_id_list: tuple[int, ...]
    ice_num: Count = 1
    """No effect: the whole list is used."""

    @property
    def count(self) -> int:
        """The length of the list."""
        return len(self.fix_id_list)

    def check(self, corpus: Corpus, *, is_faithful: bool = False) -> None:
        """Raise if an index is out of range."""
        n = len(corpus.train)
        if outside := [str(at) for at in self.fix_id_list if not 0 <= at < n]:
            has = f"rows 0 to {n - 1}" if n else "no rows"
            raise corpus.lacks(
                f"fix_id_list contains {listing(outside)}, but the split {corpus.train_split!r} has {has}",
                "name existing rows, or another train_split",
            )

    def _with_count(self, n: int) -> Retriever:
        if n > self.count:
            raise self._build_count_error(n, f"request {self.count} or fewer, or add rows to fix_id_list")
        return msgspec.structs.replace(self, fix_id_list=self.fix_id_list[:n])

    def _pick_rows(self, corpus: Corpus) -> PickedRows:
        return [pick_others(corpus, row, self.fix_id_list, self.count) for row in range(len(corpus.test))]

    def _pick_originals(self, corpus: Corpus) -> PickedRows:
        return [self.fix_id_list] * len(corpus.test)


class SlidingWindowRetriever(Retriever, frozen=True, kw_only=True):
    """The k train rows before a row's own position; the last rows precede the first."""

    k: AtLeastOne
    ice_num: Count = 1
    """No effect: `k` is used."""

    @property
    def count(self) -> int:
        """`k`."""
        return self.k

    def _with_count(self, n: int) -> Retriever:
        return msgspec.structs.replace(self, k=n)

    def _pick_rows(self, corpus: Corpus) -> PickedRows:
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
            # The last train rows precede the first one; nothing follows the last one.
            wrapped = tuple(n + at if at < 0 else at for at in window)
            if min(wrapped) < 0 or max(wrapped) >= n:
                raise corpus.lacks(
                    f"row {place} of the test split needs the train rows {window[0]} to {window[-1]}, "
                    f"but the split {corpus.train_split!r} has {n}",
                    "omit --fidelity faithful, or use splits of equal length",
                )
            picked.append(wrapped)
        return picked
