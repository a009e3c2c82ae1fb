"""The tables that lm-eval prints: one line for each value of each task and group."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.results.exchange.lm_eval_files import NO_STDERR, name_stderr

_ARROWS = {True: "↑", False: "↓"}
_DESCRIPTION = ("alias", "name", "sample_len", "sample_count")
_NUMBER = re.compile(r"-?\d+(\.\d+)?|nan|-?inf")
_SPECIAL_NUMBERS = {"nan": "NaN", "inf": "Infinity"}
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


def _list_rows(results: Mapping[str, Any], column: str, key: str, depth: int) -> Iterator[list[Any]]:
    entry = results[column][key]
    directions = results["higher_is_better"].get(key, {})
    shown = " " * depth + ("- " if depth else "") + str(entry.get("alias", key))
    version = results["versions"].get(key, f"{NO_STDERR:>7}")
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


def _format_value(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _format_rows(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table with numbers aligned to the right."""
    columns = [_format_column(heading, cells) for heading, *cells in zip(headings, *rows, strict=True)]
    return "\n".join(f"|{'|'.join(line)}|" for line in zip(*columns, strict=True))


def _format_column(heading: str, cells: Sequence[Any]) -> list[str]:
    """Return the lines of a column, of equal width: its heading, the rule below it, and its cells."""
    numbers = _read_numbers(cells)
    texts = [str(cell) for cell, number in zip(cells, numbers, strict=True) if number is None]
    is_numeric = not any(text.strip() for text in texts) and any(map(_is_finite, numbers))
    n_decimals = max((_count_decimals(number) for number in numbers if _is_finite(number)), default=0)
    shown = [
        (str(cell), False)
        if number is None
        else (_SPECIAL_NUMBERS[str(abs(number))], is_numeric)
        if not _is_finite(number)
        else (_format_number(number, n_decimals if is_numeric or number % 1 else 0), True)
        for cell, number in zip(cells, numbers, strict=True)
    ]
    width = max(3, len(heading), *(len(text) for text, _ in shown))
    rule = "-" * (width - 1) + (":" if is_numeric else "-")
    lines = [text.rjust(width) if is_right else text.ljust(width) for text, is_right in shown]
    return [_center(heading, width), rule, *lines]


def _read_numbers(cells: Sequence[Any]) -> list[float | None]:
    """Return the numbers of a column, None for texts. Below more texts than numbers, `0.5` is a text too."""
    numbers: list[float | None] = []
    surplus = 0
    for cell in cells:
        number = None if isinstance(cell, str) and surplus > 0 else _read_number(cell)
        surplus += 0 if not str(cell).strip() else 1 if number is None else -1
        numbers.append(number)
    return numbers


def _read_number(cell: Any) -> float | None:
    if isinstance(cell, str) and not _NUMBER.fullmatch(cell):
        return None
    return float(cell) if isinstance(cell, str | int | float) and not isinstance(cell, bool) else None


def _is_finite(number: float | None) -> bool:
    return number is not None and math.isfinite(number)


def _count_decimals(number: float | None) -> int:
    return len(f"{number or 0:.4f}".rstrip("0").partition(".")[2])


def _format_number(number: float, n_decimals: int) -> str:
    return f"{number + 0:.{n_decimals}f}"  # Adding 0 turns -0.0 into 0.0.


def _center(text: str, width: int) -> str:
    return " " * ((width - len(text)) // 2) + text + " " * ((width - len(text) + 1) // 2)
