"""The tables that lm-eval prints: one line for each value of each task and group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.results.exchange.lm_eval_files import NO_STDERR, name_stderr

_ARROWS = {True: "↑", False: "↓"}
_DESCRIPTION = ("alias", "name", "sample_len", "sample_count")
_HEADINGS = ("Version", "Filter", "n-shot", "Metric", "", "Value", "", "Stderr")


def format_table(results: Mapping[str, Any], column: str = "results") -> str:
    """Return the table of a results file: of its tasks and groups, or with column="groups" of its groups."""
    heading = "Groups" if column == "groups" else "Tasks"
    rows = [row for key, depth in _order(results, column) for row in _list_rows(results, column, key, depth)]
    return _format_rows((heading, *_HEADINGS), rows)


def _order(results: Mapping[str, Any], column: str) -> Iterator[tuple[str, int]]:
    """Yield names with their depth: groups before their members, then everything else."""
    available, members = results[column], results["group_subtasks"]
    inner = {member for several in members.values() for member in several}
    seen: set[str] = set()

    def visit(name: str, depth: int) -> Iterator[tuple[str, int]]:
        if name in seen:
            return
        seen.add(name)
        if name in available:
            yield name, depth
        for member in sorted(members.get(name, ())):
            yield from visit(member, depth + 1)

    for name in sorted(members):
        if name not in inner:
            yield from visit(name, 0)
    yield from ((name, 0) for name in sorted(available) if name not in seen)


def _list_rows(results: Mapping[str, Any], column: str, key: str, depth: int) -> Iterator[list[str]]:
    entry = results[column][key]
    directions = results["higher_is_better"].get(key, {})
    shown = " " * depth + ("- " if depth else "") + str(entry.get("alias", key))
    version = _format_version(results["versions"].get(key, "N/A"))
    n_shots = str(results["n-shot"].get(key, " "))
    for name in sorted(entry):
        metric, _, chosen = name.partition(",")
        if name in _DESCRIPTION or metric.endswith("_stderr"):
            continue
        stderr = entry.get(name_stderr(name))
        arrow = _ARROWS.get(directions.get(metric), "")
        error = "" if stderr is None else f"{'N/A':>6}" if stderr == NO_STDERR else f"{stderr:.4f}"
        sign = "" if stderr is None else "±"
        yield [shown, version, chosen, n_shots, metric, arrow, _format_value(entry[name]), sign, error]
        shown = version = ""


def _format_version(version: Any) -> str:
    return f"{version:g}" if isinstance(version, float) else str(version)


def _format_value(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _format_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with numbers aligned to the right."""
    columns = list(zip(headings, *rows, strict=True))
    widths = [max(3, *map(len, column)) for column in columns]
    rules = (
        "-" * (width - 1) + (":" if _has_only_numbers(column[1:]) else "-")
        for column, width in zip(columns, widths, strict=True)
    )
    lines = [
        _join_cells(_center(heading, width) for heading, width in zip(headings, widths, strict=True)),
        _join_cells(rules),
    ]
    for row in rows:
        cells = zip(row, widths, strict=True)
        lines.append(
            _join_cells(cell.rjust(width) if _is_number(cell) else cell.ljust(width) for cell, width in cells)
        )
    return "\n".join(lines)


def _center(text: str, width: int) -> str:
    return " " * ((width - len(text)) // 2) + text + " " * ((width - len(text) + 1) // 2)


def _join_cells(cells: Iterable[str]) -> str:
    return f"|{'|'.join(cells)}|"


def _has_only_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(map(_is_number, filled))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
