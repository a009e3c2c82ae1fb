"""The datasets of the folders that the owner named. Python is run only in the folders that allow it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from assay.app.dataset_list import ListedDataset, datasets_in, tables_in
from assay.app.run_names import slug
from assay.app.team.messages import Found, FoundDataset
from assay.app.team.settings import TeamSettings
from assay.core.errors import AssayError, Problem


def found(settings: TeamSettings) -> Found:
    """Return all datasets, each under a name of its own, and why some could not be read."""
    listed: dict[str, tuple[Path, ListedDataset]] = {}
    problems: list[Problem] = []
    for named in dict.fromkeys((*settings.allow_python, *settings.datasets)):
        folder = Path(named)
        try:
            inside = datasets_in(folder) if may_run(folder, settings) else tables_in(folder)
        except AssayError as error:
            problems += error.problems
            continue
        for one in inside:
            listed.setdefault(one.name, (folder, one))
    names = _names(list(listed.values()))
    return Found(
        tuple(
            FoundDataset(names[place], place, one.dialect, one.about, one.metrics, one.headline)
            for place, (_, one) in listed.items()
        ),
        tuple(problems),
    )


def may_run(folder: Path, settings: TeamSettings) -> bool:
    """Whether the owner allowed Python in a folder, or in one that it lies in; links do not count."""
    place = folder.resolve()
    return any(place.is_relative_to(Path(allowed).resolve()) for allowed in settings.allow_python)


def _names(listed: list[tuple[Path, ListedDataset]]) -> dict[str, str]:
    """Return a name for each place: its last word, or its whole path where that is another's too."""
    short = {one.name: _last_word(one.name) for _, one in listed}
    counts = Counter(short.values())
    return {
        one.name: short[one.name] if counts[short[one.name]] == 1 else _path_as_name(folder, one.name)
        for folder, one in listed
    }


def _last_word(place: str) -> str:
    """Return `klue_ynat` for `folder:klue_ynat`, `data` for `folder/data.csv.gz`."""
    _, colon, chosen = place.rpartition(":")
    if colon and "/" not in chosen:
        return slug(chosen)
    return slug(Path(place).name.partition(".")[0])


def _path_as_name(folder: Path, place: str) -> str:
    """Return the path under the folder's own, with dots for slashes."""
    return slug(str(Path(place).relative_to(folder.parent)).replace("/", ".").replace(":", "."))
