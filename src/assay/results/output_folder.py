"""Whether a folder for results can be made and written to, found out before a model is loaded."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from assay.core.errors import Problem, StoreError
from assay.core.origin import Origin
from assay.results.disk_space import build_disk_full_error

NOT_WRITABLE = "STORE-011"
_LONGEST_FILE = ".responses.jsonl.new"
"""A name as long as any that is written into the folder."""


def require_writable(folder: Path, flag: str = "--out") -> None:
    """Raise StoreError unless the folder can be made and written to; leave nothing behind.

    `flag`: the option that names the folder.
    """
    try:
        _try_to_write(folder)
    except OSError as error:
        raise build_not_writable_error(folder, error, flag) from error


def build_not_writable_error(folder: Path, error: OSError, flag: str = "--out") -> StoreError:
    """Return the error of a folder that cannot be made or written to."""
    full = build_disk_full_error(error, f"free some space, or choose another {flag}", folder)
    if full is not None:
        return full
    what = (
        f"the folder cannot be made or written to: {error.strerror}{_describe_blocking_path(folder, error)}"
    )
    return StoreError(Problem(NOT_WRITABLE, what, f"choose another {flag}", Origin(str(folder))))


def _describe_blocking_path(folder: Path, error: OSError) -> str:
    """Name the path that is in the way, where it is not the folder itself."""
    for parent in (folder, *folder.parents):
        if error.errno in (errno.ENOTDIR, errno.EEXIST) and os.path.lexists(parent) and not parent.is_dir():
            kind = "a broken link" if parent.is_symlink() else "not a folder"
            return f" ({parent} is {kind})"
    return ""


def _try_to_write(folder: Path) -> None:
    with suppress(FileNotFoundError):
        # Raises for a name that is too long, and for a file where a folder should be.
        os.lstat(folder / _LONGEST_FILE)
    nearest = folder.absolute()
    while not nearest.is_dir():
        if os.path.lexists(nearest):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(nearest))
        nearest = nearest.parent
    with tempfile.TemporaryFile(dir=nearest) as probe:
        probe.write(b"\n")
