"""Create a dataset to start from: a dialect's starter files under a name of the person's choice.

A dialect's starter is the folder `starter` in its package. `@name@` and `@Class@` in its files and file names
become the dataset's. A last suffix `.txt` is removed; it keeps starter code from being treated as part of
Assay. If two systems share a dialect, further words between `@` are specific to the system.
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
    """A dialect's starter: where it is stored, and how to use it."""

    package: str
    """The package that contains its folder."""
    dataset: str
    """The dataset for `assay run`, in the new folder."""
    to_change: str
    """How to turn it into one's own dataset; `@name@` is the folder."""
    needs: str | None = None
    """A package that is required to evaluate it."""
    words: Mapping[str, str] = {}
    """The system's own words, by their placeholders."""
    keeps_readme: bool = False
    """Whether its README has a task table, which `assay docs` maintains."""


def _build_config_starter(system: str, package: str, data: str) -> Starter:
    """Return the starter of a system whose datasets are configs."""
    folder = package.replace(".", "/")
    return Starter(
        "assay.dialects.openicl",
        "@name@_gen_0_shot_chat_prompt.py",
        f"put your rows into @name@/{data}, adapt the configs to their columns, then run `assay docs @name@`",
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
        "put your rows into @name@/data and adapt the class to their columns",
    ),
    "ultraeval": Starter(
        "assay.dialects.ultraeval",
        "",
        "put your rows into @name@/raw, adapt make_dataset.py to their columns, run `assay prepare @name@`, "
        "then write the prompts in the transforms",
    ),
    "leap": Starter(
        "assay.dialects.leap",
        "@name@.py",
        "put your rows into @name@/data and adapt the class to their columns",
        needs="datasets",
    ),
    "lm_eval": Starter(
        "assay.dialects.lm_eval",
        "@name@.yaml",
        "put your rows into @name@/data and adapt the task file to their columns",
        needs="datasets",
    ),
    "aisbench": _build_config_starter("AISBench", "ais_bench.benchmark", "ais_bench/datasets"),
    "opencompass": _build_config_starter("OpenCompass", "opencompass", "data"),
}
"""By dialect, or by system where several share a dialect."""


class WrittenStarter(NamedTuple):
    """A dataset that was written."""

    dataset: Path
    """The dataset to run."""
    files: list[Path]
    to_change: str
    """How to turn it into one's own dataset."""
    lacks: str | None
    """A package that must be installed first."""
    keeps_readme: bool
    """Whether its README has a task table, which `assay docs` maintains."""


def write_starter(name: str, dialect: str) -> WrittenStarter:
    """Write a working dataset into a new folder."""
    if dialect not in STARTERS:
        what = f"there is no starter for {dialect!r}{suggest_name(dialect, STARTERS)}"
        raise UsageError(Problem("USAGE-008", what, f"use one of {listing(STARTERS)}"))
    folder = Path(name)
    if re.fullmatch(r"[a-z][a-z0-9_]*", folder.name) is None:
        what = f"{folder.name!r} is not a valid dataset name"
        fix = "use lower-case letters, digits and _, starting with a letter: my_dataset"
        raise UsageError(Problem("USAGE-008", what, fix))
    if folder.exists():
        what = f"{name} already exists, and existing files are not overwritten"
        raise UsageError(Problem("USAGE-008", what, "choose another name, or move the existing one"))
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
    # Replace the system's words first: they may contain the name.
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
