"""Terminal output of a run in progress: how Assay interprets the datasets, and the progress."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from rich.markup import escape
from rich.text import Text

from assay.app.power import describe_detectable_differences
from assay.app.progress import ProgressGauge
from assay.app.run import FinishedRun, Observer
from assay.core.compilation import CompiledDataset
from assay.core.download import Download
from assay.core.model import ModelCard
from assay.core.request import METHOD_BY_KIND
from assay.core.run import RunManifest, RunStatus
from assay.core.tally import Tally
from assay.core.task import Task
from assay.faces.cli.console import err, out
from assay.faces.cli.downloads import DownloadScreen
from assay.faces.cli.progress_views import Budget, PanelView, ProgressMode, View, open_view
from assay.faces.cli.render import show_all_compiled

_NOTE_EVERY_S = 0.5
"""Interval for recording the speed if it is shown less often."""


class TerminalObserver(Observer):
    """Shows a run in progress."""

    def __init__(
        self,
        way: ProgressMode = "auto",
        *,
        shows_plan: bool = True,
        on_compiled: Callable[[Sequence[Task]], None] | None = None,
    ) -> None:
        """`shows_plan`: print how Assay interprets the datasets on standard output.

        `on_compiled` is called with the tasks before weights are read.
        """
        self._on_compiled = on_compiled
        self._way = way
        self._shows_plan = shows_plan
        self._view: View | None = None
        self._gauge = ProgressGauge()
        self._rehearsal: Tally | None = None
        self._looking = Budget(0.0)
        self._noting = Budget(_NOTE_EVERY_S)
        self._wakes = math.inf
        """The time of the next update; checked with each answer."""
        self._has_begun = False
        self._has_shown_last = False
        self._downloads = DownloadScreen(way, self._draw_download)

    def __enter__(self) -> TerminalObserver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def on_compile(self, compiled: Sequence[CompiledDataset], tasks: Sequence[Task], card: ModelCard) -> None:
        """Show how Assay interprets the datasets."""
        if self._shows_plan:
            self._show_plan(compiled, tasks, card)
        if self._on_compiled is not None:
            self._on_compiled(tasks)

    def _show_plan(self, compiled: Sequence[CompiledDataset], tasks: Sequence[Task], card: ModelCard) -> None:
        form = "in its chat template" if compiled[0].task.spec.settings["form"] == "chat" else "as plain text"
        out.print(f"[bold]model[/]  {card.name}, prompts {form}", markup=True)
        for kind, way in card.ways.items():
            if any(kind in task.kinds for task in tasks):
                out.print(
                    f"[bold]method[/] {METHOD_BY_KIND[kind]}, computed from {way}",
                    markup=True,
                    soft_wrap=True,
                )
        show_all_compiled(compiled, tasks)
        for line in describe_detectable_differences(compiled, tasks):
            out.print(f"[dim]{escape(line)}[/]", soft_wrap=True)

    def on_download(self, download: Download) -> None:
        """Show the progress of a download from the hub."""
        self._downloads.show(download)

    def _draw_download(self, line: Text | None) -> bool:
        if not isinstance(self._view, PanelView):
            return False
        self._view.show_download(line)
        return True

    def on_start_over(self, why: str) -> None:
        """Print why a finished run of the same command is not reused."""
        if self._way in ("auto", "lines"):
            err.print(f"[yellow]{escape(why)}[/]", soft_wrap=True)

    def on_start(
        self, manifest: RunManifest, folder: Path, earlier: RunManifest | None, n_journaled: int
    ) -> None:
        """Print what an earlier start of the run has already done."""
        if earlier is not None and self._way in ("auto", "lines"):
            is_done = earlier.status not in (RunStatus.RUNNING, RunStatus.STOPPED)
            state = f"{folder} is {earlier.status}" if is_done else f"resuming {folder}"
            err.print(f"[dim]{state}: {n_journaled:,} stored responses[/]", soft_wrap=True)
        self._view = self._open_view(manifest, folder)
        if self._view is not None:
            self._looking = Budget(self._view.every_s)
            self._wakes = self._looking.next

    def _open_view(self, manifest: RunManifest, folder: Path) -> View | None:
        return open_view(self._way, manifest, folder)

    def on_preparation(self, tally: Tally) -> None:
        """Show the progress of requests that come before the samples."""
        if tally is not self._rehearsal:
            self._rehearsal = tally
            self._gauge = ProgressGauge(is_beforehand=True)
        if time.monotonic() >= self._wakes:
            self._look(tally)

    def on_requests(self, gauge: ProgressGauge) -> None:
        """Use the gauge of the samples."""
        self._gauge = gauge

    def on_progress(self, tally: Tally) -> None:
        """Show the progress, and once that all samples are answered, since scoring may take long."""
        if tally.n_begun and not self._has_begun:
            self._has_begun = True
            if not tally.n_answered and self._rehearsal is None:
                _freeze_packages()
        is_last = tally.n_done >= tally.n_samples and not self._has_shown_last
        if is_last or time.monotonic() >= self._wakes:
            self._has_shown_last |= is_last
            self._look(tally, is_last=is_last)

    def _look(self, tally: Tally, *, is_last: bool = False) -> None:
        if self._view is None:
            return
        if is_last or time.monotonic() >= self._looking.next:
            with self._looking:
                self._view.show(self._gauge, tally)
        else:
            with self._noting:
                self._gauge.note(tally)
        self._wakes = min(self._looking.next, self._noting.next)

    def on_finish(self, run: FinishedRun) -> None:
        """Remove the panel."""
        self._stop()

    def on_failure(self) -> None:
        """Remove the panel."""
        self._stop()

    def _stop(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None


def _freeze_packages() -> None:
    """Exclude all present objects from later collections, which would search all of torch.

    Called when packages are imported, but no weights are read: a collection must be able to free these.
    """
    if not gc.get_freeze_count():
        gc.freeze()
