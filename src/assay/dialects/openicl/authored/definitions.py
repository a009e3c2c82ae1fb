"""Search for the file of a folder that defines a name, by reading the files without running them.

The originals' packages import all their modules at once, and some of these need packages that are rarely
installed. A config needs only one or two modules.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

_TOP_LEVEL_NAME = re.compile(r"^(?:class|def|async def) (\w+)|^(\w+)(?:\s*:[^=\n]+)?\s*=(?!=)", re.MULTILINE)
"""A top-level definition: a class, a function or a variable."""
_REGISTERED = re.compile(r"register_module\(\s*(?:name\s*=\s*)?['\"]([^'\"]+)['\"]")
_REGISTERED_UNNAMED = re.compile(r"register_module(?:\(\s*\))?\s*\n(?:@.*\n)*(?:class|def) (\w+)")
"""A class or function that is registered under its own name."""
_SKIPPED_FOLDERS = ("__pycache__", "configs", "tests")


class Definitions:
    """The names that the files below a folder define. The files are read on first use."""

    def __init__(self, folder: Path, *, depth: int | None = None) -> None:
        """Store the folder and the search depth; None: no limit."""
        self._folder = folder
        self._depth = depth

    def find_file(self, name: str) -> Path | None:
        """Return the file with a top-level definition of a name; of several, the nearest to the folder."""
        return next(iter(self.find_files(name)), None)

    def find_files(self, name: str) -> list[Path]:
        """Return all files with a top-level definition of a name, those nearest to the folder first."""
        return self._index.get(name, [])

    def find_registering_file(self, name: str) -> Path | None:
        """Return the file that registers something under a name."""
        return self._paths_by_name.get(name)

    def names(self) -> list[str]:
        """Return all defined names."""
        return list(self._index)

    @property
    def _n_parts(self) -> int:
        return len(self._folder.parts)

    @cached_property
    def _texts(self) -> list[tuple[Path, str]]:
        return [(path, path.read_text(encoding="utf-8", errors="replace")) for path in self._files()]

    @cached_property
    def _index(self) -> dict[str, list[Path]]:
        index: dict[str, list[Path]] = {}
        for path, text in self._texts:
            for name in dict.fromkeys(match[1] or match[2] for match in _TOP_LEVEL_NAME.finditer(text)):
                index.setdefault(name, []).append(path)
        return index

    @cached_property
    def _paths_by_name(self) -> dict[str, Path]:
        index: dict[str, Path] = {}
        for path, text in self._texts:
            for pattern in (_REGISTERED, _REGISTERED_UNNAMED):
                for match in pattern.finditer(text):
                    index.setdefault(match[1], path)
        return index

    def _files(self) -> Iterator[Path]:
        """Yield the files of a folder before those of its subfolders."""
        for folder, folders, names in os.walk(self._folder):
            is_deepest = self._depth is not None and len(Path(folder).parts) - self._n_parts >= self._depth
            inside = () if is_deepest else sorted(folders)
            folders[:] = [
                name for name in inside if name not in _SKIPPED_FOLDERS and not name.startswith(".")
            ]
            yield from (Path(folder, name) for name in sorted(names) if name.endswith(".py"))


def has_definition(path: Path, name: str) -> bool:
    """Whether a file has a top-level definition of a name."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return name in text and any(name in (match[1], match[2]) for match in _TOP_LEVEL_NAME.finditer(text))
