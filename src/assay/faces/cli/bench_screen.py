"""Progress and result tables of a benchmark on the terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import msgspec
from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.live import Live
from rich.markup import escape
from rich.table import Table as Grid
from rich.text import Text

from assay.app.bench import BenchObserver
from assay.app.bench_page import PAGE, StoredBench, read_summary_json
from assay.app.bench_report import Profile, TextTable, build_bench_report
from assay.core.timing import LoadProgress
from assay.faces.cli.console import err, out
from assay.faces.cli.json_output import Answer
from assay.faces.cli.tables import print_table

_LINE_EVERY_S = 10.0


class BenchScreen(BenchObserver):
    """Shows a benchmark in progress: a live line on a terminal, otherwise a line from time to time."""

    def __init__(self, *, is_quiet: bool = False) -> None:
        self._is_quiet = is_quiet
        self._live: Live | None = None
        self._level = ""
        self._build_view = time.monotonic()

    def __enter__(self) -> BenchScreen:
        if err.is_terminal and not self._is_quiet:
            self._live = Live(console=err, transient=True, refresh_per_second=2)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def on_start(self, server: str, requests: str) -> None:
        """Print the server and the requests."""
        if not self._is_quiet:
            out.print(f"[bold]server[/]   {escape(server)}")
            out.print(f"[bold]requests[/] {escape(requests)}")

    def on_load(self, level: float | None) -> None:
        """Remember the level."""
        self._level = "" if level is None else f"level {level:g}: "

    def on_progress(self, progress: LoadProgress) -> None:
        """Show the progress of the load."""
        now = time.monotonic()
        line = (
            f"{self._level}{progress.n_done:,} of {progress.n_sent:,} sent requests done, "
            f"{progress.n_under_way:,} in progress, {progress.per_s:,.1f}/s, {progress.seconds:,.0f} s"
        )
        if progress.n_failed:
            line += f", {progress.n_failed:,} failed"
        if self._live is not None:
            self._live.update(Text(line))
        elif not self._is_quiet and now - self._build_view >= _LINE_EVERY_S:
            self._build_view = now
            err.print(line)

    def on_level(self, row: Sequence[str]) -> None:
        """Print the results of a level."""
        if not self._is_quiet:
            err.print(Text("  ".join(row)))


def read_bench_answer(folder: Path, status: int = 0) -> Answer:
    """Return the JSON answer of a benchmark: its summary.json."""
    return Answer(msgspec.Raw(read_summary_json(folder)), status)


def show_bench(bench: StoredBench, *, profile: Profile) -> None:
    """Print the results of a benchmark."""
    report = build_bench_report(bench, profile)
    for table in report.tables:
        _show_table(table)
    if report.verdict:
        out.print(escape(report.verdict))
    if report.not_steady:
        out.print(f"[dim]no steady window: {escape(report.not_steady)}[/]", soft_wrap=True)
    for note in report.notes:
        out.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)
    out.print(f"[dim]page[/]  {escape(str(bench.folder / PAGE))}", soft_wrap=True)


def _show_table(table: TextTable) -> None:
    grid = Grid(title=table.title or None, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for number, heading in enumerate(table.headings):
        is_text = heading in ("", "for example")
        # Never truncate numbers: "21.7 token/s" must not become "21.7 to…".
        least = None if is_text else max(map(cell_len, (heading, *(row[number] for row in table.rows))))
        justify: JustifyMethod = "right" if number and not is_text else "left"
        grid.add_column(heading, justify=justify, no_wrap=not is_text, min_width=least)
    for row in table.rows:
        grid.add_row(*(Text(cell) for cell in row))
    out.print()
    print_table(grid)
