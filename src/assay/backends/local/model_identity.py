"""Who a model is, from its files: a hash over every byte that decides what it answers.

Hashing gigabytes takes a while, so each file's hash is kept by path, size and times of change.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from assay.backends.cache_dir import cache_dir
from assay.core.ids import digest

_BLOCK = 1 << 22


def hash_file(path: Path) -> str:
    """Return the hash of a file's bytes; at once when the file is as it was the last time."""
    path = path.resolve()
    stat = path.stat()
    # A copy may keep the time at which its content was changed, and nodes of a cluster may share this folder
    # while each has a file of its own under the path. When it came to lie there nobody can set.
    when = (stat.st_mtime_ns, stat.st_ctime_ns)
    note = cache_dir() / "hashes" / digest((str(path), stat.st_size, *when), size=16)
    if note.is_file() and (kept := note.read_text()):
        return kept
    running = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            running.update(block)
    found = running.hexdigest()
    _write_note(note, found)
    return found


def hash_each(paths: Sequence[Path]) -> dict[str, str]:
    """Return the hash of each file by its name."""
    return {path.name: hash_file(path) for path in paths}


def hash_files(paths: Sequence[Path]) -> str:
    """Return one hash for several files, by name and content, in whatever order they come."""
    return combine_hashes(hash_each(paths))


def combine_hashes(hashes: Mapping[str, str]) -> str:
    """Return one hash for the hashes of several files."""
    return digest(sorted(hashes.items()), size=16)


def _write_note(note: Path, text: str) -> None:
    """Write a note so that no process ever sees half of it. A cache that cannot be written is no loss."""
    draft = note.with_suffix(f".{os.getpid()}")
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text)
        draft.replace(note)
    except OSError:
        with suppress(OSError):
            draft.unlink()
