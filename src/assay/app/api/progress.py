"""Progress of `assay.run`: a bar in notebooks, one line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, Protocol

from assay.app.progress import ProgressGauge, RunProgress
from assay.app.progress_words import format_duration, format_progress_line
from assay.app.run import FinishedRun, Observer
from assay.core.download import Download
from assay.core.run import RunManifest
from assay.core.tally import Tally

_EVERY_S = 0.5
_NOTE_EVERY_S = 0.1


class Screen(Protocol):
    """Where progress is drawn."""

    def draw(self, share: float, line: str) -> None:
        """Replace what was drawn before. `share`: from 0 to 1."""

    def close(self, line: str) -> None:
        """Remove the progress, or replace it by a last line; empty if the run failed."""


class ProgressObserver(Observer):
    """Draws how far a run is, at most twice a second."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._gauge = ProgressGauge()
        self._next_note = self._next_draw = 0.0
        self._last_line = ""

    def close(self) -> None:
        """End the display."""
        self._screen.close(self._last_line)

    def on_download(self, download: Download) -> None:
        """Draw the progress of a download."""
        if self._is_due():
            share = download.n_done / download.n_bytes if download.n_bytes else 0.0
            self._screen.draw(share, f"downloading {download.repository}")

    def on_start_over(self, why: str) -> None:
        """Do nothing: the result has this note."""

    def on_start(
        self, manifest: RunManifest, folder: Path, earlier: RunManifest | None, n_journaled: int
    ) -> None:
        """Draw that the run has begun: loading a model can take long."""
        self._screen.draw(0.0, f"{manifest.model.name}: waiting for the model")

    def on_requests(self, gauge: ProgressGauge) -> None:
        """Use the gauge of the samples."""
        self._gauge = gauge

    def on_progress(self, tally: Tally) -> None:
        """Draw the progress if it is time."""
        now = time.monotonic()
        if now >= self._next_note:
            self._next_note = now + _NOTE_EVERY_S
            self._gauge.note(tally)
        if self._is_due():
            self._draw(self._gauge.look(tally))

    def on_finish(self, run: FinishedRun) -> None:
        """Remember what was done, as the last line."""
        self._last_line = f"{run.tally.n_done:,} samples in {format_duration(run.manifest.seconds)}"

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now < self._next_draw:
            return False
        self._next_draw = now + _EVERY_S
        return True

    def _draw(self, progress: RunProgress) -> None:
        self._screen.draw(progress.share_done, format_progress_line(progress))


@contextmanager
def open_observer(is_shown: bool | None) -> Iterator[Observer]:
    """Yield an observer that draws progress; None: only in notebooks and on terminals."""
    screen = None if is_shown is False else _open_screen(is_shown is True)
    if screen is None:
        yield Observer()
        return
    observer = ProgressObserver(screen)
    try:
        yield observer
    finally:
        observer.close()


def _open_screen(is_forced: bool) -> Screen | None:
    if _is_notebook():
        return NotebookScreen()
    if sys.stderr is not None and sys.stderr.isatty():
        return TerminalScreen()
    return LineScreen() if is_forced else None


def _is_notebook() -> bool:
    """Return whether this program runs in a Jupyter kernel, which shows HTML."""
    shell = sys.modules.get("IPython.core.getipython") or sys.modules.get("IPython")
    current = None if shell is None else shell.get_ipython()
    return current is not None and hasattr(current, "kernel")


class NotebookScreen:
    """A bar in the output of a cell, as plain HTML: no widgets are needed."""

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(self, share: float, line: str) -> None:
        """Draw the bar, or replace it."""
        from IPython.display import HTML, display

        bar = f'<progress max="1" value="{share:.4f}" style="width:16em;vertical-align:middle"></progress>'
        shown = HTML(f'<div style="color:inherit">{bar} <span>{escape(line)}</span></div>')
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def close(self, line: str) -> None:
        """Replace the bar by a line; the result follows."""
        if self._handle is not None:
            from IPython.display import HTML

            self._handle.update(HTML(f'<div style="color:inherit;opacity:.7">{escape(line)}</div>'))


class TerminalScreen:
    """One line on standard error, drawn over itself."""

    def draw(self, share: float, line: str) -> None:
        """Replace the line."""
        width = get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[2K{share:4.0%} {line}"[: width + 6])
        sys.stderr.flush()

    def close(self, line: str) -> None:
        """Remove the line."""
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


class LineScreen:
    """Lines on standard error, for output that cannot be drawn over."""

    def __init__(self) -> None:
        self._next = 0.0

    def draw(self, share: float, line: str) -> None:
        """Write a line, at most every five seconds."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 5.0
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()

    def close(self, line: str) -> None:
        """Write the last line; the others stay."""
        if line:
            sys.stderr.write(f"{line}\n")
