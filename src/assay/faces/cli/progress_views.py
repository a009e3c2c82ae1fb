"""Ways to show how a run goes on standard error: a panel, a line now and then, or JSON lines."""

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

from assay.app.progress import ProgressGauge, RunProgress
from assay.core.run import RunManifest
from assay.engine.execute import Tally
from assay.faces.cli.panel import ProgressPanel
from assay.faces.cli.progress_words import PHASES, format_progress_line
from assay.faces.cli.render import err
from assay.sources.datasets_library import showing_downloads

SHARE = 0.004
"""Of the run's time, what looking at it may take, and drawing as much again: less than a hundredth in all."""


class Budget:
    """When a thing may be done again: so often at most, and for a small share of the time at most.

    What it takes is this thread's own computing, since a thread also waits for others.
    """

    def __init__(
        self,
        every_s: float,
        clock: Callable[[], float] = time.monotonic,
        computed: Callable[[], float] = time.thread_time,
    ) -> None:
        self.pause_s = every_s
        """How long to wait until it is done again."""
        self.next = clock()
        """When it is done again; at once, at first."""
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
"""What a person may choose between; `auto` is the panel where it can be drawn."""


def download_bars(way: ProgressMode = "auto") -> AbstractContextManager[None]:
    """Show how far downloads are, where a person can see it."""
    return showing_downloads(way in ("auto", "lines") and sys.stderr.isatty())


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
    """Shows how a run goes."""

    every_s: float
    """How often it has something to show, at most."""

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        """Look at the run, and show how it goes."""

    def close(self) -> None:
        """Leave nothing behind that would stand in the way of the result."""


def open_view(way: ProgressMode, manifest: RunManifest, folder: Path) -> View | None:
    """Return the way that was chosen; None: nothing is shown."""
    if way == "none":
        return None
    if way == "json":
        return _EventView(manifest.id, str(folder))
    return PanelView() if can_draw(way) else _LineView()


def can_draw(way: ProgressMode) -> bool:
    """Whether something that moves is drawn: a dumb terminal cannot go back to what was drawn before."""
    return way == "auto" and err.is_terminal and not err.is_dumb_terminal


class _RepeatedWriter:
    """Something that is printed now and then, on another thread too while no answer comes.

    A model may load for minutes, and a cluster may have no room for just as long.
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
        """Write how the run goes; on the run's own thread."""
        progress = gauge.look(tally)
        with self._writing:
            self._seen, self._is_new = (gauge, tally, progress), True
            self._write(progress)

    def close(self) -> None:
        """Write nothing more."""
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
    """Prints a line now and then."""

    every_s = _LINE_EVERY_S

    def __init__(self) -> None:
        self._written = _RepeatedWriter(self.every_s, self._write)

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        self._written.show(gauge, tally)

    def close(self) -> None:
        self._written.close()

    def _write(self, progress: RunProgress) -> None:
        # What is done by the time of the first line needs none.
        if progress.seconds >= self.every_s:
            err.print(Text(format_progress_line(progress)), soft_wrap=True)


class _EventView:
    """Prints a JSON object a line."""

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
    """Draws the panel on a thread of its own, so that it goes on while the model computes."""

    every_s = _DRAW_EVERY_S

    def __init__(self) -> None:
        self._seen: tuple[ProgressGauge, Tally, RunProgress] | None = None
        self._download: Text | None = None
        self._live = Live(console=err, transient=True, auto_refresh=False, get_renderable=self._drawn)
        self._live.start()
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="assay panel", daemon=True)
        self._thread.start()

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        """Draw how the run goes from now on."""
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

    def _drawn(self) -> RenderableType:
        if self._download is not None:
            return self._download
        if self._seen is None:
            return Text(PHASES["loading"], style="bold")
        gauge, tally, progress = self._seen
        return ProgressPanel(gauge.look_again(tally, progress))
