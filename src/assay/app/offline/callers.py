"""Find the code that is running: the person's own, a package's, or Assay's."""

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
    """The code that did something, with its callers."""

    places: tuple[CodeLocation, ...]
    """The nearest location of each package and of the person's own code; the nearest first."""
    thread: str | None
    """The thread's name, unless it is the main thread."""

    @property
    def origin(self) -> Origin | None:
        """Return the location that a person can change: their own code, else the nearest."""
        own = [place for place in self.places if place.package is None]
        return next((Origin(place.path, line=place.line) for place in (*own, *self.places)), None)

    def __str__(self) -> str:
        callers = ", called from ".join(map(str, self.places)) or "unknown code"
        return callers if self.thread is None else f"{callers}, in the thread {self.thread!r}"


def find_caller() -> Caller:
    """Return the code that is running in this thread, without `assay.app.offline` itself."""
    places = _find_nearest_locations(sys._getframe(1))
    if not places:
        # Event loops look names up in threads of their own, while the caller waits in another.
        for frame in sys._current_frames().values():
            if any(_EVENT_LOOP in Path(caller.f_code.co_filename).parts for caller in _frames(frame)):
                places = places or _find_nearest_locations(frame)
    thread = threading.current_thread()
    return Caller(places, None if thread is threading.main_thread() else thread.name)


def _find_nearest_locations(frame: FrameType | None) -> tuple[CodeLocation, ...]:
    """Return the nearest location of each package and of the person's own code, up to Assay's."""
    nearest: dict[str | None, CodeLocation] = {}
    for place in _iterate_locations(frame):
        nearest.setdefault(place.package, place)
        if place.package == _OURS:
            break
    return tuple(nearest.values())


def _iterate_locations(frame: FrameType | None) -> Iterator[CodeLocation]:
    """Yield the locations of a stack, without those of Python's standard library."""
    for caller in _frames(frame):
        path = caller.f_code.co_filename
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
        yield CodeLocation(path, caller.f_lineno, caller.f_code.co_name, package)


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
