"""A full disk as a StoreError."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.errors import Problem, StoreError
from assay.core.origin import Origin

DISK_FULL = "STORE-009"
_REASONS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The disk is full, a quota is used up, or the file size limit is reached."""


def build_disk_full_error(error: OSError, fix: str, folder: Path | None = None) -> StoreError | None:
    """Return STORE-009 if an error means that the disk is full; None for any other error."""
    if error.errno not in _REASONS:
        return None
    what = f"writing failed: {error.strerror}"
    return StoreError(Problem(DISK_FULL, what, fix, None if folder is None else Origin(str(folder))))


@contextmanager
def reporting_disk_full(folder: Path, fix: str) -> Iterator[None]:
    """Raise STORE-009 if writing into a folder fails because the disk is full; let other errors pass."""
    try:
        yield
    except OSError as error:
        full = build_disk_full_error(error, fix, folder)
        if full is None:
            raise
        raise full from error
