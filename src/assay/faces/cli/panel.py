"""The progress panel of a run: for terminals of at least 60 columns, as tall as the screen allows.

It is drawn only from a `RunProgress`. The lines are laid out here and not by a rich table: they are drawn
several times a second while a model computes, and this takes a fifth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

from assay.app.progress import RunProgress, TrackProgress
from assay.app.progress_words import (
    PHASES,
    flatten_line,
    format_duration,
    format_interval,
    format_score,
    format_time_left,
    is_active,
    list_count_facts,
    list_judge_facts,
    list_pace_facts,
    list_reuse_facts,
)
from assay.core.rounding import format_percent

_MOST_ROWS = 30
_LINES_AROUND = 9
"""Maximum lines of the panel other than rows, plus the line of the shell prompt."""
_GAP = "  "
_SMALL_BAR = 16
_NARROWEST_NAME = 12
_ASCII = str.maketrans({"━": "#", "─": "-", "–": "-", "…": "~"})


class _Column(NamedTuple):
    """One column of the rows; the first one takes the remaining width."""

    heading: str
    cell: Callable[[TrackProgress], str]
    style: str = ""
    is_right: bool = True


def _count(name: str) -> Callable[[TrackProgress], str]:
    return lambda track: "" if track.score is None else f"{getattr(track.score, name):,}"


_TASK = _Column("task", lambda track: track.task, is_right=False)
_METHOD = _Column("method", lambda track: track.method, is_right=False)
_BAR = _Column("", lambda track: render_bar(track.n_done / max(track.n_samples, 1), _SMALL_BAR), "green")
_SAMPLES = _Column("samples", lambda track: f"{track.n_done:,}/{track.n_samples:,}")
_SCORE = _Column("score", format_score, "bold cyan")
_INTERVAL = _Column("95 % interval", format_interval)
_COUNT_COLUMNS = (
    _Column("unanswered", _count("n_unanswered")),
    _Column("truncated", _count("n_truncated")),
    _Column("failed", _count("n_failed")),
)
_LAYOUTS = (
    (_TASK, _METHOD, _BAR, _SAMPLES, _SCORE, _INTERVAL, *_COUNT_COLUMNS),
    (_TASK, _METHOD, _SAMPLES, _SCORE, _INTERVAL, *_COUNT_COLUMNS),
    (_TASK, _METHOD, _SAMPLES, _SCORE, _INTERVAL),
    (_TASK, _METHOD, _SAMPLES, _SCORE),
)
"""The panel uses the first layout that leaves enough width for the names."""


class ProgressPanel:
    """The panel of a run in progress."""

    def __init__(self, progress: RunProgress) -> None:
        self._progress = progress

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines that fit into the terminal."""
        lines = self._lines(options.max_width, console.size.height)
        for segment in console.render(Text("\n").join(lines), options):
            is_changed = options.ascii_only and not segment.control
            yield Segment(segment.text.translate(_ASCII), segment.style) if is_changed else segment

    def _lines(self, width: int, height: int) -> list[Text]:
        progress = self._progress
        rows, n_hidden = choose_rows(progress.tracks, max(1, min(_MOST_ROWS, height - _LINES_AROUND)))
        lines = [self._head(width)]
        lines += _table(rows, width) if rows else []
        if n_hidden:
            lines.append(Text(_format_hidden_rows(progress.tracks, n_hidden), style="dim"))
        elapsed = f"{format_duration(progress.seconds)} so far"
        lines += _wrap_facts([*list_pace_facts(progress), *list_reuse_facts(progress), elapsed], width, "dim")
        lines += _wrap_facts(list_judge_facts(progress), width, "cyan")
        lines += _wrap_facts(list_count_facts(progress), width, "yellow")
        if progress.last_failure is not None:
            lines.append(Text(f"last failure: {flatten_line(progress.last_failure)}", style="red"))
        for line in lines:
            line.truncate(width, overflow="ellipsis")
            line.no_wrap = True
        return lines[: max(1, height - 1)]

    def _head(self, width: int) -> Text:
        """Return the progress bar over all samples with counts and time left."""
        progress = self._progress
        counts = f"{progress.n_done:,}/{progress.n_samples:,}{_GAP}{format_percent(progress.share_done, 0)} %"
        if progress.phase in ("samples", "beforehand"):
            counts += f"{_GAP}{format_time_left(progress)}"
        room = width - cell_len(PHASES[progress.phase]) - cell_len(counts) - 2 * len(_GAP)
        head = Text(PHASES[progress.phase], style="bold")
        if room > 0:
            head.append(f"{_GAP}{render_bar(progress.share_done, room)}", style="not bold green")
        return head.append(f"{_GAP}{counts}", style="not bold")


