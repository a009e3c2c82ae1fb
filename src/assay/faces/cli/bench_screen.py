"""Progress and result tables of a benchmark on the terminal."""

from __future__ import annotations

import time
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
from assay.app.bench_page import PAGE, StoredBench, compute_aisbench_numbers
from assay.app.bench_settings import Profile
from assay.bench.aisbench_profile import NoResult
from assay.bench.folder import SUMMARY, BenchManifest
from assay.bench.load import Load
from assay.bench.load_result import LoadProgress, LoadResult
from assay.bench.sweep import LoadTrial, SweepResult
from assay.bench.table import TextTable, build_tables, format_milliseconds
from assay.faces.cli.json_output import Answer
from assay.faces.cli.render import err, out, print_table

_LINE_EVERY_S = 10.0


class BenchScreen(BenchObserver):
    """Shows a benchmark in progress: a live line on a terminal, otherwise a line from time to time."""

    def __init__(self, *, is_quiet: bool = False) -> None:
        self._is_quiet = is_quiet
        self._live: Live | None = None
        self._level = ""
        self._drawn = time.monotonic()

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

    def started(self, manifest: BenchManifest, folder: Path) -> None:
        """Print the server and the requests."""
        if not self._is_quiet:
            items = manifest.items
            out.print(f"[bold]server[/]   {escape(manifest.model)}")
            out.print(
                f"[bold]requests[/] {escape(str(items.get('source', items.get('kind'))))}, {items['n']:,}"
            )

    def warmed_up(self, driven: LoadResult) -> None:
        """Print nothing: a failed warm-up raises an error."""

    def load_began(self, load: Load, level: float | None) -> None:
        """Remember the level."""
        self._level = "" if level is None else f"level {level:g}: "

    def progress(self, progress: LoadProgress) -> None:
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
        elif not self._is_quiet and now - self._drawn >= _LINE_EVERY_S:
            self._drawn = now
            err.print(line)

    def tried(self, trial: LoadTrial) -> None:
        """Print the results of a level."""
        if not self._is_quiet:
            err.print(Text("  ".join(_level_row(trial))))


def read_bench_answer(folder: Path, status: int = 0) -> Answer:
    """Return the JSON answer of a benchmark: its summary.json."""
    return Answer(msgspec.Raw((folder / SUMMARY).read_bytes()), status)


def show_bench(finished: StoredBench, *, profile: Profile) -> None:
    """Print the results of a benchmark."""
    result = finished.result
    if profile == "aisbench":
        _show_aisbench(finished)
    elif result.swept is not None:
        _show_table(_levels(result.swept))
        out.print(escape(_verdict(result.swept)))
    elif result.summary is not None:
        for table in build_tables(result.summary, result.steady):
            _show_table(table)
        if result.not_steady:
            out.print(f"[dim]no steady window: {escape(result.not_steady)}[/]", soft_wrap=True)
    notes = (*result.notes, *(result.summary.notes if result.summary is not None else ()))
    for note in dict.fromkeys(notes):
        out.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)
    if result.is_partial:
        out.print("[yellow]stopped early: the numbers cover only requests completed by then[/]")
    out.print(f"[dim]page[/]  {escape(str(finished.folder / PAGE))}", soft_wrap=True)


def _show_aisbench(finished: StoredBench) -> None:
    numbers = compute_aisbench_numbers(finished)
    if isinstance(numbers, NoResult):
        out.print(f"[yellow]no results by AISBench's formulas: {escape(numbers.reason)}[/]")
        return
    for table in numbers.tables():
        _show_table(TextTable("", table.headings, table.rows))


_LEVEL_HEADINGS = (
    "requests/s",
    "output tokens/s",
    "TTFT p50",
    "TTFT p99",
    "TPOT p50",
    "E2EL p50",
    "E2EL p99",
)


def _levels(swept: SweepResult) -> TextTable:
    rows = [_level_row(trial) for trial in sorted(swept.trials, key=lambda trial: trial.level)]
    return TextTable(f"by {swept.of}, times in ms", (swept.of, *_LEVEL_HEADINGS, "failed", ""), rows)


def _level_row(trial: LoadTrial) -> tuple[str, ...]:
    summary = trial.summary

    def time_of(metric: str, stat: str) -> str:
        value = summary.value(metric, stat)
        return "-" if value is None else format_milliseconds(value)

    def rate_of(name: str) -> str:
        value = summary.value(name)
        return "-" if value is None else f"{value:,.4g}"

    return (
        f"{trial.level:g}",
        rate_of("requests_per_s"),
        rate_of("output_tokens_per_s"),
        time_of("ttft", "p50"),
        time_of("ttft", "p99"),
        time_of("tpot", "p50"),
        time_of("e2el", "p50"),
        time_of("e2el", "p99"),
        f"{summary.n_failed:,}",
        "; ".join(trial.broken),
    )


def _verdict(swept: SweepResult) -> str:
    if swept.best is None:
        return f"no level meets the limits: {swept.ended}"
    best = (
        f"{swept.best:g} meets the limits" if swept.limits else f"{swept.best:g} has the highest throughput"
    )
    # The reason why a search ended often names the level already.
    text = swept.ended if swept.ended.startswith(best) else f"{best}; {swept.ended}"
    return f"{swept.of} {text}"


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
