"""The leaderboard as a table of texts, for the terminal and for files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from assay.core.billing import format_usd
from assay.core.rounding import format_number, format_percent
from assay.results.leaderboard.board import Board, BoardCell, MeanCell

GroupBy: TypeAlias = Literal["dataset", "ability"]

LOWER_IS_BETTER_SIGN = "↓"
"""Follows the name of a column in which lower values are better."""


class CellText(NamedTuple):
    """The texts of one cell."""

    value: str
    interval: str
    """Empty without an interval."""
    rank: str
    """Empty if the value is not ranked."""
    lacks: str
    """For an incomplete mean, the number of its datasets; otherwise empty."""
    is_best: bool
    """Whether no other value of the column is better."""
    is_leading: bool
    """Whether no other value is significantly better, and some are significantly worse."""


class Heading(NamedTuple):
    """The texts of a column heading."""

    name: str
    about: str
    """Method and shots, or the number of datasets of a mean."""
    is_mean: bool


class Grid(NamedTuple):
    """Rows of models; None for a missing value."""

    headings: list[Heading]
    models: list[str]
    rows: list[list[CellText | None]]


def build_grid(board: Board, by: GroupBy) -> Grid:
    """Return the table by datasets, means first; or by abilities."""
    headings: list[Heading] = []
    columns: list[list[CellText | None]] = []
    for heading, words in _columns(board, by):
        headings.append(heading)
        columns.append(words)
    rows = [[column[row] for column in columns] for row in range(len(board.models))]
    return Grid(headings, [model.name for model in board.models], rows)


def _columns(board: Board, by: GroupBy) -> Iterator[tuple[Heading, list[CellText | None]]]:
    for at, mean in enumerate(board.means):
        if by == "dataset" and mean.kind == "ability":
            continue
        cells = [row[at] for row in board.mean_cells]
        n = len(mean.columns)
        about = f"{n} dataset{'s' if n > 1 else ''}" if mean.kind == "ability" else mean.kind
        best = max((cell.value for cell in cells if cell is not None and cell.rank is not None), default=None)
        yield (
            Heading(mean.name, about, True),
            _mark_leaders([_format_mean_cell(cell, n, best) for cell in cells]),
        )
    if by == "ability":
        return
    for at, column in enumerate(board.columns):
        if column.part is not None:
            continue
        own = [row[at] for row in board.cells]
        values = [cell.value for cell in own if cell is not None]
        top = max(values) if column.higher_is_better else min(values)
        name = column.label if column.higher_is_better else f"{column.label} {LOWER_IS_BETTER_SIGN}"
        shots = column.conditions.get("shots", "0")
        words = [_format_cell(cell, top, is_share=column.is_share) for cell in own]
        # The column's name already contains its distinguishing conditions.
        facts = [one for one in (column.method, f"{shots}-shot", column.metric) if one not in column.apart]
        yield Heading(name, ", ".join(facts), False), _mark_leaders(words)
    if any(model.usd is not None for model in board.models):
        costs = [None if model.usd is None else _format_cost(model.usd) for model in board.models]
        yield Heading("cost", "of these runs", False), costs


def _mark_leaders(column: list[CellText | None]) -> list[CellText | None]:
    """Remove leaders from a column without significant differences, and the rank of a single value."""
    ranked = [words for words in column if words is not None and words.rank]
    if not all(words.is_leading for words in ranked):
        return column
    alone = len(ranked) == 1
    return [
        None
        if words is None
        else words._replace(
            is_leading=False, is_best=words.is_best and not alone, rank="" if alone else words.rank
        )
        for words in column
    ]


def _format_cell(cell: BoardCell | None, top: float, *, is_share: bool) -> CellText | None:
    if cell is None:
        return None
    return CellText(
        format_board_value(cell.value, is_share=is_share),
        _interval(cell.low, cell.high, is_share=is_share),
        str(cell.rank),
        "",
        cell.value == top,
        cell.rank.best == 1,
    )


def _format_cost(usd: float) -> CellText:
    return CellText(format_usd(usd), "", "", "", False, False)


def _format_mean_cell(cell: MeanCell | None, n: int, top: float | None) -> CellText | None:
    if cell is None:
        return None
    return CellText(
        format_board_value(cell.value, is_share=True),
        _interval(cell.low, cell.high, is_share=True),
        "" if cell.rank is None else str(cell.rank),
        f"{cell.n_columns} of {n}" if cell.lacks else "",
        cell.rank is not None and cell.value == top,
        cell.rank is not None and cell.rank.best == 1,
    )


def format_board_value(value: float, *, is_share: bool) -> str:
    """Return a value as text, a share in percent."""
    return format_percent(value) if is_share else format_number(value)


def _interval(low: float | None, high: float | None, *, is_share: bool) -> str:
    if low is None or high is None:
        return ""
    return f"{format_board_value(low, is_share=is_share)}–{format_board_value(high, is_share=is_share)}"
