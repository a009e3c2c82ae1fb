"""A run that goes on, on standard error: a panel on a terminal, elsewhere a line now and then, or JSON."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, TypeAlias

import msgspec
from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from assay.app.progress import ProgressGauge, RunProgress
from assay.app.run import FinishedRun, Observer
from assay.core.model import ModelCard
from assay.core.run import RunManifest, RunStatus
from assay.core.task import Task
from assay.dialects.parts.compiled import Compiled
from assay.engine.execute import Tally
from assay.engine.plan import METHOD_OF
from assay.faces.cli.panel import ProgressPanel
from assay.faces.cli.progress_words import PHASES, line
from assay.faces.cli.render import err, out, show_all_compiled

Way: TypeAlias = Literal["auto", "lines", "json", "none"]

_DRAW_EVERY_S = 0.1
_LINE_EVERY_S = 10.0
_EVENT_EVERY_S = 1.0
_NOTE_EVERY_S = 0.5
_SHARE = 0.004
"""Of the run's time, what looking may take, and drawing as much again: together less than a hundredth."""


class ProgressEvent(msgspec.Struct, frozen=True, tag="progress", tag_field="kind"):
    """One line of `--progress json`."""

    run: str
    """The run's id."""
    folder: str
    progress: RunProgress


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
        self._every_s = every_s
        self._clock = clock
        self._computed = computed
        self._next = clock()
        self._began = 0.0

    def is_due(self, now: float) -> bool:
        """Whether it may be done now."""
        return now >= self._next

    def __enter__(self) -> None:
        self._began = self._computed()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pause_s = max(self._every_s, (self._computed() - self._began) / _SHARE)
        self._next = self._clock() + self.pause_s


class _View(Protocol):
    """Shows how a run goes."""

    every_s: float
    """How often it has something to show, at most."""

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        """Look at the run, and show how it goes."""

    def close(self) -> None:
        """Leave nothing behind that would stand in the way of the result."""


class TerminalObserver(Observer):
    """Shows a run while it goes on."""

    def __init__(self, way: Way = "auto", *, shows_plan: bool = True) -> None:
        """`shows_plan`: whether to print how the datasets were understood, on standard output."""
        self._way = way
        self._shows_plan = shows_plan
        self._view: _View | None = None
        self._gauge = ProgressGauge()
        self._rehearsal: Tally | None = None
        self._looking = Budget(0.0)
        self._noting = Budget(_NOTE_EVERY_S)
        self._has_told_last = False

    def __enter__(self) -> TerminalObserver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def compiled(self, compiled: Sequence[Compiled], tasks: Sequence[Task], card: ModelCard) -> None:
        """Show how the datasets were understood."""
        if not self._shows_plan:
            return
        form = "chat template" if compiled[0].task.spec.settings["form"] == "chat" else "plain text"
        out.print(f"[bold]model[/]  {card.name}, prompts as {form}", markup=True)
        for kind, way in card.ways.items():
            if any(kind in task.kinds for task in tasks):
                out.print(f"[bold]asked[/]  {METHOD_OF[kind]} by {way}", markup=True, soft_wrap=True)
        show_all_compiled(compiled, tasks)

    def started(
        self, manifest: RunManifest, folder: Path, earlier: RunManifest | None, n_journaled: int
    ) -> None:
        """Say where the run is kept, and what an earlier start has already done."""
        if earlier is not None and self._way in ("auto", "lines"):
            is_done = earlier.status in (RunStatus.COMPLETE, RunStatus.ANSWERED)
            state = str(earlier.status) if is_done else "begun before"
            err.print(f"[dim]{folder} is {state}: {n_journaled:,} responses are kept[/]", soft_wrap=True)
        self._view = _view(self._way, manifest, folder)
        if self._view is not None:
            self._looking = Budget(self._view.every_s)

    def preparing(self, tally: Tally) -> None:
        """Show how far the questions are that come before the samples."""
        if tally is not self._rehearsal:
            self._rehearsal = tally
            self._gauge = ProgressGauge(is_beforehand=True)
        self._look(tally)

    def asking(self, gauge: ProgressGauge) -> None:
        """Take the gauge of the samples."""
        self._gauge = gauge

    def progress(self, tally: Tally) -> None:
        """Show how far the run is, and once that all samples are answered: scoring may take long."""
        is_answered = tally.n_done >= tally.n_samples
        self._look(tally, is_last=is_answered and not self._has_told_last)
        self._has_told_last = is_answered

    def _look(self, tally: Tally, *, is_last: bool = False) -> None:
        if self._view is None:
            return
        now = time.monotonic()
        if is_last or self._looking.is_due(now):
            with self._looking:
                self._view.show(self._gauge, tally)
        elif self._noting.is_due(now):
            with self._noting:
                self._gauge.note(tally)

    def finished(self, run: FinishedRun) -> None:
        """Take the panel away."""
        self._stop()

    def _stop(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None


def _view(way: Way, manifest: RunManifest, folder: Path) -> _View | None:
    if way == "none":
        return None
    if way == "json":
        return _EventView(manifest.id, str(folder))
    # A dumb terminal cannot go back to what was drawn before.
    is_drawn = way == "auto" and err.is_terminal and not err.is_dumb_terminal
    return _PanelView() if is_drawn else _LineView()


class _LineView:
    """Prints a line now and then."""

    every_s = _LINE_EVERY_S

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        progress = gauge.look(tally)
        # What is done by the time of the first line needs none.
        if progress.seconds >= self.every_s:
            err.print(Text(line(progress)), soft_wrap=True)

    def close(self) -> None:
        """Nothing to leave."""


class _EventView:
    """Prints a JSON object a line."""

    every_s = _EVENT_EVERY_S

    def __init__(self, run: str, folder: str) -> None:
        self._run = run
        self._folder = folder

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        event = msgspec.json.encode(ProgressEvent(self._run, self._folder, gauge.look(tally)))
        err.file.write(event.decode() + "\n")
        err.file.flush()

    def close(self) -> None:
        """Nothing to leave."""


class _PanelView:
    """Draws the panel on a thread of its own, so that it goes on while the model computes."""

    every_s = _DRAW_EVERY_S

    def __init__(self) -> None:
        self._seen: tuple[ProgressGauge, Tally, RunProgress] | None = None
        self._live = Live(console=err, transient=True, auto_refresh=False, get_renderable=self._drawn)
        self._live.start()
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="assay panel", daemon=True)
        self._thread.start()

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        self._seen = gauge, tally, gauge.look(tally)

    def close(self) -> None:
        self._has_ended.set()
        self._thread.join()
        self._live.stop()

    def _draw(self) -> None:
        drawing = Budget(self.every_s)
        while not self._has_ended.wait(drawing.pause_s):
            with drawing:
                self._live.refresh()

    def _drawn(self) -> RenderableType:
        if self._seen is None:
            return Text(PHASES["loading"], style="bold")
        gauge, tally, progress = self._seen
        return ProgressPanel(gauge.look_again(tally, progress))
