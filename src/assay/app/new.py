"""A dataset to start from: the files that a dialect keeps as its starter, under a name of the person's own.

A dialect's starter is the folder `starter` in its package. `@name@` and `@Class@` in its files, and in their
names, become the dataset's; a last suffix `.txt` goes, which keeps Python that is no part of Assay from being
taken for such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from assay.core.errors import Problem, UsageError, listing, nearest

_DRAFT = ".txt"
_NAME = "@name@"


class Starter(NamedTuple):
    """A dialect's starter: where it lies, and what a person does with it."""

    package: str
    """The package that holds its folder."""
    dataset: str
    """What `assay run` is given, in the folder that was made."""
    to_change: str
    """What makes the dataset a person's own; `@name@` is the folder."""
    needs: str | None = None
    """A package without which it cannot be evaluated."""


STARTERS = {
    "llmbox": Starter(
        "assay.dialects.llmbox",
        "@name@.py",
        "put your rows into @name@/data and change the class to their columns",
    ),
    "ultraeval": Starter(
        "assay.dialects.ultraeval",
        "",
        "put your rows into @name@/raw, change make_dataset.py to their columns, `assay prepare @name@`, and "
        "write the prompts in the transforms",
    ),
    "leap": Starter(
        "assay.dialects.leap",
        "@name@.py",
        "put your rows below @name@/data and change the class to their columns",
        needs="datasets",
    ),
}
"""By dialect."""


class Written(NamedTuple):
    """A dataset that was written."""

    dataset: Path
    """What to run."""
    files: list[Path]
    to_change: str
    """What makes it a person's own."""
    lacks: str | None
    """A package that has to be installed first."""


def write_starter(name: str, dialect: str) -> Written:
    """Write a working dataset into a new folder."""
    if dialect not in STARTERS:
        what = f"there is no starter like {dialect!r}{nearest(dialect, STARTERS)}"
        raise UsageError(Problem("USAGE-008", what, f"use one of {listing(STARTERS)}"))
    folder = Path(name)
    if re.fullmatch(r"[a-z][a-z0-9_]*", folder.name) is None:
        what = f"{folder.name!r} cannot be the name of a dataset"
        fix = "use small letters, digits and _, beginning with a letter: my_dataset"
        raise UsageError(Problem("USAGE-008", what, fix))
    if folder.exists():
        what = f"{name} is there already, and nothing is written over"
        raise UsageError(Problem("USAGE-008", what, "choose another name, or move it away"))
    written = []
    for place, text in _starter(dialect, folder.name):
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    starter = STARTERS[dialect]
    return Written(
        folder / starter.dataset.replace(_NAME, folder.name),
        sorted(written),
        starter.to_change.replace(_NAME, name),
        starter.needs if starter.needs is not None and find_spec(starter.needs) is None else None,
    )


def _starter(dialect: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file of a starter."""
    words = {_NAME: name, "@Class@": "".join(word.capitalize() for word in name.split("_"))}
    for place, file in _files_in(files(STARTERS[dialect].package) / "starter", PurePosixPath()):
        filled = [str(place).removesuffix(_DRAFT), file.read_text(encoding="utf-8")]
        for mark, word in words.items():
            filled = [text.replace(mark, word) for text in filled]
        yield filled[0], filled[1]


def _files_in(folder: Traversable, place: PurePosixPath) -> Iterator[tuple[PurePosixPath, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files_in(entry, place / entry.name)
        else:
            yield place / entry.name, entry
