"""The summary of OpenCompass and AISBench: datasets down, models across, as text, csv and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from assay.app.openicl_results import System, shown_metrics, shown_value
from assay.app.table_datasets import version_of_table
from assay.core.score import Metric
from assay.core.summary_group import Subset
from assay.core.task import TaskSpec
from assay.results.read import StoredRun

_HEADINGS = ("dataset", "version", "metric", "mode")
_NONE = "-"
_LINE = 128
_MODES = {"PPLInferencer": "ppl", "PPLOnlyInferencer": "ppl", "LLInferencer": "ll", "CLPInferencer": "clp"}
"""What the originals call the ways of asking; all others write texts."""


class Column(NamedTuple):
    """A model's complete run."""

    name: str
    run: StoredRun


class _Cell(NamedTuple):
    """One dataset or group on one model."""

    version: str
    mode: str
    metrics: Sequence[Metric]
    """What it is told by first."""


Table = list[list[str]]


def summary_table(columns: Sequence[Column], rows: Sequence[Subset] | None, system: System) -> Table:
    """Return the table, its headings first; without rows that are asked for, every dataset and group."""
    names = list(dict.fromkeys(column.name for column in columns))
    cells: dict[str, dict[str, _Cell]] = {name: {} for name in names}
    for column in columns:
        # Parts of one model that have one name in the table are one column.
        cells[column.name] |= _cells(column.run, system)
    table = [[*_HEADINGS, *names]]
    for row in _every(cells) if rows is None else rows:
        table.append(_line(row, names, cells))
    return table


def _cells(run: StoredRun, system: System) -> dict[str, _Cell]:
    metrics = run.metrics()
    specs = {spec.name: spec for spec in run.manifest.tasks}
    cells = {
        name: _Cell(_version(spec, system), _mode(spec), shown_metrics(spec, metrics))
        for name, spec in specs.items()
    }
    for group, members in run.manifest.groups.items():
        modes = {_mode(specs[name]) for name in members if name in specs}
        own = [one for one in metrics if one.task == group and one.group is None]
        cells[group] = _Cell(_NONE, modes.pop() if len(modes) == 1 else "mixed", own)
    return cells


def _version(spec: TaskSpec, system: System) -> str:
    of_table = version_of_table(spec) if system == "opencompass" else None
    return str(spec.settings.get("prompt_hash") or of_table or _NONE)


def _mode(spec: TaskSpec) -> str:
    name = str((spec.settings.get("inferencer") or {}).get("name", ""))
    return _MODES.get(name, spec.methods[0])


def _every(cells: Mapping[str, Mapping[str, _Cell]]) -> Iterator[Subset]:
    seen = set()
    for of_model in cells.values():
        for name, cell in of_model.items():
            for metric in cell.metrics:
                if (name, metric.metric) not in seen:
                    seen.add((name, metric.metric))
                    yield Subset(name, metric.metric)


def _line(row: Subset, names: Sequence[str], cells: Mapping[str, Mapping[str, _Cell]]) -> list[str]:
    found: dict[str, Metric] = {}
    head: _Cell | None = None
    for name in names:
        cell = cells[name].get(row.name)
        fitting = [one for one in (cell.metrics if cell else ()) if row.metric in (None, one.metric)]
        if cell is not None and fitting:
            head = head or cell
            found[name] = fitting[0]
    if head is None:
        return [row.name, *[_NONE] * (len(_HEADINGS) - 1 + len(names))]
    first = next(iter(found.values())).metric
    values = (shown_value(found[name]) if name in found else None for name in names)
    shown = (_NONE if value is None else f"{value:.2f}" for value in values)
    return [row.name, head.version, first, head.mode, *shown]


def plain_table(table: Table) -> str:
    """Return a table for the terminal."""
    # As wide as the originals' tables: a heading has two characters to spare.
    widths = [
        max(len(table[0][at]) + 2, *(len(line[at]) for line in table[1:]), 0) for at in range(len(table[0]))
    ]
    ruled = [table[0], ["-" * width for width in widths], *table[1:]]
    lines = []
    for line in ruled:
        parts = [
            text.rjust(width) if at >= len(_HEADINGS) else text.ljust(width)
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def write_summary(table: Table, columns: Sequence[Column], folder: Path, stamp: str, system: System) -> Path:
    """Write the three files of a summary; return that of the text."""
    folder.mkdir(parents=True, exist_ok=True)
    comma_separated = "\n".join(",".join(line) for line in table)
    files = {
        "txt": "\n".join(
            [
                stamp,
                *_section("tabulate format", plain_table(table)),
                *_divider(),
                *_section("csv format", comma_separated),
                *_section("markdown format", _markdown(table))[:-1],
                *_divider(),
                *_section("raw format", "\n".join(_raw(columns, system))),
            ]
        ),
        # A comma inside a name would make another column.
        "csv": "\n".join(",".join(text.replace(",", " ") for text in line) for line in table) + "\n",
        "md": _markdown(table),
    }
    for ending, content in files.items():
        (folder / f"summary_{stamp}.{ending}").write_text(content, encoding="utf-8")
    return folder / f"summary_{stamp}.txt"


def _markdown(table: Table) -> str:
    lines = [f"| {' | '.join(table[0])} |", f"|{' | '.join(['-----'] * len(table[0]))}|"]
    return "\n".join([*lines, *(f"| {' | '.join(line)} |" for line in table[1:])]) + "\n"


def _raw(columns: Sequence[Column], system: System) -> Iterator[str]:
    for column in columns:
        yield "-------------------------------"
        yield f"Model: {column.name}"
        for name, cell in _cells(column.run, system).items():
            yield f"{name}: { {one.metric: shown_value(one) for one in cell.metrics} }"


def _section(title: str, content: str) -> list[str]:
    return [title, "^" * _LINE, content, "$" * _LINE, ""]


def _divider() -> list[str]:
    return ["-" * _LINE + " THIS IS A DIVIDER " + "-" * _LINE, ""]
