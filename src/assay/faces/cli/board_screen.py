"""The leaderboard on a terminal, in blocks of as many columns as fit next to the models' names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.faces.cli.console import out
from assay.results.leaderboard.board import Board
from assay.results.leaderboard.grid import CellText, Grid, GroupBy, build_grid

_NAME_WIDTH = 32
"""Longer names of models and columns are wrapped."""
_HEADING_WIDTH = 16
_GAP = 2


def show_board(board: Board, by: GroupBy, output: Path | None = None) -> None:
    """Print the board with its notes, or write it to a file."""
    if output is not None:
        with output.open("w", encoding="utf-8") as file:
            _print(Console(file=file, width=out.width, highlight=False), board, by)
        return
    _print(out, board, by)
    for note in board.notes:
        out.print(Text(note, style="yellow"), soft_wrap=True)


def _print(console: Console, board: Board, by: GroupBy) -> None:
    table = build_grid(board, by)
    if not table.models:
        console.print("no complete runs; create one with `assay run data.csv`")
        return
    if not table.headings:
        console.print("no dataset names an ability; define abilities with --abilities FILE")
        return
    for columns in _blocks(table, console.width):
        console.print(_block(table, columns), soft_wrap=not console.is_terminal, crop=False)
        console.print()
    console.print(
        "[dim]percent with 95 % intervals; #: possible ranks, from significant differences (paired tests, "
        f"Holm's correction per column, {100 * board.level:g} %); bold: no model is significantly better[/]",
        soft_wrap=True,
    )


def _blocks(table: Grid, width: int) -> Iterator[list[int]]:
    """Yield the places of columns that fit side by side; each block has at least one."""
    names = min(_NAME_WIDTH, max(map(cell_len, table.models)))
    block: list[int] = []
    left = width - names
    for at in range(len(table.headings)):
        needed = _width(table, at) + _GAP
        if block and needed > left:
            yield block
            block, left = [], width - names
        block.append(at)
        left -= needed
    if block:
        yield block


def _width(table: Grid, at: int) -> int:
    heading = table.headings[at]
    words = [row[at] for row in table.rows]
    cells = [cell_len(line) for one in words if one is not None for line in _lines(one)]
    longest_word = max(cell_len(word) for word in (*heading.name.split(), *heading.about.split(), ""))
    return max(*cells, min(_HEADING_WIDTH, longest_word), 1)


def _block(table: Grid, columns: list[int]) -> Table:
    block = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    block.add_column("model", overflow="fold", max_width=_NAME_WIDTH, vertical="top")
    for at in columns:
        heading = table.headings[at]
        name = Text(heading.name)
        name.append(f"\n{heading.about}", style="not bold dim")
        width = _width(table, at)
        block.add_column(name, justify="right", overflow="fold", width=width, vertical="top")
    for model, row in zip(table.models, table.rows, strict=True):
        block.add_row(Text(model), *(_cell(row[at]) for at in columns))
    return block


def _lines(words: CellText) -> tuple[str, str]:
    place = f"#{words.rank}" if words.rank else words.lacks
    return f"{words.value} {place}".rstrip(), words.interval


def _cell(words: CellText | None) -> Text:
    if words is None:
        return Text("-", style="dim")
    first, second = _lines(words)
    text = Text(first, style="bold" if words.is_leading else "")
    if second:
        text.append(f"\n{second}", style="not bold dim")
    return text
