"""Serving benchmarks for a server that shows them: their list and their pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.app.bench_page import bench_folders, build_bench_head, build_page_data, read_bench
from assay.bench.page_data import PageData
from assay.core.errors import StoreError


class ListedBench(msgspec.Struct, frozen=True):
    """A serving benchmark as a list shows it."""

    name: str
    """The name of its folder."""
    model: str = ""
    load: str = ""
    started: str = ""
    n_calls: int = 0
    n_failed: int = 0
    fault: str | None = None
    """Why it cannot be read, or that it is not finished."""


class ViewedBenches:
    """The serving benchmarks in some folders, by name."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._roots = tuple(folders)

    def list_benches(self) -> list[ListedBench]:
        """Return all benchmarks, latest first."""
        found = [_describe(name, folder) for name, folder in self._find_folders().items()]
        return sorted(found, key=lambda bench: bench.started, reverse=True)

    def read_page(self, name: str) -> PageData | None:
        """Return the data of a benchmark's page; None if there is no such benchmark."""
        folder = self._find_folders().get(name)
        return None if folder is None else build_page_data(read_bench(folder))

    def _find_folders(self) -> dict[str, Path]:
        """Return the folders by name, without links that lead out of a folder; the first of equal names."""
        found: dict[str, Path] = {}
        for root in self._roots:
            resolved = root.resolve()
            for folder in bench_folders(resolved):
                if folder.resolve().is_relative_to(resolved):
                    found.setdefault(folder.name, folder)
        return found


def _describe(name: str, folder: Path) -> ListedBench:
    try:
        bench = read_bench(folder)
    except StoreError as error:
        return ListedBench(name, fault=error.problems[0].what)
    head = build_bench_head(bench)
    return ListedBench(name, head.model, head.load, bench.manifest.started, head.n_calls, head.n_failed)
