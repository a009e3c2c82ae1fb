"""The comparison page: its data, and the page as a single HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import msgspec

from assay.results.comparison import Fourfold, MetricComparison, RunComparison, Side
from assay.results.comparison_words import (
    describe_difference,
    describe_left_out,
    format_compared_label,
    format_compared_method,
    format_difference,
    format_difference_interval,
    format_p,
    format_side_letter,
    format_side_value,
    select_notable_comparisons,
    summarize_comparison,
)
from assay.results.draft_file import replacing_file
from assay.results.pages.data import InFile, SampleTable
from assay.results.pages.file_blocks import DetailBlocks, MediaBlocks, shorten_responses
from assay.results.pages.page_file import render_page_file
from assay.results.run_view import RunView
from assay.results.sample_join import pair_tasks


class CompareRow(msgspec.Struct, frozen=True):
    """One metric of two sides with its texts."""

    task: str
    label: str
    """The displayed name: the task or the mean."""
    method: str
    """The method, as the sample columns name it."""
    title: str
    """The displayed method, with the metric unless it is an accuracy."""
    first: int
    second: int
    """Indexes of the sides."""
    is_mean: bool
    """Whether it is a mean over subsets."""
    is_headline: bool
    is_real: bool
    better: int | None
    """The side with the better value."""
    unit: Literal["points", "percent", "own"]
    """The unit of `at`, `low` and `high`: percentage points, change in percent, or the metric's own."""
    at: float | None
    """The second value minus the first."""
    low: float | None
    high: float | None
    first_value: str
    second_value: str
    difference: str
    interval: str
    p: str
    """As text, such as `= 0.03`."""
    test: Literal["mcnemar", "student"]
    sentence: str
    n: int
    fourfold: Fourfold | None
    higher_is_better: bool


class ComparePage(msgspec.Struct, frozen=True):
    """A comparison without its samples."""

    sides: tuple[Side, ...]
    letters: tuple[str, ...]
    rows: tuple[CompareRow, ...]
    summary: str | None
    """With many tasks, how many differences are significant."""
    notable: tuple[int, ...]
    """Indexes of the rows shown as sentences."""
    notes: tuple[str, ...]
    """Differences between the runs that make the comparison less fair, and omitted samples."""
    n_samples: int
    in_file: InFile | None = None
    """None: a server is asked for samples."""


class SideColumns(msgspec.Struct, frozen=True):
    """The results of one side by one method on each sample; see `TrackColumns`."""

    outcomes: str
    values: list[float | None]
    answers: list[str]


class MethodColumns(msgspec.Struct, frozen=True):
    """One method, or methods compared with each other, on all sides."""

    name: str
    tracks: list[str]
    """For each side, the method of its run."""
    sides: list[SideColumns | None]
    """None: the side does not have the method."""


class CompareTable(msgspec.Struct, frozen=True):
    """Samples of all sides as columns: those of the first side in order, then those of others only."""

    n: int
    tasks: list[str]
    task: list[int]
    ids: list[str]
    questions: list[str]
    targets: list[str]
    places: list[list[int]]
    """For each side, the place of each sample in its run's table; -1 if it does not have it."""
    methods: list[MethodColumns]


_encode = msgspec.json.Encoder().encode
_NO_REQUEST = "."


