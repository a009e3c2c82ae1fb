"""The page of a benchmark: one self-contained HTML file.

It works offline and runs only its own script, whose hash is in its
content security policy. All external text passes through `markup.tag`.
"""

from __future__ import annotations

from pathlib import Path

from assay.bench.page_charts import (
    concurrency_figure,
    distribution_figure,
    send_rate_figure,
    throughput_figure,
    timeline_figure,
)
from assay.bench.page_data import LoadView, PageData, PageHead
from assay.bench.page_levels import search_section, sweep_section
from assay.bench.page_numbers import (
    NOT_KNOWN,
    format_count,
    format_count_of,
    format_number,
    format_percent,
    format_seconds,
)
from assay.bench.page_tables import failures_table, numbers_tables
from assay.core.markup import Markup, one_file_page, tag

N_LOADS = 12
"""Maximum number of loads with details; if there are more, the last ones."""

_FOLDER = Path(__file__).parent


def render_page(data: PageData) -> str:
    """Return the page; equal data gives equal text."""
    style = (_FOLDER / "page.css").read_text(encoding="utf-8")
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    main = tag("main", _head(data.head), *_render_sweeps(data), *_loads(data))
    tip = tag("div", id="tip", role="status", hidden="")
    return one_file_page(f"{data.head.model} · serving benchmark", style, script, main, tip)


def _head(head: PageHead) -> Markup:
    answered = head.n_calls - head.n_failed
    failed = (
        f"{format_count(head.n_failed)} ({format_percent(head.n_failed / head.n_calls)})"
        if head.n_failed
        else "none"
    )
    facts = [
        ("Address", head.address),
        ("Dataset", head.dataset),
        ("Load", head.load),
        ("Date", head.date),
        ("Duration", format_seconds(head.duration_s)),
        ("Requests", f"{format_count(head.n_calls)}, {format_count(answered)} succeeded"),
        ("Failed", failed),
        ("Tokens", _tokens(head)),
        *head.settings,
        ("Versions", ", ".join(f"{name} {version}" for name, version in head.versions) or NOT_KNOWN),
    ]
    rows = [tag("div", tag("dt", name), tag("dd", tag("bdi", value))) for name, value in facts]
    notes = [tag("p", tag("bdi", note), class_="note") for note in head.notes]
    return tag(
        "header",
        tag("p", "Serving benchmark", class_="kicker"),
        tag("h1", tag("bdi", head.model)),
        *notes,
        tag("dl", *rows),
    )


def _tokens(head: PageHead) -> str:
    if head.n_input is None and head.n_output is None:
        return "not counted"
    return f"{format_count(head.n_input)} in, {format_count(head.n_output)} out"


def _render_sweeps(data: PageData) -> list[Markup]:
    parts = []
    if data.search is not None:
        parts.append(search_section(data.search))
    if data.sweep is not None:
        parts.append(sweep_section(data.sweep))
    return parts


def _loads(data: PageData) -> list[Markup]:
    if not data.loads:
        return [tag("p", "No requests were sent.", class_="empty")] if not (data.sweep or data.search) else []
    if len(data.loads) == 1:
        return [_load(data.loads[0])]
    shown = data.loads[-N_LOADS:]
    parts = [tag("h2", "Load details")]
    if len(shown) < len(data.loads):
        parts.append(tag("p", f"The last {len(shown)} of {len(data.loads)} loads.", class_="empty"))
    for load in shown:
        summary = tag("summary", tag("bdi", load.name), tag("span", _summarize_load(load)))
        parts.append(tag("details", summary, _load(load)))
    return parts


def _summarize_load(load: LoadView) -> str:
    parts = [f"{format_number(one.value)} {one.unit}" for one in load.whole.amounts if one.value is not None][
        :1
    ]
    known = [(one.name, one.stats) for one in load.whole.latencies if one.stats is not None]
    parts += [
        f"{name} p50 {format_seconds(stats.p50)}, p99 {format_seconds(stats.p99)}"
        for name, stats in known[:1]
    ]
    if load.n_failed:
        parts.append(f"{format_count(load.n_failed)} failed")
    return " · ".join(parts)


def _load(load: LoadView) -> Markup:
    if not load.n_calls:
        return tag("section", tag("p", "No requests were sent.", class_="empty"))
    tables = [numbers_tables(load.whole, "")]
    if load.in_window is not None:
        tables.append(numbers_tables(load.in_window, " in the steady window"))
    notes = [tag("p", tag("bdi", note), class_="note") for note in load.notes]
    return tag(
        "section", *notes, _tiles(load), *tables, _failures(load), _spreads(load), tag("h3", "Over time"),
        tag("div", *_over_time(load), class_="charts"),
    )  # fmt: skip


def _tiles(load: LoadView) -> Markup:
    tiles = [
        (f"{one.name} p50", format_seconds(one.stats.p50), f"p99 {format_seconds(one.stats.p99)}")
        for one in load.whole.latencies
        if one.stats is not None and one.name != "ITL"
    ]
    tiles += [
        (one.name.replace(" throughput", "s"), format_number(one.value), one.unit)
        for one in load.whole.amounts
        if one.value is not None and one.name.startswith(("Request", "Output"))
    ]
    failed = format_percent(load.n_failed / load.n_calls) if load.n_failed else "none"
    tiles.append(
        ("Failed", failed, f"{format_count(load.n_failed)} of {format_count_of(load.n_calls, 'request')}")
    )
    parts = [
        tag("div", tag("span", name), tag("b", value), tag("span", below), class_="tile")
        for name, value, below in tiles
    ]
    return tag("div", *parts, class_="tiles")


def _failures(load: LoadView) -> Markup:
    if not load.failures:
        return Markup("")
    return tag("div", tag("h3", "Failures"), failures_table(load.failures, load.n_calls))


def _spreads(load: LoadView) -> Markup:
    if not load.distributions:
        return tag(
            "div", tag("h3", "Latency distributions"), tag("p", "No request succeeded.", class_="empty")
        )
    charts = [distribution_figure(one) for one in load.distributions]
    return tag("div", tag("h3", "Latency distributions"), tag("div", *charts, class_="charts"))


def _over_time(load: LoadView) -> list[Markup]:
    parts = [
        throughput_figure(load),
        concurrency_figure(load),
        timeline_figure(load.timeline, load.duration_s),
    ]
    if load.send_rate is not None:
        parts.append(send_rate_figure(load.send_rate))
    else:
        words = "Each request was sent as soon as a client was free, so there is no schedule."
        parts.append(tag("p", words, class_="empty wide"))
    return parts
