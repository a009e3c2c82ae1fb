"""Stored runs as a person names them: one run, or all runs in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from assay.core.errors import Problem, StoreError, listing, suggest_name
from assay.core.origin import Origin
from assay.core.run import RunManifest
from assay.core.score import Metric
from assay.results.read import StoredRun, list_readable_runs, list_run_folders
from assay.results.run_group import StoredGroup, find_group_folder
from assay.results.store import MANIFEST
from assay.results.subset_families import select_headline_metrics


class RunSummary(NamedTuple):
    """A run as a list shows it."""

    folder: Path
    manifest: RunManifest
    headlines: tuple[Metric, ...]
    """Its headline metrics; empty while the run is not complete."""


class StoredResults(NamedTuple):
    """The runs and benchmarks in a folder."""

    runs: tuple[RunSummary, ...]
    """Oldest first."""
    benches: tuple[Path, ...]
    """The folders of benchmarks, by name."""
    problems: tuple[Problem, ...]
    """The problems of unreadable runs."""


def list_results(root: Path) -> StoredResults:
    """Return the runs and benchmarks in a folder; a damaged run does not hide the others."""
    from assay.app.bench_page import bench_folders  # Evaluations find runs too, and need no benchmark.

    runs: list[RunSummary] = []
    stored_runs, problems = list_readable_runs(root)
    for stored in stored_runs:
        try:
            headlines = select_headline_metrics(stored.metrics(), stored.manifest)
        except StoreError as error:
            problems += error.problems
        else:
            runs.append(RunSummary(stored.path, stored.manifest, tuple(headlines)))
    return StoredResults(tuple(runs), tuple(bench_folders(root)), tuple(problems))


def find_run(name: str, root: Path) -> StoredRun:
    """Return a run by its folder, by its id under `root` or a prefix of it, or the latest as `last`."""
    if (Path(name) / MANIFEST).is_file():
        return StoredRun(Path(name))
    folders = list_run_folders(root)
    if name == "last" and folders:
        return StoredRun(folders[-1])
    matching = [folder for folder in folders if folder.name.startswith(name)]
    if len(matching) == 1:
        return StoredRun(matching[0])
    if (group := find_group_folder(name, root)) is not None:
        raise _build_group_error(group)
    if len(matching) > 1:
        what = f"several runs begin with {name!r}: {listing(folder.name for folder in matching)}"
    else:
        what = f"there is no run {name!r}{suggest_name(name, [folder.name for folder in folders])}"
    raise StoreError(
        Problem("STORE-005", what, "list runs with `assay ls`; `last` is the latest", Origin(str(root)))
    )


def _build_group_error(folder: Path) -> StoreError:
    """Return the error of a command that takes one run and was given a group."""
    runs = StoredGroup(folder).group.runs
    names = ", ".join(f"{one.run} ({one.title})" for one in runs)
    what = f"{folder.name!r} is a group of {len(runs)} runs, and one run is needed here"
    return StoreError(Problem("GROUP-007", what, f"name one of its runs: {names}", Origin(str(folder))))
