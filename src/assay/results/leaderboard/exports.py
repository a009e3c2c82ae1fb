"""Leaderboard exports: Markdown, CSV with exact numbers, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import msgspec

from assay.results.leaderboard.board import Board
from assay.results.leaderboard.grid import CellText, Grid, GroupBy, build_grid
from assay.results.rows import markdown_list, markdown_table

Format: TypeAlias = Literal["markdown", "csv", "latex"]

_LEGEND = (
    "Scores are in percent, with 95 % intervals. # is the range of possible ranks: only models that are "
    "significantly better rank above it for certain. Significance comes from a paired test over samples at "
    "5 %, with Holm's correction over all pairs of the column. **Bold**: no model is significantly better."
)

_NUMBERS = ("value", "low", "high", "stderr")
_COUNTS = ("n", "n_scored", "n_unanswered", "n_truncated", "n_failed")
_FIELDS = (
    *("kind", "model", "model_digest", "name", "dataset", "part", "method", "metric", "shots", "samples"),
    *("data", "higher_is_better", "counts", *_NUMBERS, *_COUNTS, "rank_best", "rank_worst"),
    *("n_columns", "n_lacking", "run", "host", "started"),
)


def export_board(board: Board, form: Format, *, by: GroupBy = "dataset") -> str:
    """Return the board as the text of a file."""
    return _EXPORTS[form](board, by)


def _markdown(board: Board, by: GroupBy) -> str:
    table = build_grid(board, by)
    headings = ["model", *(f"{one.name} ({one.about})" for one in table.headings)]
    rows = [
        [model, *(_markdown_cell(words) for words in row)]
        for model, row in zip(table.models, table.rows, strict=True)
    ]
    parts = [markdown_table(headings, rows), _LEGEND]
    if board.notes:
        parts.append(markdown_list(board.notes))
    return "\n\n".join(parts) + "\n"


def _markdown_cell(words: CellText | None) -> str:
    if words is None:
        return "-"
    value = f"**{words.value}**" if words.is_leading else words.value
    parts = [value, words.interval, f"#{words.rank}" if words.rank else words.lacks]
    return " ".join(part for part in parts if part)


def _csv(board: Board, by: GroupBy) -> str:
    """Return a line for each model and column and each model and mean, also for missing values."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _FIELDS, lineterminator="\n")
    writer.writeheader()
    for row, model in enumerate(board.models):
        head: dict[str, object] = {"model": model.name, "model_digest": model.digest}
        for mean, mean_cell in zip(board.means, board.mean_cells[row], strict=True):
            if (mean.kind == "ability") == (by == "ability"):
                n = 0 if mean_cell is None else mean_cell.n_columns
                line = {**head, "kind": mean.kind, "name": mean.name, "higher_is_better": True}
                line |= {"n_columns": n, "n_lacking": len(mean.columns) - n}
                writer.writerow(line | _get_cell_numbers(mean_cell))
        for column, cell in zip(board.columns, board.cells[row], strict=True):
            if by == "dataset" and column.part is None:
                line = {**head, "kind": "dataset", "name": column.label, "dataset": column.dataset}
                line |= {"method": column.method, "metric": column.metric, "counts": column.counts}
                line |= {key: column.conditions.get(key, "") for key in ("shots", "samples", "data")}
                line["higher_is_better"] = column.higher_is_better
                writer.writerow(line | _get_cell_numbers(cell))
    return text.getvalue()


def _get_cell_numbers(cell: msgspec.Struct | None) -> dict[str, object]:
    """Return the exact numbers of a cell."""
    if cell is None:
        return {}
    names = (*_NUMBERS, *_COUNTS, "run", "host", "started")
    found = {name: getattr(cell, name) for name in names if hasattr(cell, name)}
    rank = getattr(cell, "rank", None)
    return found | ({} if rank is None else {"rank_best": rank.best, "rank_worst": rank.worst})


def _latex(board: Board, by: GroupBy) -> str:
    """Return a booktabs table, transposed if there are more columns than models."""
    table = build_grid(board, by)
    if len(table.headings) > len(table.models):
        names = [heading.name for heading in table.headings]
        across, rows = table.models, [list(column) for column in zip(*table.rows, strict=True)]
    else:
        names, across, rows = table.models, [heading.name for heading in table.headings], table.rows
    body = [
        " & ".join([escape_latex(name), *(_latex_cell(words) for words in row)]) + r" \\"
        for name, row in zip(names, rows, strict=True)
    ]
    lines = [
        *_preamble(table),
        rf"\begin{{tabular}}{{l{'r' * len(across)}}}",
        r"\toprule",
        " & ".join(["", *(escape_latex(name) for name in across)]) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _preamble(table: Grid) -> list[str]:
    lines = [
        r"% \usepackage{booktabs}",
        "% Bold: best value. Star: no model is significantly better (paired tests, Holm's correction).",
    ]
    if not "".join((*table.models, *(one.name for one in table.headings))).isascii():
        lines.append("% Non-ASCII names: compile with XeLaTeX or LuaLaTeX and a font that has them.")
    return lines


def _latex_cell(words: CellText | None) -> str:
    if words is None:
        return "--"
    value = rf"\textbf{{{words.value}}}" if words.is_best else words.value
    star = "$^{*}$" if words.is_leading else ""
    interval = rf" {{\scriptsize {words.interval.replace('–', '--')}}}" if words.interval else ""
    lacks = rf" {{\scriptsize ({words.lacks})}}" if words.lacks else ""
    return f"{value}{star}{interval}{lacks}"


_LATEX: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "↓": r"$\downarrow$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def escape_latex(text: str) -> str:
    """Escape a text for LaTeX; line breaks become spaces."""
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


_EXPORTS: Mapping[Format, Callable[[Board, GroupBy], str]] = {
    "markdown": _markdown,
    "csv": _csv,
    "latex": _latex,
}
