"""Progress: a bar on a terminal, a quiet line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from assay.app.run import FinishedRun, Observer
from assay.core.model import ModelCard
from assay.core.run import RunManifest, RunStatus
from assay.core.task import Task
from assay.dialects.parts.compiled import Compiled
from assay.engine.execute import Tally
from assay.engine.plan import METHOD_OF
from assay.faces.cli.render import err, out, show_all_compiled

_DRAW_EVERY_S = 0.1
_LINE_EVERY_S = 10.0
_LOADING = "loading the model"


class TerminalObserver(Observer):
    """Shows a run on a terminal."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._started = time.monotonic()
        self._drawn = self._started

    def __enter__(self) -> TerminalObserver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def compiled(self, compiled: Sequence[Compiled], tasks: Sequence[Task], card: ModelCard) -> None:
        """Show how the datasets were understood."""
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
        if earlier is not None:
            is_done = earlier.status in (RunStatus.COMPLETE, RunStatus.ANSWERED)
            state = str(earlier.status) if is_done else "begun before"
            err.print(f"[dim]{folder} is {state}: {n_journaled:,} responses are kept[/]", soft_wrap=True)
        self._started = self._drawn = time.monotonic()
        if err.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[done]}"),
                TimeRemainingColumn(),
                console=err,
                transient=True,
            )
            self._bar.add_task(_LOADING, total=1.0, done="")
            self._bar.start()

    def preparing(self, tally: Tally) -> None:
        """Draw how far the questions are that come before the samples."""
        self._draw(tally, "asking beforehand", "questions asked beforehand")

    def progress(self, tally: Tally) -> None:
        """Draw how far the run is."""
        self._draw(tally, "samples", "samples")

    def _draw(self, tally: Tally, phase: str, things: str) -> None:
        now = time.monotonic()
        if now - self._drawn < (_DRAW_EVERY_S if self._bar else _LINE_EVERY_S):
            return
        self._drawn = now
        seconds = max(now - self._started, 1e-9)
        share = tally.share_done
        rate = share * tally.n_samples / seconds
        failed = f", {tally.n_failed:,} failed" if tally.n_failed else ""
        if self._bar:
            done = f"{tally.n_done:,}/{tally.n_samples:,} {rate:,.1f}/s{failed}"
            shown = phase if tally.n_answered else _LOADING
            self._bar.update(self._bar.task_ids[0], description=shown, completed=share, done=done)
        else:
            left = seconds * (1 - share) / share if share else float("inf")
            done = f"{tally.n_done:,} of {tally.n_samples:,} {things}"
            err.print(f"{done}, {rate:,.1f}/s, {_clock(left)} left{failed}")

    def finished(self, run: FinishedRun) -> None:
        """Take the bar away."""
        self._stop()

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _clock(seconds: float) -> str:
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
