"""Replacing a file atomically: write a draft next to it, then rename the draft.

A reader sees the old content or the new, never a part. A killed process leaves the draft behind; the next
writer removes it. Nothing is written through a link, neither at the draft's name nor at the file's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_BUFFERED = 1 << 18
"""Bytes per write: each write gives other threads of the client a chance to run."""


def draft_path(path: Path) -> Path:
    """Return the name of a file's draft."""
    return path.with_name(f".{path.name}.new")


def open_draft(path: Path) -> BinaryIO:
    """Create and open the draft of a file; replace one that a killed process left."""
    draft = draft_path(path)
    draft.unlink(missing_ok=True)
    return open(draft, "xb", buffering=_BUFFERED)


def begin_file(path: Path) -> BinaryIO:
    """Replace a file by an empty one and return it open.

    Truncating it instead would let readers continue in the middle of new lines.
    """
    file = open_draft(path)
    draft_path(path).replace(path)
    return file


@contextmanager
def replacing_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a draft that replaces the file at the end of the block, and is removed if the block raises."""
    file = open_draft(path)
    try:
        with file:
            yield file
        draft_path(path).replace(path)
    except BaseException:
        with suppress(OSError):
            draft_path(path).unlink(missing_ok=True)
        raise
