"""Progress of a run on standard error: a panel, lines or JSON lines."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, TypeAlias

import msgspec
from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from assay.app.progress import ProgressGauge, RunProgress, showing_library_downloads
from assay.app.progress_words import PHASES, format_progress_line
from assay.core.run import RunManifest
from assay.core.tally import Tally
from assay.faces.cli.console import err
from assay.faces.cli.panel import ProgressPanel

SHARE = 0.004
"""Maximum share of the run's time for computing the progress, and again for drawing it: below 1 % in all."""


class Budget:
    """Limits how often an action runs: by an interval, and by its share of the time.

    The cost is the CPU time of this thread, since a thread also waits for others.
    """

    def __init__(
        self,
        every_s: float,
        clock: Callable[[], float] = time.monotonic,
        computed: Callable[[], float] = time.thread_time,
    ) -> None:
        self.pause_s = every_s
        """Seconds until the next time."""
        self.next = clock()
        """The time at which the action may run again; initially at once."""
        self._every_s = every_s
        self._clock = clock
        self._computed = computed
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = self._computed()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pause_s = max(self._every_s, (self._computed() - self._began) / SHARE)
        self.next = self._clock() + self.pause_s


ProgressMode: TypeAlias = Literal["auto", "lines", "json", "none"]
"""The values of --progress; `auto` is the panel if the terminal supports it."""


def download_bars(way: ProgressMode = "auto") -> AbstractContextManager[None]:
    """Show the progress of downloads if standard error is a terminal."""
    return showing_library_downloads(way in ("auto", "lines") and sys.stderr.isatty())


_DRAW_EVERY_S = 0.1
_LINE_EVERY_S = 10.0
_EVENT_EVERY_S = 1.0


class ProgressEvent(msgspec.Struct, frozen=True, tag="progress", tag_field="kind"):
    """One line of `--progress json`."""

    run: str
    """The run's id."""
    folder: str
    progress: RunProgress


class View(Protocol):
    """Shows the progress of a run."""

    every_s: float
    """Minimum seconds between updates."""

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        """Show the current progress."""

    def close(self) -> None:
        """Remove what was drawn."""


def open_view(way: ProgressMode, manifest: RunManifest, folder: Path, title: str = "") -> View | None:
    """Return the view for a mode; None to show nothing. `title`: the run's name, if there are several."""
    if way == "none":
        return None
    if way == "json":
        return _EventView(manifest.id, str(folder))
    return PanelView() if can_draw(way) else _LineView(title)


def can_draw(way: ProgressMode) -> bool:
    """Whether to draw a live display; a dumb terminal cannot overwrite earlier output."""
    return way == "auto" and err.is_terminal and not err.is_dumb_terminal


class _RepeatedWriter:
    """Prints at an interval, also from another thread while no answer arrives.

    Loading a model, or waiting for a free node of a cluster, may take minutes.
    """

    def __init__(self, every_s: float, write: Callable[[RunProgress], None]) -> None:
        self._every_s = every_s
        self._write = write
        self._seen: tuple[ProgressGauge, Tally, RunProgress] | None = None
        self._writing = threading.Lock()
        self._is_new = False
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="assay progress", daemon=True)
        self._thread.start()

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        """Write the progress, on the run's own thread."""
        progress = gauge.look(tally)
        with self._writing:
            self._seen, self._is_new = (gauge, tally, progress), True
            self._write(progress)

    def close(self) -> None:
        """Stop writing."""
        self._has_ended.set()
        self._thread.join()

    def _repeat(self) -> None:
        while not self._has_ended.wait(self._every_s):
            with self._writing:
                if self._seen is not None and not self._is_new:
                    gauge, tally, progress = self._seen
                    self._write(gauge.look_again(tally, progress))
                self._is_new = False


class _LineView:
    """Prints a line at an interval."""

    every_s = _LINE_EVERY_S

    def __init__(self, title: str = "") -> None:
        self._title = f"{title}: " if title else ""
        self._written = _RepeatedWriter(self.every_s, self._write)

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        self._written.show(gauge, tally)

    def close(self) -> None:
        self._written.close()

    def _write(self, progress: RunProgress) -> None:
        # A run that ends before the first interval prints no line.
        if progress.seconds >= self.every_s:
            err.print(Text(self._title + format_progress_line(progress)), soft_wrap=True)


class _EventView:
    """Prints one JSON object per line."""

    every_s = _EVENT_EVERY_S

    def __init__(self, run: str, folder: str) -> None:
        self._run = run
        self._folder = folder
        self._written = _RepeatedWriter(self.every_s, self._write)

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        self._written.show(gauge, tally)

    def close(self) -> None:
        self._written.close()

    def _write(self, progress: RunProgress) -> None:
        event = msgspec.json.encode(ProgressEvent(self._run, self._folder, progress))
        err.file.write(event.decode() + "\n")
        err.file.flush()


class PanelView:
    """Draws the panel on its own thread, so that it stays live while the model computes."""

    every_s = _DRAW_EVERY_S

    def __init__(self) -> None:
        self._seen: tuple[ProgressGauge, Tally, RunProgress] | None = None
        self._download: Text | None = None
        self._live = Live(console=err, transient=True, auto_refresh=False, get_renderable=self._build_view)
        self._live.start()
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="assay panel", daemon=True)
        self._thread.start()

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        """Draw this progress from now on."""
        self._seen = gauge, tally, gauge.look(tally)

    def show_download(self, line: Text | None) -> None:
        """Draw a line about a download instead of the run; None: draw the run again."""
        self._download = line

    def close(self) -> None:
        """Remove the panel."""
        self._has_ended.set()
        self._thread.join()
        self._live.stop()

    def _draw(self) -> None:
        drawing = Budget(self.every_s)
        while not self._has_ended.wait(drawing.pause_s):
            with drawing:
                self._live.refresh()

    def _build_view(self) -> RenderableType:
        if self._download is not None:
            return self._download
        if self._seen is None:
            return Text(PHASES["loading"], style="bold")
        gauge, tally, progress = self._seen
        return ProgressPanel(gauge.look_again(tally, progress))
