"""The names of --tasks as datasets of Assay."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from assay.dialects.lm_eval.detect import PREFIX
from assay.systems.flag_table import usage_error

_SUFFIXES = (".yaml", ".yml")


def split_tasks(values: Sequence[str] | None) -> list[str]:
    """Return the names and files of --tasks, with patterns of files expanded."""
    names: list[str] = []
    for name in (part.strip() for value in values or () for part in value.split(",")):
        if name.endswith(_SUFFIXES) and not Path(name).is_file():
            files = sorted(glob.glob(name))
            if not files:
                raise usage_error(f"--tasks: there is no file {name!r}", "correct the path")
            names += files
        elif name:
            names.append(name)
    if not names:
        raise usage_error("no task is named", "add --tasks NAME; `assay as lm_eval ls tasks` lists the names")
    return list(dict.fromkeys(names))


def name_datasets(tasks: Sequence[str], known: set[str]) -> tuple[str, ...]:
    """Return datasets of Assay: the names together, each file by itself. `known`: the names of task files."""
    files = [name for name in tasks if name not in known and Path(name).exists()]
    names = [name for name in tasks if name not in files]
    return (*((PREFIX + ",".join(names),) if names else ()), *files)
