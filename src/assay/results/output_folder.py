"""A check that the output folder is writable, done before a model is loaded."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from assay.core.disk_space import build_disk_full_error
from assay.core.errors import Problem, StoreError
from assay.core.origin import Origin

NOT_WRITABLE = "STORE-011"
_LONGEST_FILE = ".responses.jsonl.new"
"""The longest file name written into the folder."""


def require_writable(folder: Path, flag: str = "--out") -> None:
    """Raise StoreError unless the folder can be created and written to; leave nothing behind.

    `flag` is the option that names the folder.
    """
    try:
        _try_to_write(folder)
    except OSError as error:
        raise build_not_writable_error(folder, error, flag) from error


def build_not_writable_error(folder: Path, error: OSError, flag: str = "--out") -> StoreError:
    """Return the error of a folder that cannot be created or written to."""
    full = build_disk_full_error(error, f"free some space, or choose another {flag}", folder)
    if full is not None:
        return full
    what = f"cannot create or write to the folder: {error.strerror}{_describe_blocking_path(folder, error)}"
    return StoreError(Problem(NOT_WRITABLE, what, f"choose another {flag}", Origin(str(folder))))


def _describe_blocking_path(folder: Path, error: OSError) -> str:
    """Name the path that blocks the folder, if it is a file or a broken link."""
    for parent in (folder, *folder.parents):
        if error.errno in (errno.ENOTDIR, errno.EEXIST) and os.path.lexists(parent) and not parent.is_dir():
            kind = "a broken link" if parent.is_symlink() else "not a folder"
            return f" ({parent} is {kind})"
    return ""


def _try_to_write(folder: Path) -> None:
    with suppress(FileNotFoundError):
        # Raises if a name is too long, or if a parent is a file.
        os.lstat(folder / _LONGEST_FILE)
    nearest = folder.absolute()
    while not nearest.is_dir():
        if os.path.lexists(nearest):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(nearest))
        nearest = nearest.parent
    with tempfile.TemporaryFile(dir=nearest) as probe:
        probe.write(b"\n")
