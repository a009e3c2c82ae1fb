"""Charts of several loads: the curves of a sweep and the trials of a search."""

from __future__ import annotations

from collections.abc import Sequence

from assay.bench import page_axes as axes
from assay.bench.page_axes import Axis
from assay.bench.page_data import Rung, SearchView, SweepView
from assay.bench.page_numbers import (
    NOT_KNOWN,
    format_count,
    format_number,
    format_percent,
    format_seconds,
    format_short,
)
from assay.bench.page_panels import Panel, render_figure, render_legend
from assay.bench.page_tables import render_table
from assay.bench.pool import Stats
from assay.core.markup import Markup, tag

_UNITS = {"concurrency": "concurrent", "rate": "requests/s"}
_NEAR = 0.045
"""Labels of points that are nearer than this share of the plot would overlap."""


def format_level(by: str, level: float) -> str:
    """Return a level with its unit: `8 concurrent`."""
    return f"{format_short(round(level, 3))} {_UNITS[by]}"


def sweep_section(sweep: SweepView) -> Markup:
    """Return the charts and the table of a sweep."""
    names = [latency.name for latency in sweep.rungs[0].latencies] if sweep.rungs else []
    curves = [_latency_curve(sweep, name) for name in names]
    heading = "Sweep by concurrency" if sweep.by == "concurrency" else "Sweep by rate"
    return tag(
        "section",
        tag("h2", heading),
        tag("p", sweep.note) if sweep.note else Markup(""),
        tag("div", _throughput_curve(sweep), *curves, class_="charts") if sweep.rungs else Markup(""),
        _rungs_table(sweep.by, sweep.rungs)
        if sweep.rungs
        else tag("p", "No level was finished.", class_="empty"),
        id="sweep",
    )


def _throughput(rung: Rung) -> float:
    return rung.requests_per_s if rung.output_per_s is None else rung.output_per_s


def _throughput_unit(rungs: Sequence[Rung]) -> str:
    return "requests/s" if any(rung.output_per_s is None for rung in rungs) else "output tokens/s"


def _throughput_curve(sweep: SweepView) -> Markup:
    unit = _throughput_unit(sweep.rungs)
    ys = [rung.requests_per_s if unit == "requests/s" else _throughput(rung) for rung in sweep.rungs]
    xs = [rung.level for rung in sweep.rungs]
    panel = Panel(_levels_axis(xs), axes.build_amount_axis(max(ys)), 200, f"Throughput by {sweep.by}.")
    panel.line(xs, ys, "c3")
    panel.dots(zip(xs, ys, strict=True), "c3")
    for rung, y in zip(sweep.rungs, ys, strict=True):
        panel.stop(rung.level, y, f"{format_level(sweep.by, rung.level)}\n{format_number(y)} {unit}")
    best = max(range(len(ys)), key=ys.__getitem__)
    panel.label(xs[best], ys[best], format_number(ys[best]))
    words = "concurrent requests" if sweep.by == "concurrency" else "requests/s sent"
    return render_figure(
        f"Throughput by {words}", "", panel.render(y_label=unit, x_label=words), class_="wide"
    )


def _levels_axis(levels: Sequence[float]) -> Axis:
    """Return an axis whose ticks are the levels themselves, as far as there is space."""
    if len(set(levels)) == 1:
        return Axis(levels[0] / 2, levels[0] * 2, ((levels[0], format_short(levels[0])),), is_log=True)
    low, high = min(levels), max(levels)
    axis = Axis(low, high, (), is_log=high / low >= 8)
    ticks: list[tuple[float, str]] = []
    for level in sorted(set(levels)):
        if not ticks or axis.at(level) - axis.at(ticks[-1][0]) > 0.06:
            ticks.append((level, format_short(round(level, 3))))
    return Axis(low, high, tuple(ticks), is_log=axis.is_log)


def _stats(rung: Rung, name: str) -> Stats | None:
    return next((one.stats for one in rung.latencies if one.name == name), None)


