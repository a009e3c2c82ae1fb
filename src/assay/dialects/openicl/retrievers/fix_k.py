"""The same examples for all rows, named by the config."""

from __future__ import annotations

import msgspec

from assay.core.errors import listing
from assay.dialects.openicl.retrievers.corpus import Corpus
from assay.dialects.openicl.retrievers.retriever import Count, PickedRows, Retriever, pick_others


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