class CompareView:
    """A comparison with the samples of its runs."""

    def __init__(
        self, comparison: RunComparison, views: Sequence[RunView], names: Sequence[str] = ()
    ) -> None:
        """Take a comparison and the refreshed views of its sides, one for each side.

        `names` are the names that the page requests the runs by; it never sees their paths.
        """
        self.comparison = comparison
        self.views = views
        self._names = names or [view.path.resolve().name for view in views]
        self.table = _align_samples(comparison, views)

    def page(self) -> ComparePage:
        """Return the comparison without its samples."""
        found = self.comparison
        heads = found.headlines
        return ComparePage(
            tuple(
                msgspec.structs.replace(side, folder=name)
                for side, name in zip(found.sides, self._names, strict=True)
            ),
            tuple(format_side_letter(at) for at in range(len(found.sides))),
            tuple(_row(one) for one in heads),
            summarize_comparison(found),
            tuple(heads.index(one) for one in select_notable_comparisons(found)),
            (*found.notes, *filter(None, map(describe_left_out, heads))),
            self.table.n,
        )

    def details(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield complete samples with their rows: `{"sides": [...]}`, null for a side without the sample."""
        with ExitStack() as closing:
            opened = [closing.enter_context(view.all_details(shorten_responses)) for view in self.views]
            for row in rows:
                places = [side[row] for side in self.table.places]
                sides = [
                    b"null" if place < 0 else details.json(place)
                    for details, place in zip(opened, places, strict=True)
                ]
                yield row, b'{"sides":[' + b",".join(sides) + b"]}"

    def interest(self, row: int) -> int:
        """Return the priority of a sample in a page of limited size: 0 is the highest."""
        for columns in self.table.methods:
            known = [side for side in columns.sides if side is not None]
            if len({side.outcomes[row] for side in known} - {_NO_REQUEST}) > 1:
                return 0
            if len({side.answers[row] for side in known}) > 1:
                return 1
        return 2


def write_compare_page(view: CompareView, path: Path) -> None:
    """Write a comparison as a single HTML file."""
    with replacing_file(path) as file:
        file.writelines(part.encode() for part in render_compare_page(view))


def render_compare_page(view: CompareView) -> Iterator[str]:
    """Yield the parts of a comparison as a single HTML file."""
    media = MediaBlocks(*dict.fromkeys(one.path for one in view.views))
    order = sorted(range(view.table.n), key=view.interest)
    details = DetailBlocks(view.details(order), media)
    page = msgspec.structs.replace(view.page(), in_file=InFile(view.table.n, tuple(details.places)))
    return render_page_file(
        " vs ".join(side.name for side in view.comparison.sides),
        "compare",
        "compare_file",
        {"comparison": _encode(page), "table": _encode(view.table)},
        after=(*details.parts, *media.parts),
        has_media=True,
    )


def _row(one: MetricComparison) -> CompareRow:
    result = one.result
    at, low, high = (_scale_for_plot(one, value) for value in (result.difference, result.low, result.high))
    return CompareRow(
        task=one.task,
        label=format_compared_label(one),
        method=one.method,
        title=format_compared_method(one),
        first=one.first,
        second=one.second,
        is_mean=one.n_subsets > 0,
        is_headline=one.is_headline,
        is_real=one.is_real,
        better=one.better,
        unit="percent" if one.is_factor else "points" if one.is_share else "own",
        at=at,
        low=low,
        high=high,
        first_value=format_side_value(one, result.a),
        second_value=format_side_value(one, result.b),
        difference=format_difference(one),
        interval=format_difference_interval(one),
        p=format_p(one.p),
        test=result.test,
        sentence=describe_difference(one),
        n=result.n,
        fourfold=result.fourfold,
        higher_is_better=one.higher_is_better,
    )


def _scale_for_plot(one: MetricComparison, value: float | None) -> float | None:
    """Return a difference in the unit of the plot."""
    if value is None:
        return None
    return 100 * (value - 1) if one.is_factor else 100 * value if one.is_share else value


def _align_samples(comparison: RunComparison, views: Sequence[RunView]) -> CompareTable:
    """Align the samples of all runs."""
    tables: dict[Path, SampleTable] = {view.path: view.table() for view in views}
    sides = [tables[view.path] for view in views]
    first = [task.name for task in views[0].manifest.tasks]
    tasks: dict[str, int] = {}
    rows: dict[tuple[int, str], int] = {}
    task: list[int] = []
    texts: dict[str, list[str]] = {"ids": [], "questions": [], "targets": []}
    places: list[list[int]] = [[] for _ in views]
    for nth, (view, table) in enumerate(zip(views, sides, strict=True)):
        names = pair_tasks(first, [one.name for one in view.manifest.tasks])
        here = [tasks.setdefault(names.get(name, name), len(tasks)) for name in table.tasks]
        for place, (number, id_) in enumerate(zip(table.task, table.ids, strict=True)):
            key = (here[number], id_)
            row = rows.get(key)
            if row is None:
                row = rows[key] = len(task)
                task.append(key[0])
                for name, column in texts.items():
                    column.append(getattr(table, name)[place])
                for column_of_places in places:
                    column_of_places.append(-1)
            places[nth][row] = place
    methods = _methods(comparison, sides, places)
    return CompareTable(len(task), list(tasks), task, **texts, places=places, methods=methods)


def _methods(
    comparison: RunComparison, tables: Sequence[SampleTable], places: Sequence[Sequence[int]]
) -> list[MethodColumns]:
    found = []
    for name in dict.fromkeys(one.method for one in comparison.headlines):
        tracks = [side.method or name for side in comparison.sides]
        sides = [
            _column(table, track, where) for table, track, where in zip(tables, tracks, places, strict=True)
        ]
        found.append(MethodColumns(name, tracks, sides))
    return found


def _column(table: SampleTable, track: str, places: Sequence[int]) -> SideColumns | None:
    columns = next((one for one in table.tracks if one.name == track), None)
    if columns is None:
        return None
    return SideColumns(
        "".join(columns.outcomes[place] if place >= 0 else _NO_REQUEST for place in places),
        [columns.values[place] if place >= 0 else None for place in places],
        [columns.answers[place] if place >= 0 else "" for place in places],
    )
