"""Whether the rows of a benchmark are at hand, judged by names and paths without reading them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from assay.app.row_counts import RowCounts
from assay.core.benchmark import Benchmark, DataNeed, DataState
from assay.core.errors import AuthorError
from assay.dialects.openicl.authored.data_paths import DataPaths
from assay.sources.hub import LocalHub


class DataFinder:
    """Looks for datasets in the data root, the originals' data folders, and the hub's cache."""

    def __init__(self, data_root: str | None) -> None:
        root = None if data_root is None else Path(data_root)
        self._hub = None if root is None else LocalHub(root)
        self._paths = DataPaths([] if root is None else [root])
        self._known: dict[DataNeed, DataState] = {}
        self._counts = RowCounts()
        self._counted: dict[tuple[DataNeed, str], int | None] = {}

    def find_state(self, benchmark: Benchmark, members: Mapping[str, Benchmark]) -> DataState:
        """Return whether all datasets of a benchmark, or of the members of a group, are at hand."""
        return _combine(self._find_need(need) for need in _list_needs(benchmark, members, set()))

    def count_rows(self, benchmark: Benchmark) -> int | None:
        """Return the number of rows in the evaluated split of a benchmark; None if that is not known."""
        counts = []
        for need in benchmark.data:
            key = (need, benchmark.split)
            if key not in self._counted:
                self._counted[key] = self._count_need(*key)
            counts.append(self._counted[key])
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None

    def store_counts(self) -> None:
        """Store the counts for the next list."""
        self._counts.store()

    def _count_need(self, need: DataNeed, split: str) -> int | None:
        for hub in self._local_hubs:
            for name in dict.fromkeys((need.name, need.on_hub)):
                if not name or not hub.has_dataset(name, need.config or None):
                    continue
                try:
                    files = hub.files(name, config=need.config or None, split=split or None)
                except AuthorError:
                    return None  # Which files are meant is for the run to decide.
                counts = [self._counts.count(file) for file in files]
                return None if None in counts else sum(filter(None, counts))
        return None

    @cached_property
    def _local_hubs(self) -> list[LocalHub]:
        """The data root and the hub's cache."""
        from assay.hub.client import cache_folder

        hubs = [] if self._hub is None else [self._hub]
        with suppress(ModuleNotFoundError, OSError):
            hubs.append(LocalHub(cache_folder()))
        return hubs

    def _find_need(self, need: DataNeed) -> DataState:
        if need not in self._known:
            self._known[need] = self._look_up(need)
        return self._known[need]

    def _look_up(self, need: DataNeed) -> DataState:
        names = [name for name in dict.fromkeys((need.name, need.on_hub)) if name]
        if self._hub is not None and any(self._hub.has_dataset(name, need.config or None) for name in names):
            return DataState.HERE
        found = (self._paths.find(path) for path in (need.name, *need.paths))
        if any(path is not None and path.exists() for path in found):
            return DataState.HERE
        if not need.on_hub:
            return DataState.MISSING
        is_cached = need.on_hub.casefold() in self._repositories_in_cache
        return DataState.HERE if is_cached else DataState.HUB

    @cached_property
    def _repositories_in_cache(self) -> frozenset[str]:
        """The datasets in the hub's cache."""
        from assay.hub.client import cache_folder

        try:
            folders = list(cache_folder().glob("datasets--*"))
        except (ModuleNotFoundError, OSError):
            return frozenset()
        return frozenset(
            folder.name.removeprefix("datasets--").replace("--", "/").casefold() for folder in folders
        )


def _list_needs(benchmark: Benchmark, members: Mapping[str, Benchmark], seen: set[str]) -> Iterable[DataNeed]:
    yield from benchmark.data
    for name in benchmark.members:
        if name not in seen and name in members:
            seen.add(name)
            yield from _list_needs(members[name], members, seen)


def _combine(states: Iterable[DataState]) -> DataState:
    """Return the state of several datasets: that of the one that is hardest to get."""
    found = set(states)
    worst = (DataState.MISSING, DataState.HUB, DataState.HERE)
    return next((state for state in worst if state in found), DataState.UNKNOWN)
