"""The data of pages of benchmarks: every kind of load, of sweep and of search."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from assay.bench.load_result import LoadResult
from assay.bench.measures import Measures
from assay.bench.page_data import LoadView, PageData, PageHead, SearchView, SweepView
from assay.bench.page_records import PageRecorder, build_load_view
from assay.bench.page_summary import build_search_view, build_sweep_view
from assay.bench.records import CallRecord
from assay.bench.sweep import LoadTrial, SweepResult
from assay.core.timing import CallTimes
from fakes.simulated_load import closed_load, page_head


def one_load(records: Iterable[CallRecord], head: PageHead | None = None) -> PageData:
    """Return the page of a single load."""
    return PageData(head or page_head(), (build_load_view(records, level=4),))


def swept(*, is_search: bool) -> tuple[SweepResult, tuple[LoadView, ...]]:
    """Return loads at four levels; a search whose last level breaks its limit."""
    views, trials = [], []
    for level in (1, 2, 4, 8):
        recorder, measures = PageRecorder(), Measures()
        for record in closed_load(level, 20 * level):
            recorder.add(record)
            measures.add(record)
        views.append(recorder.view(f"concurrency {level}", measures))
        broken = ("p99 ttft 600 ms > 500 ms",) if level == 8 and is_search else ()
        driven = LoadResult(1.0, 20 * level, 20 * level, 20 * level, 0)
        trials.append(LoadTrial(float(level), driven, measures.summary(), broken))
    limits = ("p99 ttft < 500 ms",) if is_search else ()
    return SweepResult("concurrency", tuple(trials), 4.0, "all levels were tried", limits), tuple(views)


def several() -> PageData:
    """Return a page with both a sweep and a search."""
    (ladder, views), (search, _) = swept(is_search=False), swept(is_search=True)
    return PageData(page_head(), views, sweep=build_sweep_view(ladder), search=build_search_view(search))


def scheduled(n: int) -> list[CallRecord]:
    """Return calls of an open load, each a millisecond late."""
    return [
        CallRecord(str(at), at, CallTimes(at * 0.1 + 0.001, at * 0.1 + 1, (at * 0.1 + 0.5,)), due=at * 0.1)
        for at in range(n)
    ]


PAGES: dict[str, Callable[[], PageData]] = {
    "closed": lambda: one_load(closed_load(4, 100, failing=0.1)),
    "open": lambda: one_load(scheduled(50)),
    "several": several,
    "all failed": lambda: one_load(closed_load(4, 20, failing=1.1)),
    "one call": lambda: one_load(closed_load(1, 1)),
    "one token": lambda: one_load(closed_load(1, 3, n_tokens=1)),
    "no stream": lambda: one_load(closed_load(4, 20, streams=False)),
    "no time": lambda: one_load([CallRecord("i", 0, CallTimes(5.0, 5.0))]),
    "no calls": lambda: one_load([]),
    "nothing": lambda: PageData(page_head()),
    "no rungs": lambda: PageData(
        page_head(), sweep=SweepView("rate", ()), search=SearchView("rate", (), (), None)
    ),
}
