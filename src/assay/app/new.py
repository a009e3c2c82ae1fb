"""A dataset to start from: the files that a dialect keeps as its starter, under a name of the person's own.

A dialect's starter is the folder `starter` in its package. `@name@` and `@Class@` in its files, and in their
names, become the dataset's; a last suffix `.txt` goes, which keeps Python that is no part of Assay from being
taken for such. Where two systems write one language, further words between `@` are those of one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from assay.core.errors import Problem, UsageError, listing, suggest_name

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
    words: Mapping[str, str] = {}
    """What the system calls things, by the marks that stand for them."""
    keeps_readme: bool = False
    """Whether its README has a table of tasks, which `assay docs` keeps."""


def _build_config_starter(system: str, package: str, data: str) -> Starter:
    """Return the starter of a system whose datasets are configs."""
    folder = package.replace(".", "/")
    return Starter(
        "assay.dialects.openicl",
        "@name@_gen_0_shot_chat_prompt.py",
        f"put your rows into @name@/{data}, change the configs to their columns, and `assay docs @name@`",
        needs="datasets",
        words={
            "@System@": system,
            "@package@": package,
            "@data@": data,
            "@datasets@": f"{folder}/datasets",
            "@configs@": f"{folder}/configs/datasets",
        },
        keeps_readme=True,
    )


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
    "aisbench": _build_config_starter("AISBench", "ais_bench.benchmark", "ais_bench/datasets"),
    "opencompass": _build_config_starter("OpenCompass", "opencompass", "data"),
}
"""By dialect, or by the system whose way of writing one it is."""


class WrittenStarter(NamedTuple):
    """A dataset that was written."""

    dataset: Path
    """What to run."""
    files: list[Path]
    to_change: str
    """What makes it a person's own."""
    lacks: str | None
    """A package that has to be installed first."""
    keeps_readme: bool
    """Whether its README has a table of tasks, which `assay docs` keeps."""


def write_starter(name: str, dialect: str) -> WrittenStarter:
    """Write a working dataset into a new folder."""
    if dialect not in STARTERS:
        what = f"there is no starter like {dialect!r}{suggest_name(dialect, STARTERS)}"
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
    return WrittenStarter(
        folder / starter.dataset.replace(_NAME, folder.name),
        sorted(written),
        starter.to_change.replace(_NAME, name),
        starter.needs if starter.needs is not None and find_spec(starter.needs) is None else None,
        starter.keeps_readme,
    )


def _starter(dialect: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file of a starter."""
    # A system's own words first: they may hold the name.
    words = {
        **STARTERS[dialect].words,
        _NAME: name,
        "@Class@": "".join(word.capitalize() for word in name.split("_")),
    }
    for place, file in _walk_files(files(STARTERS[dialect].package) / "starter", PurePosixPath()):
        filled = [str(place).removesuffix(_DRAFT), file.read_text(encoding="utf-8")]
        for mark, word in words.items():
            filled = [text.replace(mark, word) for text in filled]
        yield filled[0], filled[1]


def _walk_files(folder: Traversable, place: PurePosixPath) -> Iterator[tuple[PurePosixPath, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk_files(entry, place / entry.name)
        else:
            yield place / entry.name, entry