def _latency_curve(sweep: SweepView, name: str) -> Markup:
    unit = _throughput_unit(sweep.rungs)
    first = next(one for one in sweep.rungs[0].latencies if one.name == name)
    title = f"{first.title} ({name}) by throughput"
    known = [(rung, stats) for rung in sweep.rungs if (stats := _stats(rung, name)) is not None]
    if not known:
        return render_figure(title, "", tag("p", first.absent, class_="empty"))
    xs = [rung.requests_per_s if unit == "requests/s" else _throughput(rung) for rung, _ in known]
    halves, highs = [stats.p50 for _, stats in known], [stats.p99 for _, stats in known]
    panel = Panel(
        axes.build_amount_axis(max(xs), 5),
        axes.build_point_latency_axis([*halves, *highs]),
        200,
        f"{title}, p50 and p99.",
    )
    for ys, class_ in ((highs, "c2"), (halves, "c1")):
        panel.line(xs, ys, class_)
        panel.dots(zip(xs, ys, strict=True), class_)
    last = None
    for (rung, stats), x, y in zip(known, xs, highs, strict=True):
        p50, p99 = format_seconds(stats.p50), format_seconds(stats.p99)
        tip = f"{format_level(sweep.by, rung.level)}\n{format_number(x)} {unit}\np50 {p50}\np99 {p99}"
        panel.stop(x, y, tip)
        panel.stop(x, stats.p50, tip)
        if last is None or panel.distance((x, y), last) > _NEAR:
            panel.label(x, y, format_short(round(rung.level, 3)))
            last = (x, y)
    words = "concurrent requests" if sweep.by == "concurrency" else "requests/s sent"
    return render_figure(
        title,
        f"each point is a level, labelled with its {words}",
        render_legend(("c2", "p99"), ("c1", "p50")),
        panel.render(y_label=name, x_label=unit),
    )


def search_section(search: SearchView) -> Markup:
    """Return the trials of a search and the level it chose."""
    if search.chosen is None:
        outcome = "No tested level met all limits."
    else:
        outcome = f"The highest level that met all limits: {format_level(search.by, search.chosen)}."
    limits = tag("p", "Limits: ", tag("b", ", ".join(search.limits) or "none"), ".")
    parts = [tag("p", outcome, class_="found"), limits]
    if search.note:
        parts.append(tag("p", search.note))
    if search.trials:
        parts += [
            tag("div", _trials_figure(search), class_="charts"),
            _rungs_table(search.by, search.trials, search),
        ]
    else:
        parts.append(tag("p", "No trial was finished.", class_="empty"))
    return tag("section", tag("h2", f"Search for the highest {search.by}"), *parts, id="search")


def _trials_figure(search: SearchView) -> Markup:
    trials = search.trials
    n = len(trials)
    step = max(1, -(-n // 12))
    numbers = tuple((float(place), str(place)) for place in range(1, n + 1, step))
    panel = Panel(
        Axis(0.5, n + 0.5, numbers),
        axes.build_amount_axis(max(one.level for one in trials)),
        200,
        "Tested levels.",
    )
    if search.chosen is not None:
        panel.level(search.chosen, f"chosen: {format_level(search.by, search.chosen)}", "good")
    panel.line([float(place) for place in range(1, n + 1)], [one.level for one in trials], "thread")
    for place, one in enumerate(trials, start=1):
        panel.dots([(place, one.level)], "bad hollow" if one.broken else "good")
        verdict = "\n".join(one.broken) if one.broken else "met all limits"
        panel.stop(place, one.level, f"trial {place}: {format_level(search.by, one.level)}\n{verdict}")
    return render_figure(
        "Trials in the order they ran",
        "",
        render_legend(("good", "met all limits"), ("bad hollow", "missed a limit")),
        panel.render(y_label=_UNITS[search.by], x_label="trial"),
        class_="wide",
    )


def _verdict(rung: Rung, search: SearchView) -> str:
    if rung.broken:
        return "; ".join(rung.broken)
    return "chosen" if rung.level == search.chosen else "met"


def _rungs_table(by: str, rungs: Sequence[Rung], search: SearchView | None = None) -> Markup:
    # ITL has its own chart; a table with all four metrics would be too wide to read.
    names = [latency.name for latency in rungs[0].latencies if latency.name != "ITL"]
    headings = [
        _UNITS[by],
        *(["limits"] if search else []),
        "requests",
        "failed",
        "requests/s",
        "output tokens/s",
        "concurrency",
    ]
    for name in names:
        headings += [f"{name} p50", f"{name} p99"]
    rows = []
    for rung in rungs:
        failed = (
            f"{format_count(rung.n_failed)} ({format_percent(rung.n_failed / rung.n_calls)})"
            if rung.n_failed
            else "0"
        )
        row = [format_short(round(rung.level, 3)), *([_verdict(rung, search)] if search else [])]
        row += [format_count(rung.n_calls), failed, format_number(rung.requests_per_s)]
        row += [format_number(rung.output_per_s), format_number(rung.concurrency)]
        for name in names:
            stats = _stats(rung, name)
            row += [format_seconds(stats.p50), format_seconds(stats.p99)] if stats else [NOT_KNOWN, NOT_KNOWN]
        rows.append(row)
    return render_table(headings, rows, words=set() if search is None else {1})