def render_bar(share: float, width: int) -> str:
    """Return a bar that is full at 1."""
    n_full = int(min(max(share, 0.0), 1.0) * width)
    return "━" * n_full + "─" * (width - n_full)


def shorten_name(name: str, width: int) -> str:
    """Shorten a name in the middle, since names of subsets differ at the end."""
    if cell_len(name) <= width:
        return name
    head = set_cell_size(name, (width - 1) // 3).rstrip()
    tail = name
    while cell_len(head) + 1 + cell_len(tail) > width:
        tail = tail[1:]
    return f"{head}…{tail}"


def choose_rows(tracks: Sequence[TrackProgress], most: int) -> tuple[list[TrackProgress], int]:
    """Return the methods to show, in the plan's order, and the number of hidden ones.

    Active methods have priority, then those that ended last, then those that come next.
    """
    if len(tracks) <= most:
        return list(tracks), 0
    places = range(len(tracks))
    active = [at for at in places if is_active(tracks[at])]
    ended = [at for at in reversed(places) if tracks[at].n_done >= tracks[at].n_samples]
    waiting = [at for at in places if not tracks[at].n_done and tracks[at].n_samples]
    # Every other place goes to methods that come next, if there are any.
    n_ended = max(most - len(active) - len(waiting), (most - len(active)) // 2, 0)
    chosen = sorted([*active, *ended[:n_ended], *waiting][:most])
    return [tracks[at] for at in chosen], len(tracks) - len(chosen)


def _format_hidden_rows(tracks: Sequence[TrackProgress], n_hidden: int) -> str:
    n_ended = sum(track.n_done >= track.n_samples for track in tracks)
    n_active = sum(map(is_active, tracks))
    return (
        f"{n_hidden:,} more rows; of all {len(tracks):,}, {n_ended:,} done, {n_active:,} in progress, "
        f"{len(tracks) - n_ended - n_active:,} waiting"
    )


def _table(rows: Sequence[TrackProgress], width: int) -> list[Text]:
    layouts = [(_Grid(columns, rows, width)) for columns in _LAYOUTS]
    fitting = next((grid for grid in layouts if grid.fits), layouts[-1])
    return fitting.lines()


class _Grid:
    """Rows in columns; the names take the width that the numbers leave."""

    def __init__(self, columns: Sequence[_Column], rows: Sequence[TrackProgress], width: int) -> None:
        self._columns = columns
        self._cells = [[column.cell(row) for column in columns] for row in rows]
        self._widths = [
            max(map(cell_len, (column.heading, *(cells[at] for cells in self._cells))))
            for at, column in enumerate(columns)
        ]
        room = width - sum(self._widths[1:]) - len(_GAP) * (len(columns) - 1)
        self.fits = room >= min(self._widths[0], _NARROWEST_NAME)
        self._widths[0] = max(1, min(self._widths[0], room))

    def lines(self) -> list[Text]:
        """Return the heading and the rows; a task with several methods is named once."""
        lines = [self._line([column.heading for column in self._columns], is_heading=True)]
        before = None
        for cells in self._cells:
            name = "" if cells[0] == before else cells[0]
            before = cells[0]
            lines.append(self._line([name, *cells[1:]]))
        return lines

    def _line(self, cells: Sequence[str], *, is_heading: bool = False) -> Text:
        line = Text()
        for at, (column, cell, width) in enumerate(zip(self._columns, cells, self._widths, strict=True)):
            cut = shorten_name(cell, width)
            filled = " " * (width - cell_len(cut))
            line.append(_GAP if at else "")
            line.append(
                filled + cut if column.is_right else cut + filled, "bold" if is_heading else column.style
            )
        return line


def _wrap_facts(facts: Sequence[str], width: int, style: str) -> list[Text]:
    """Join facts with commas, in as many lines as needed."""
    lines: list[str] = []
    for fact in facts:
        if lines and cell_len(f"{lines[-1]}, {fact}") <= width - 1:
            lines[-1] += f", {fact}"
        else:
            lines.append(fact)
    return [Text(line, style=style) for line in lines]
