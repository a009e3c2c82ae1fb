"""A Python config whose `datasets` list names tables, as the original's custom-dataset document shows.

The file is the person's own program, as in the original: it is run, and its `datasets` are read.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.dialects.table.meta import TableMeta, to_meta
from assay.sources.file_names import on_disk


class ConfigEntry(NamedTuple):
    """One table that a config names."""

    path: str
    said: TableMeta


def read_config(path: Path) -> list[ConfigEntry]:
    """Run a config and return the tables of its `datasets` list."""
    where = Origin(str(path))
    try:
        variables = runpy.run_path(str(path))
    except Exception as error:
        raise AuthorError(
            Problem(
                "CONFIG-001",
                f"the config raised {type(error).__name__}: {error}",
                "correct the file; it must run as plain Python",
                where,
            )
        ) from error
    datasets = variables.get("datasets")
    if not isinstance(datasets, list) or not datasets:
        names = [name for name in variables if not name.startswith("_")]
        raise AuthorError(
            Problem(
                "CONFIG-002",
                f"the config has no list named 'datasets'; it has {listing(names) or 'nothing'}",
                'write datasets = [{"path": "data.csv", "data_type": "mcq", "infer_method": "ppl"}]',
                where,
            )
        )
    return [_entry(entry, index, path) for index, entry in enumerate(datasets)]


def _entry(entry: Any, index: int, config: Path) -> ConfigEntry:
    where = Origin(f"{config} datasets[{index}]")
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise AuthorError(
            Problem(
                "CONFIG-003",
                f"found {entry!r:.120}, expected a dict with a 'path'",
                'write {"path": "data.csv", ...}',
                where,
            )
        )
    if "type" in entry:
        raise AuthorError(
            Problem(
                "CONFIG-003",
                "an entry with a 'type' describes its loader in code, which is not read here",
                "remove 'type' to have the file read as a table",
                where,
            )
        )
    said = {key: value for key, value in entry.items() if key != "path"}
    return ConfigEntry(_located(entry["path"], config), to_meta(said, where))


def _located(path: str, config: Path) -> str:
    """Return the table's path: relative to the working folder as the original has it, else to the config."""
    here, beside = on_disk(Path(path)), on_disk(config.parent / path)
    return str(beside if not here.exists() and beside.exists() else here)
