"""Whose code it is that is at work: the person's own, a package's, or Assay's."""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import assay
from assay.core.origin import Origin

_ASSAY = str(Path(assay.__file__).parent)
_PYTHON = tuple({str(Path(sysconfig.get_paths()[name])) for name in ("stdlib", "platstdlib")})
_HERE = str(Path(__file__).parent)
_OURS = "assay"
_PACKAGES = ("site-packages", "dist-packages")
_EVENT_LOOP = "asyncio"


class CodeLocation(NamedTuple):
    """A line of code."""

    path: str
    line: int
    function: str
    package: str | None
    """The package that it belongs to; None: the person's own code."""

    def __str__(self) -> str:
        if self.package is None:
            return f"{self.path}:{self.line}, in {self.function}"
        parts = Path(self.path).with_suffix("").parts
        inside = Path(*parts[len(parts) - 1 - parts[::-1].index(self.package) :])
        return f"{inside}.py:{self.line}"


class Caller(NamedTuple):
    """Who did something, and for whom."""

    places: tuple[CodeLocation, ...]
    """Of each package, and of the person's own code, the nearest to what was done; the nearest first."""
    thread: str | None
    """The thread, where it is not the main one."""

    @property
    def origin(self) -> Origin | None:
        """Return the place that a person can do something about: their own code, else the nearest."""
        own = [place for place in self.places if place.package is None]
        return next((Origin(place.path, line=place.line) for place in (*own, *self.places)), None)

    def __str__(self) -> str:
        said = ", called from ".join(map(str, self.places)) or "code that cannot be told"
        return said if self.thread is None else f"{said}, in the thread {self.thread!r}"


def find_caller() -> Caller:
    """Return who is at work in this thread, the code of `assay.app.offline` left out."""
    places = _find_nearest_locations(sys._getframe(1))
    if not places:
        # Event loops look names up in threads of their own. Who asked for it waits in another.
        for frame in sys._current_frames().values():
            if any(_EVENT_LOOP in Path(one.f_code.co_filename).parts for one in _frames(frame)):
                places = places or _find_nearest_locations(frame)
    thread = threading.current_thread()
    return Caller(places, None if thread is threading.main_thread() else thread.name)


def _find_nearest_locations(frame: FrameType | None) -> tuple[CodeLocation, ...]:
    """Return of each package, and of the person's own code, the nearest place in a stack, up to Assay's."""
    found: dict[str | None, CodeLocation] = {}
    for place in _iterate_locations(frame):
        found.setdefault(place.package, place)
        if place.package == _OURS:
            break
    return tuple(found.values())


def _iterate_locations(frame: FrameType | None) -> Iterator[CodeLocation]:
    """Yield the places of a stack that are not Python's own."""
    for one in _frames(frame):
        path = one.f_code.co_filename
        parts = Path(path).parts
        if path.startswith(("<frozen", _HERE)):
            continue
        package = None
        if path.startswith(_ASSAY):
            package = _OURS
        elif inside := [at for at, part in enumerate(parts) if part in _PACKAGES]:
            package = parts[inside[-1] + 1].removesuffix(".py")
        elif path.startswith(_PYTHON):
            continue
        yield CodeLocation(path, one.f_lineno, one.f_code.co_name, package)


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
