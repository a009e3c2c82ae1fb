"""The progress of a download from the hub."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec


class Download(msgspec.Struct, frozen=True):
    """Progress of a download of files from a repository."""

    repository: str
    commit: str
    folder: str
    """The repository's folder in the cache."""
    n_files: int
    n_bytes: int
    """Of all files to download, including parts that an interrupted download left."""
    n_done: int
    """Bytes already on disk."""
    seconds: float
    bytes_per_s: float | None
    """Since the download began; None at the beginning."""
    state: Literal["begun", "running", "finished", "stopped"]
    what: str = ""
    """The part of the repository, in words; empty: the main part."""
    later: int = 0
    """Bytes of files that are downloaded later, when they are needed."""


def format_folder(folder: Path) -> str:
    """Return a folder for display, with ~ for the home folder."""
    home = Path.home()
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
