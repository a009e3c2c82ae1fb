"""Progress of several runs: one after the other as for single runs, or side by side as lines of one panel."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from assay.app.progress import ProgressGauge, RunProgress
from assay.app.progress_words import format_progress_line
from assay.app.run_plan import PlannedRun
from assay.core.compilation import CompiledDataset
from assay.core.model import ModelCard
from assay.core.model_names import title_of_spec
from assay.core.run import RunManifest
from assay.core.tally import Tally
from assay.core.task import Task
from assay.faces.cli.console import err, out, pad_texts
from assay.faces.cli.panel import render_bar
from assay.faces.cli.progress import TerminalObserver
from assay.faces.cli.progress_views import ProgressMode, View, can_draw, open_view
from assay.faces.cli.render import show_all_compiled

_DRAW_EVERY_S = 0.2
_BAR = 16


class GroupObservers:
    """The observers of the runs of one command."""

    def __init__(self, way: ProgressMode, plan: Sequence[PlannedRun], *, shows_plan: bool) -> None:
        """`shows_plan`: print how Assay interprets the datasets, once for each prompt."""
        self.way = way
        self.shows_lines = way in ("auto", "lines")
        """Whether messages for people appear on standard error."""
        self._shows_plan = shows_plan
        self._panel = _GroupPanel([one.title for one in plan]) if can_draw(way) else None
        self._shown_models: set[str] = set()
        self._shown_prompts: set[str | None] = set()
        self._opened: list[TerminalObserver] = []

    def __enter__(self) -> GroupObservers:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._opened:
            one.__exit__(None, None, None)
        if self._panel is not None:
            self._panel.close()

    def observe(self, planned: PlannedRun) -> TerminalObserver:
        """Return the observer of a run."""
        observer = _MemberObserver(self, planned)
        self._opened.append(observer)
        return observer

    def show_compiled(
        self, planned: PlannedRun, compiled: Sequence[CompiledDataset], tasks: Sequence[Task], card: ModelCard
    ) -> None:
        """Print the model, and how the datasets are read unless an earlier run has shown the same."""
        if not self._shows_plan:
            return
        self._show_model(planned, compiled, card)
        if planned.prompt not in self._shown_prompts:
            self._shown_prompts.add(planned.prompt)
            if planned.prompt is not None:
                out.print(f"[bold]prompt[/] {escape(planned.prompt)}", soft_wrap=True)
            show_all_compiled(compiled, tasks)

    def _show_model(self, planned: PlannedRun, compiled: Sequence[CompiledDataset], card: ModelCard) -> None:
        if planned.model in self._shown_models:
            return
        self._shown_models.add(planned.model)
        form = "in its chat template" if compiled[0].task.spec.settings["form"] == "chat" else "as plain text"
        title = title_of_spec(card.name)
        name = escape(planned.model) + ("" if planned.model == title else f" ({escape(title)})")
        out.print(f"[bold]model[/]  {name}, prompts {form}", soft_wrap=True)

    def open_view(self, planned: PlannedRun, manifest: RunManifest, folder: Path) -> View | None:
        """Return the view of a run: a line of the panel on a terminal."""
        if self._panel is not None:
            return _PanelLine(self._panel, planned.title)
        return open_view(self.way, manifest, folder, planned.title)


class _MemberObserver(TerminalObserver):
    """Shows one run of several."""

    def __init__(self, group: GroupObservers, planned: PlannedRun) -> None:
        super().__init__(group.way)
        self._group = group
        self._planned = planned

    def on_compile(self, compiled: Sequence[CompiledDataset], tasks: Sequence[Task], card: ModelCard) -> None:
        """Show the model, and once for each prompt how Assay interprets the datasets."""
        self._group.show_compiled(self._planned, compiled, tasks, card)

    def on_failure(self) -> None:
        """Print that the run failed; its error follows when the others have ended."""
        super().on_failure()
        if self._group.shows_lines:
            err.print(f"[red]{escape(self._planned.title)} failed; the other runs continue[/]")

    def _open_view(self, manifest: RunManifest, folder: Path) -> View | None:
        return self._group.open_view(self._planned, manifest, folder)


class _GroupPanel:
    """A line for each run, drawn while at least one of them is in progress."""

    def __init__(self, titles: Sequence[str]) -> None:
        self._titles = list(titles)
        self._seen: dict[str, RunProgress] = {}
        self._ended: set[str] = set()
        self._live: Live | None = None
        self._lock = threading.Lock()

    def show(self, title: str, progress: RunProgress) -> None:
        """Draw the progress of a run from now on. On any thread."""
        with self._lock:
            self._seen[title] = progress
            self._ended.discard(title)
            if self._live is None:
                self._live = Live(self, console=err, transient=True, refresh_per_second=1 / _DRAW_EVERY_S)
                self._live.start()

    def end(self, title: str) -> None:
        """Show that a run has ended."""
        with self._lock:
            self._ended.add(title)

    def close(self) -> None:
        """Remove the panel."""
        with self._lock:
            live, self._live = self._live, None
        if live is not None:
            live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield a line for each run."""
        for title, name in zip(self._titles, pad_texts(self._titles), strict=True):
            progress = self._seen.get(title)
            if progress is None:
                line = "waiting"
            elif title in self._ended:
                line = f"{render_bar(1.0, _BAR)}  ended"
            else:
                line = f"{render_bar(progress.share_done, _BAR)}  {format_progress_line(progress)}"
            text = Text(f"{name}  {line}", no_wrap=True)
            text.truncate(options.max_width, overflow="ellipsis")
            yield text


class _PanelLine:
    """The view of one run in the panel."""

    every_s = _DRAW_EVERY_S

    def __init__(self, panel: _GroupPanel, title: str) -> None:
        self._panel = panel
        self._title = title

    def show(self, gauge: ProgressGauge, tally: Tally) -> None:
        """Draw this progress from now on."""
        self._panel.show(self._title, gauge.look(tally))

    def close(self) -> None:
        """Show that the run has ended."""
        self._panel.end(self._title)
