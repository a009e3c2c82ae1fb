"""A disk without room, told as an error of the house."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import Problem, StoreError
from assay.core.origin import Origin

DISK_FULL = "STORE-009"
_REASONS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The disk is full, or this account's share of it, or no file may be as large."""


def build_disk_full_error(error: OSError, fix: str, folder: Path | None = None) -> StoreError | None:
    """Return STORE-009 where the reason of an error is that there is no room; None where it is another."""
    if error.errno not in _REASONS:
        return None
    what = f"there is no room to write: {error.strerror}"
    return StoreError(Problem(DISK_FULL, what, fix, None if folder is None else Origin(str(folder))))


@contextmanager
def reporting_disk_full(folder: Path, fix: str) -> Iterator[None]:
    """Raise STORE-009 where what is written into a folder finds no room; any other error stays as it is."""
    try:
        yield
    except OSError as error:
        full = build_disk_full_error(error, fix, folder)
        if full is None:
            raise
        raise full from error
