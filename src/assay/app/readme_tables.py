"""Task tables in a README: find them by their headings and edit single cells; the rest stays unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

Column: TypeAlias = Literal["task", "introduction", "metrics", "shots", "format", "path"]
COLUMNS: tuple[Column, ...] = get_args(Column)
_HEADINGS: Mapping[Column, re.Pattern[str]] = {
    "task": re.compile(r"task ?name|任务名称?"),
    "introduction": re.compile(r"introduction|description|简介"),
    "metrics": re.compile(r"(?:evaluation ?)?metrics?|评估指标"),
    "shots": re.compile(r"(?:no\. of )?few[- ]?shots?"),
    "format": re.compile(r"prompt ?(?:format|格式)"),
    "path": re.compile(r".*(?:path|config file)|.*路径"),
}
"""The column headings of AISBench's pages, in either language."""
_NEEDED = {"task", "path"}
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_FENCE = re.compile(r" {0,12}(```+|~~~+)")
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]*)\)")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


class Row(NamedTuple):
    """A row of a task table."""

    line: int
    """Its line in the page, from 0."""
    cells: Mapping[Column, str]
    """Its cells, without surrounding space."""

    @property
    def configs(self) -> tuple[str, ...]:
        """Return the files that it may mean, most likely first: its link's target, its text, its task's."""
        path = self.cells["path"]
        link = _LINK.search(path)
        named = [link["target"], link["text"]] if link else [path]
        files = [name.strip("` ").removeprefix("./") for name in named if name.strip("` ").endswith(".py")]
        return (*files, f"{self.cells['task'].strip('` ')}.py")


class TaskTable(NamedTuple):
    """A task table."""

    columns: tuple[Column | None, ...]
    """What its columns are; None: an unknown column."""
    rows: tuple[Row, ...]
    end: int
    """The line after its last row."""
    is_chinese: bool
    is_spaced: bool
    """Whether cells have a space next to the bars."""


class ReadmePage:
    """A README with its task tables."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.tables = tuple(self._tables())

    @property
    def is_chinese(self) -> bool:
        """Return whether its headings are Chinese."""
        headings = [line for line in self.lines if line.startswith("#")]
        return bool(_CHINESE.search("".join(headings[1:])))

    def _tables(self) -> Iterator[TaskTable]:
        fence = ""
        at = 0
        while at < len(self.lines):
            mark = _FENCE.match(self.lines[at])
            if mark and (not fence or mark[1].startswith(fence)):
                fence = "" if fence else mark[1]
            elif not fence and (table := self._table(at)) is not None:
                yield table
                at = table.end
                continue
            at += 1

    def _table(self, at: int) -> TaskTable | None:
        """Return the task table whose headings are in a line."""
        heading = self.lines[at]
        if "|" not in heading or at + 1 == len(self.lines) or not _RULE.fullmatch(self.lines[at + 1]):
            return None
        columns = tuple(map(_column, _cells(heading)))
        if not _NEEDED.issubset(columns):
            return None
        end = at + 2
        rows = []
        while end < len(self.lines) and "|" in self.lines[end]:
            cells = [cell.strip() for cell in _cells(self.lines[end])]
            known = {name: cell for name, cell in zip(columns, cells, strict=False) if name is not None}
            if known.keys() >= _NEEDED:
                rows.append(Row(end, known))
            end += 1
        return TaskTable(columns, tuple(rows), end, bool(_CHINESE.search(heading)), "| " in heading)


class ReadmeEdit:
    """Changes to a page, applied together."""

    def __init__(self, page: ReadmePage) -> None:
        self._page = page
        self._lines: list[str | None] = list(page.lines)
        self._behind: dict[int, list[str]] = {}
        self._end = next((end for end in ("\r\n", "\n") if end in page.text), "\n")

    def put(self, table: TaskTable, row: Row, column: Column, text: str) -> None:
        """Replace the text of a cell; the other cells stay unchanged."""
        line = self._lines[row.line]
        assert line is not None
        bars = [match.start() for match in _BETWEEN_CELLS.finditer(line)]
        opens = 0 if line.lstrip().startswith("|") else -1
        at = opens + table.columns.index(column)
        start = bars[at] + 1 if at >= 0 else 0
        end = bars[at + 1] if at + 1 < len(bars) else len(line.rstrip())
        self._lines[row.line] = line[:start] + _pad_cell(line[start:end], text) + line[end:]

    def remove(self, row: Row) -> None:
        """Remove a row."""
        self._lines[row.line] = None

    def add(self, table: TaskTable, cells: Mapping[Column, str]) -> None:
        """Add a row below the others."""
        texts = ["" if column is None else cells[column] for column in table.columns]
        self._behind.setdefault(table.end, []).append(_row(texts, is_spaced=table.is_spaced))

    def add_table(self, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a section with a table at the end of the page."""
        section = [f"## {title}", "", _row(headings), _row(["---"] * len(headings)), *map(_row, rows)]
        lines = ["", *section] if self._page.text.strip() else section
        self._behind.setdefault(len(self._lines), []).extend(lines)

    def text(self) -> str:
        """Return the page with all changes."""
        lines: list[str] = []
        for at, line in enumerate([*self._lines, None]):
            for added in self._behind.get(at, ()):
                # The last line of a file may lack a line end.
                if lines and not lines[-1].endswith(("\n", "\r")):
                    lines[-1] += self._end
                lines.append(added + self._end)
            if line is not None:
                lines.append(line)
        return "".join(lines)


def _column(heading: str) -> Column | None:
    words = " ".join(heading.strip().strip("*` ").casefold().split())
    return next((name for name, pattern in _HEADINGS.items() if pattern.fullmatch(words)), None)


def _cells(line: str) -> list[str]:
    inside = line.strip()
    inside = inside.removeprefix("|")
    inside = inside[:-1] if inside.endswith("|") and not inside.endswith("\\|") else inside
    return _BETWEEN_CELLS.split(inside)


def _row(cells: Sequence[str], *, is_spaced: bool = True) -> str:
    escaped = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped)} |" if is_spaced else f"|{'|'.join(escaped)}|"


def _pad_cell(cell: str, text: str) -> str:
    """Return a text padded like a cell, so that aligned columns stay aligned."""
    before = cell[: len(cell) - len(cell.lstrip())] if cell.strip() else " "
    after = cell[len(cell.rstrip()) :] if cell.strip() else " "
    padded = before + text.replace("|", "\\|")
    return padded.ljust(len(cell)) if len(after) > 1 and len(padded) < len(cell) else padded + after
