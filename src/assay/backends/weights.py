"""Who a model is, from its files: a hash over every byte that decides what it answers.

Hashing gigabytes takes a while, so each file's hash is kept by path, size and time of change.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from assay.backends.cache_dir import cache_dir
from assay.core.ids import digest

_BLOCK = 1 << 22


def hash_file(path: Path) -> str:
    """Return the hash of a file's bytes; at once when the file is as it was the last time."""
    path = path.resolve()
    stat = path.stat()
    note = cache_dir() / "hashes" / digest((str(path), stat.st_size, stat.st_mtime_ns), size=16)
    if note.is_file() and (kept := note.read_text()):
        return kept
    running = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            running.update(block)
    found = running.hexdigest()
    _keep(note, found)
    return found


def hash_files(paths: Sequence[Path]) -> str:
    """Return one hash for several files, by name and content, in whatever order they come."""
    return digest(sorted((path.name, hash_file(path)) for path in paths), size=16)


def _keep(note: Path, text: str) -> None:
    """Write a note so that no process ever sees half of it. A cache that cannot be written is no loss."""
    draft = note.with_suffix(f".{os.getpid()}")
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text)
        draft.replace(note)
    except OSError:
        with suppress(OSError):
            draft.unlink()
