"""Tables that fit the terminal without breaking a word or cutting a number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from assay.faces.cli.console import out

_WIDEST = 1_000


def print_table(table: Table | Text) -> None:
    """Print a complete table; on a narrow terminal, lines wrap and nothing is omitted."""
    if isinstance(table, Text):
        out.print(table, soft_wrap=True)
        return
    needed = _measure_width(table)
    if needed > out.width:
        table.width = needed
    out.print(table, soft_wrap=not out.is_terminal, crop=False)


def print_rows(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    n_left: int,
    wrapping: Collection[int] = (),
    optional: Sequence[Collection[int]] = (),
    n_once: int = 0,
) -> None:
    """Print a table of plain cells that fits the terminal, or the rows one below the other if none fits.

    The first `n_left` columns are texts, the others numbers. Only `wrapping` columns are folded. A narrow
    terminal omits `optional` columns, one group after the other. If the first `n_once` cells of a row equal
    those of the row above, they stay empty.
    """
    places = list(range(len(headings)))
    for omitted in ((), *optional):
        places = [at for at in places if at not in omitted]
        for gap in (2, 1):
            table = _start_table(gap)
            for at in places:
                cells = [row[at] for row in rows]
                _add_column(table, headings[at], cells, is_text=at < n_left, wraps=at in wrapping)
            for row, is_repeated in zip(rows, _find_repeated(rows, n_once), strict=True):
                table.add_row(*("" if is_repeated and at < n_once else escape(row[at]) for at in places))
            if not _is_too_wide(table):
                print_table(table)
                return
    names = [" ".join(heading.split()) for heading in headings]
    print_table(_stack_rows(names, rows, n_once))


def _find_repeated(rows: Sequence[Sequence[str]], n_once: int) -> list[bool]:
    """Return for each row whether its first cells equal those of the row above."""
    above = ((), *rows)
    return [n_once > 0 and one[:n_once] == row[:n_once] for one, row in zip(above, rows, strict=False)]


def _start_table(gap: int = 2) -> Table:
    return Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0))


def _add_column(
    table: Table, heading: str, cells: Iterable[str], *, is_text: bool, wraps: bool = False, style: str = ""
) -> None:
    """Add a column that is never narrower than its cells, unless it wraps."""
    lines = (line for text in (heading, *cells) for line in text.split("\n"))
    table.add_column(
        heading,
        justify="left" if is_text else "right",
        style=style,
        no_wrap=not wraps,
        min_width=None if wraps else max(map(cell_len, lines)),
        overflow="fold",
        vertical="bottom",
    )


def fit_table(
    layouts: Sequence[Sequence[str]],
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    means: Sequence[Sequence[str]] = (),
) -> Table | Text:
    """Return the widest layout that fits the terminal, or the rows one below the other if none fits."""
    for headings in layouts:
        table = _build_table(headings, rows, means)
        if not _is_too_wide(table):
            return table
    return _stack_rows(names, [*rows, *means])


def _measure_width(table: Table) -> int:
    return out.measure(table, options=out.options.update(width=_WIDEST)).minimum


def _is_too_wide(table: Table) -> bool:
    return out.is_terminal and _measure_width(table) > out.width


def _build_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], means: Sequence[Sequence[str]]
) -> Table:
    table = _start_table(gap=1)
    for index, heading in enumerate(headings):
        cells = [row[index] for row in (*rows, *means)]
        style = "bold cyan" if index == 3 else ""
        _add_column(table, heading, cells, is_text=index < 2, wraps=index == 0, style=style)
    for row in rows:
        table.add_row(*(escape(cell) for cell in row[: len(headings)]))
    if means:
        table.add_row()
    for row in means:
        table.add_row(*(escape(cell) for cell in row[: len(headings)]), style="bold")
    return table


def _stack_rows(names: Sequence[str], rows: Sequence[Sequence[str]], n_once: int = 0) -> Text:
    """Return the rows for a narrow terminal: a heading, then a line for each value."""
    width = max(map(cell_len, names))
    lines: list[Text] = []
    for row, is_repeated in zip(rows, _find_repeated(rows, n_once), strict=True):
        if not is_repeated:
            lines.append(Text("  ".join(filter(None, row[:2])), style="bold"))
        for at in range(n_once if is_repeated else 2, len(row)):
            if row[at]:
                lines.append(Text(f"  {names[at]:<{width}}  {row[at]}"))
    return Text("\n").join(lines)
