"""Find the datasets in the owner's folders. Python code runs only in folders that allow it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from assay.app.benchmarks import get_source
from assay.app.dataset_list import ListedDataset, list_folder_datasets, list_folder_tables
from assay.app.dialects import TABLE, detect_dialect
from assay.app.run_names import slug
from assay.app.team.messages import FolderDataset, FolderDatasets
from assay.app.team.settings import TeamSettings
from assay.core.errors import AssayError, AuthorError, Problem


def find_datasets(settings: TeamSettings) -> FolderDatasets:
    """Return all datasets, each with a unique name, and problems of unreadable folders."""
    listed: dict[str, tuple[Path, ListedDataset]] = {}
    problems: list[Problem] = []
    for named in dict.fromkeys((*settings.allow_python, *settings.datasets)):
        folder = Path(named)
        try:
            if (source := get_source(named)) is not None:
                listed[named] = (folder, ListedDataset(named, source.dialect))
                continue
            inside = (
                list_folder_datasets(folder)
                if _is_inside(folder, settings.allow_python)
                else list_folder_tables(folder)
            )
        except AssayError as error:
            problems += error.problems
            continue
        for one in inside:
            if not _is_inside(_extract_path(one.name), (settings.home, settings.runs_dir)):
                listed.setdefault(one.name, (folder, one))
    names = _names(list(listed.values()))
    return FolderDatasets(
        tuple(
            FolderDataset(names[place], place, one.dialect, one.about, one.metrics, one.headline)
            for place, (_, one) in listed.items()
        ),
        tuple(problems),
    )


def require_allowed(datasets: Iterable[str], allow_python: Sequence[str]) -> None:
    """Raise if a dataset is not a table and not in a folder whose Python code may run.

    Checked before every read: a file may have changed since it was registered, and so may the owner's
    settings.
    """
    for place in datasets:
        is_allowed = (
            place in allow_python
            if get_source(place) is not None
            else detect_dialect(place, None, {}) == TABLE or _is_inside(_extract_path(place), allow_python)
        )
        if not is_allowed:
            name = _extract_short_name(place)
            what = f"the dataset {name!r} is not a table, and Python code is not allowed in its folder"
            fix = "ask the owner to start the server with --allow-python FOLDER"
            raise AuthorError(Problem("TEAM-045", what, fix))


def _is_inside(path: Path, folders: Sequence[str]) -> bool:
    """Return whether a path is in one of some folders, after resolving links."""
    place = path.resolve()
    return any(place.is_relative_to(Path(folder).resolve()) for folder in folders)


def _extract_path(place: str) -> Path:
    """Return the path of `path`, `path:names` or `path::Class`."""
    while not Path(place).exists() and ":" in place:
        place = place.rpartition(":")[0].rstrip(":")
    return Path(place)


def _names(listed: list[tuple[Path, ListedDataset]]) -> dict[str, str]:
    """Return a name for each place: its last part, or its whole path if that is not unique."""
    short = {one.name: _extract_short_name(one.name) for _, one in listed}
    counts = Counter(short.values())
    return {
        one.name: short[one.name] if counts[short[one.name]] == 1 else _format_path_name(folder, one.name)
        for folder, one in listed
    }


def _extract_short_name(place: str) -> str:
    """Return `klue_ynat` for `folder:klue_ynat`, `data` for `folder/data.csv.gz`."""
    _, colon, chosen = place.rpartition(":")
    if colon and "/" not in chosen:
        return slug(chosen)
    return slug(Path(place).name.partition(".")[0])


def _format_path_name(folder: Path, place: str) -> str:
    """Return the path relative to the folder's parent, with dots for slashes."""
    return slug(str(Path(place).relative_to(folder.parent)).replace("/", ".").replace(":", "."))
