"""The summary of OpenCompass and AISBench: a row per dataset, a column per model; text, CSV and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.app.table_datasets import compute_table_version
from assay.core.score import Metric
from assay.core.summary_group import Subset
from assay.core.task import TaskSpec
from assay.results.read import StoredRun
from assay.systems.aisbench.result_files import EXTRACT_RATE
from assay.systems.opencompass.result_files import scale_value, select_metrics

_HEADINGS = ("dataset", "version", "metric", "mode")
_NONE = "-"
_PADDING = 2
"""How much wider than its heading a column is at least."""
FAILED_MARK = "*"
_LINE = 128
_MODES = {"PPLInferencer": "ppl", "PPLOnlyInferencer": "ppl", "LLInferencer": "ll", "CLPInferencer": "clp"}
"""The originals' names of likelihood methods; all other inferencers generate text."""


class ModelColumn(NamedTuple):
    """A model's complete run."""

    name: str
    run: StoredRun
    results: Mapping[str, Mapping[str, Any]] = {}
    """AISBench: the content of each dataset's result file."""


class _Cell(NamedTuple):
    """One dataset or group on one model."""

    version: str
    mode: str
    metrics: Sequence[Metric]
    """Its headline metric first."""


TextTable = list[list[str]]


def summary_table(
    columns: Sequence[ModelColumn], rows: Sequence[Subset] | None, *, marks_failed: bool = False
) -> TextTable:
    """Return the table, headings first; without `rows`, all datasets and groups.

    `marks_failed`: mark scores that leave out failed rows.
    """
    names = list(dict.fromkeys(column.name for column in columns))
    cells: dict[str, dict[str, _Cell]] = {name: {} for name in names}
    for column in columns:
        # Several runs with the same model name share one column.
        cells[column.name] |= _cells(column)
    table = [[*_HEADINGS, *names]]
    for row in _list_all_rows(cells) if rows is None else rows:
        table.append(_line(row, names, cells, marks_failed=marks_failed))
    return table


def list_failed_rows(columns: Sequence[ModelColumn]) -> Iterator[str]:
    """Yield a line for each dataset whose score leaves out rows that failed."""
    for column in columns:
        for name, cell in _cells(column).items():
            first = next(iter(cell.metrics), None)
            if first is not None and first.n_failed and name not in column.run.manifest.groups:
                left = f"{first.n_failed:,} of {first.n:,} rows failed and are not in the score"
                yield f"{FAILED_MARK} {column.name}, {name}: {left}"


def _cells(column: ModelColumn) -> dict[str, _Cell]:
    run = column.run
    metrics = run.metrics()
    specs = {spec.name: spec for spec in run.manifest.tasks}
    cells = {
        name: _Cell(
            str(spec.settings.get("prompt_hash") or compute_table_version(spec) or _NONE),
            _mode(spec),
            _add_extract_rate(select_metrics(spec, metrics), column.results.get(name, {}).get(EXTRACT_RATE)),
        )
        for name, spec in specs.items()
    }
    for group, members in run.manifest.groups.items():
        modes = {_mode(specs[name]) for name in members if name in specs}
        own = [one for one in metrics if one.task == group and one.group is None]
        own.sort(key=lambda one: one.is_headline)  # The members' shared metrics come before the group's name.
        cells[group] = _Cell(_NONE, modes.pop() if len(modes) == 1 else "mixed", own)
    return cells


def _add_extract_rate(metrics: Sequence[Metric], rate: float | None) -> Sequence[Metric]:
    """Return metrics with the extract rate, which the originals put after the first."""
    if rate is None or not metrics:
        return metrics
    first = metrics[0]
    added = msgspec.structs.replace(first, metric=EXTRACT_RATE, value=rate / 100, is_share=True)
    return [first, added, *metrics[1:]]


def _mode(spec: TaskSpec) -> str:
    name = str((spec.settings.get("inferencer") or {}).get("name", ""))
    return _MODES.get(name, spec.methods[0])


def _list_all_rows(cells: Mapping[str, Mapping[str, _Cell]]) -> Iterator[Subset]:
    seen = set()
    for of_model in cells.values():
        for name, cell in of_model.items():
            # A dataset without scores gets a row without a value.
            named: list[str | None] = [one.metric for one in cell.metrics]
            for metric in named or [None]:
                if (name, metric) not in seen:
                    seen.add((name, metric))
                    yield Subset(name, metric)


def _line(
    row: Subset, names: Sequence[str], cells: Mapping[str, Mapping[str, _Cell]], *, marks_failed: bool
) -> list[str]:
    by_model: dict[str, Metric] = {}
    head: _Cell | None = None
    for name in names:
        cell = cells[name].get(row.name)
        fitting = [one for one in (cell.metrics if cell else ()) if row.metric in (None, one.metric)]
        if cell is not None and fitting:
            head = head or cell
            by_model[name] = fitting[0]
    if head is None:
        return [row.name, *[_NONE] * (len(_HEADINGS) - 1 + len(names))]
    first = next(iter(by_model.values())).metric
    values = (_format_value(by_model.get(name), marks_failed=marks_failed) for name in names)
    return [row.name, head.version, first, head.mode, *values]


def _format_value(metric: Metric | None, *, marks_failed: bool) -> str:
    value = None if metric is None else scale_value(metric)
    if metric is None or value is None:
        return _NONE
    return f"{value:.2f}{FAILED_MARK if marks_failed and metric.n_failed else ''}"


def plain_table(table: TextTable) -> str:
    """Return a table for the terminal, padded like the originals'."""
    columns = list(zip(*table, strict=True))
    widths = [max(len(head) + _PADDING, *map(len, cells)) for head, *cells in columns]
    are_numbers = [all(map(_is_number, cells)) for _, *cells in columns]
    ruled = [table[0], ["-" * width for width in widths], *table[1:]]
    lines = []
    for line in ruled:
        parts = [
            text.rjust(width) if at >= len(_HEADINGS) and are_numbers[at] else text.ljust(width)
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    try:
        float(text.removesuffix(FAILED_MARK))
    except ValueError:
        return False
    return True


def write_summary(table: TextTable, columns: Sequence[ModelColumn], folder: Path, stamp: str) -> Path:
    """Write the three files of a summary; return the path of the text file."""
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
                *_section("raw format", "\n".join(_raw(columns))),
            ]
        ),
        # A comma inside a name would start another column.
        "csv": "\n".join(",".join(text.replace(",", " ") for text in line) for line in table) + "\n",
        "md": _markdown(table),
    }
    for ending, content in files.items():
        (folder / f"summary_{stamp}.{ending}").write_text(content, encoding="utf-8")
    return folder / f"summary_{stamp}.txt"


def _markdown(table: TextTable) -> str:
    lines = [f"| {' | '.join(table[0])} |", f"|{' | '.join(['-----'] * len(table[0]))}|"]
    return "\n".join([*lines, *(f"| {' | '.join(line)} |" for line in table[1:])]) + "\n"


def _raw(columns: Sequence[ModelColumn]) -> Iterator[str]:
    for column in columns:
        yield "-------------------------------"
        yield f"Model: {column.name}"
        for name, cell in _cells(column).items():
            values = {one.metric: scale_value(one) for one in cell.metrics}
            yield f"{name}: {column.results.get(name, values)}"


def _section(title: str, content: str) -> list[str]:
    return [title, "^" * _LINE, content, "$" * _LINE, ""]


def _divider() -> list[str]:
    return ["-" * _LINE + " THIS IS A DIVIDER " + "-" * _LINE, ""]
