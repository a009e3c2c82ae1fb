"""The transform scripts of a dataset folder: `transform_gen_v1.py` is version v1 for generation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

_NAME = re.compile(r"transform(?:_(?P<method>gen|ppl))?(?:_(?P<version>.+))?")
_NUMBERED = re.compile(r"v(\d+(?:\.\d+)*)")


class TransformVersion(NamedTuple):
    """One script, and what its name says."""

    path: Path
    method: str | None
    """`gen`, `ppl`, or None for a script that serves both."""
    name: str | None
    """`v0`, `cot`, ...; None for a script without a version."""

    @classmethod
    def of(cls, path: Path) -> TransformVersion:
        """Read a script's name."""
        found = _NAME.fullmatch(path.stem)
        if found is None:
            return cls(path, None, None)
        return cls(path, found["method"], found["version"])

    @property
    def age(self) -> tuple[bool, tuple[int, ...], str]:
        """Return what orders versions from old to new: those with a number are newer than those without."""
        number = _NUMBERED.fullmatch(self.name or "")
        parts = tuple(map(int, number[1].split("."))) if number else ()
        return bool(parts), parts, self.name or ""

    def supports_method(self, method: str) -> bool:
        """Whether it is written for a method; `prob` asks what generation asks."""
        return self.method in (None, "ppl" if method == "ppl" else "gen")


def list_versions(folder: Path) -> list[TransformVersion]:
    """Return the scripts of a folder, the oldest first."""
    return sorted(
        (TransformVersion.of(path) for path in folder.glob("transform*.py")), key=lambda one: one.age
    )


def find_newest(versions: Iterable[TransformVersion], method: str) -> TransformVersion | None:
    """Return the newest script for a method; one written for it is preferred to one for both."""
    serving = [version for version in versions if version.supports_method(method)]
    return max(serving, key=lambda one: (one.method is not None, one.age), default=None)


def find_version(versions: Sequence[TransformVersion], name: str, method: str) -> TransformVersion | None:
    """Return the script of a version's name (`v0`), or of its file's."""
    for version in versions:
        if version.supports_method(method) and name in (version.name, version.path.name, version.path.stem):
            return version
    return None
