"""Charts of one load: latency distributions and changes over time."""

from __future__ import annotations

from itertools import pairwise

from assay.bench import page_axes as axes
from assay.bench.page_data import (
    Bar,
    Buckets,
    ConcurrencySteps,
    LatencyDistribution,
    LoadView,
    SendRate,
    Timeline,
)
from assay.bench.page_numbers import (
    format_count,
    format_count_of,
    format_number,
    format_percent,
    format_round_time,
    format_seconds,
    format_short,
)
from assay.bench.page_panels import Panel, render_figure, render_legend
from assay.core.markup import Markup, tag

N_STOPS = 160
"""Maximum number of points in a plot that show a tooltip."""


def distribution_figure(of: LatencyDistribution) -> Markup:
    """Return the histogram and the cumulative curve of one latency metric."""
    binned, stats = of.histogram, of.stats
    title = f"{of.title} ({of.name})"
    about = format_count_of(stats.n, "gap" if of.name == "ITL" else "request")
    if stats.min == stats.max:
        words = f"All values are {format_seconds(stats.min)}."
        return render_figure(title, about, tag("p", words, class_="empty"))
    shares = [n / stats.n for n in binned.counts]
    across = axes.build_latency_axis(binned.edges[0], binned.edges[-1], is_log=binned.is_log)
    marks = (("p50", stats.p50), ("p90", stats.p90), ("p99", stats.p99))
    summary = f"{of.title}: " + ", ".join(f"{name} {format_seconds(value)}" for name, value in marks)
    bars = Panel(across, axes.build_amount_axis(max(shares), 3, _percent_tick), 120, f"Histogram. {summary}.")
    bars.bars(binned.edges, shares, "c1")
    for left, right, share, n in zip(binned.edges, binned.edges[1:], shares, binned.counts, strict=False):
        if n:
            middle = (left * right) ** 0.5 if binned.is_log else (left + right) / 2
            span = f"{format_seconds(left)} to {format_seconds(right)}"
            bars.stop(middle, None, f"{span}\n{format_percent(share)}, {format_count(round(n))}")
    curve = Panel(across, axes.Axis(0.0, 1.0, _HALVES), 72, f"Cumulative curve. {summary}.")
    curve.line(of.cumulative.xs, of.cumulative.ys, "c1")
    for x, y in zip(of.cumulative.xs, of.cumulative.ys, strict=True):
        curve.stop(x, None, f"{format_percent(y)} below {format_seconds(x)}")
    for name, value in marks:
        if value is not None:
            bars.mark(value, f"{name} {format_seconds(value)}")
    about += ", logarithmic axis" if binned.is_log else ""
    if binned.n_below:
        about += (
            f"; {format_percent(binned.n_below / stats.n)} below {format_seconds(binned.edges[0])}, not drawn"
        )
    return render_figure(
        title,
        about,
        bars.render(has_x_labels=False, y_label="share per bin"),
        curve.render(y_label="share below"),
    )


_HALVES = ((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %"))


def _percent_tick(share: float) -> str:
    return f"{format_short(round(share * 100, 6))} %"


def throughput_figure(load: LoadView) -> Markup:
    """Return successful requests and their output over time."""
    if load.n_failed == load.n_calls:
        return render_figure(
            "Throughput over time", "", tag("p", "No request succeeded.", class_="empty"), class_="wide"
        )
    about = (
        f"mean over {format_round_time(load.requests.width)} intervals; requests are counted when they end"
    )
    panels = [_rate_panel(load.requests, "c1", "requests/s", has_x_labels=load.output is None)]
    if load.output is not None:
        panels.append(_rate_panel(load.output, "c3", f"output {load.output_unit}/s", has_x_labels=True))
        about += f", {load.output_unit} when they arrive"
    return render_figure("Throughput over time", about, *panels, class_="wide")


def _rate_panel(of: Buckets, class_: str, unit: str, *, has_x_labels: bool) -> Markup:
    most = max(of.values)
    panel = Panel(
        axes.build_elapsed_axis(of.end),
        axes.build_amount_axis(most),
        110,
        f"{unit} over time, maximum {format_number(most)}.",
    )
    edges = _edges(of)
    panel.steps(edges, of.values, class_)
    for left, right, value in zip(edges, edges[1:], of.values, strict=False):
        panel.stop(
            (left + right) / 2,
            None,
            f"{format_seconds(left)} to {format_seconds(right)}\n{format_number(value)} {unit}",
        )
    return panel.render(has_x_labels=has_x_labels, y_label=unit)


def _edges(of: Buckets) -> list[float]:
    return [*(place * of.width for place in range(len(of.values))), of.end]


def concurrency_figure(load: LoadView) -> Markup:
    """Return the number of concurrent requests over time, with the steady window."""
    steps = load.concurrency
    summary = f"mean {format_number(steps.mean)}, maximum {format_count(steps.peak)}"
    panel = Panel(
        axes.build_elapsed_axis(steps.end),
        axes.build_count_axis(steps.peak),
        150,
        f"Concurrent requests over time: {summary}.",
    )
    if load.steady is not None:
        panel.band(load.steady.start, load.steady.end, "steady window")
    panel.steps([*steps.times, steps.end], [float(level) for level in steps.levels], "c4")
    for place in _stop_places(steps):
        panel.stop(
            steps.times[place],
            None,
            f"from {format_seconds(steps.times[place])}\n{format_count(steps.levels[place])} concurrent",
        )
    about = f"{summary.capitalize()}. {load.steady_note}"
    return render_figure(
        "Concurrency over time", about, panel.render(y_label="concurrent requests"), class_="wide"
    )


def _stop_places(steps: ConcurrencySteps) -> range:
    return range(0, len(steps.times), max(1, -(-len(steps.times) // N_STOPS)))


def timeline_figure(timeline: Timeline, duration: float) -> Markup:
    """Return the timeline of requests: start, first text and end."""
    n = timeline.n_rows
    height = min(max(n * 8, 48), 420)
    rows = axes.Axis(-0.5, n - 0.5, ())
    panel = Panel(
        axes.build_elapsed_axis(duration),
        rows,
        height,
        f"Timeline of {format_count_of(len(timeline.bars), 'request')}.",
    )
    # The first row is at the top.
    height_of = [float(n - 1 - bar.row) for bar in timeline.bars]
    both = list(zip(timeline.bars, height_of, strict=True))
    thick = round(min(max(height / n * 0.7, 1.0), 9.0), 1)
    waits = [
        (one.began, one.first_text, y) for one, y in both if one.first_text is not None and not one.is_failed
    ]
    texts = [
        (one.first_text, one.ended, y) for one, y in both if one.first_text is not None and not one.is_failed
    ]
    wholes = [(one.began, one.ended, y) for one, y in both if one.first_text is None and not one.is_failed]
    failed = [(one.began, one.ended, y) for one, y in both if one.is_failed]
    entries = []
    for spans, class_, words in (
        (waits, "c2", "waiting for the first text"),
        (texts, "c1", "receiving text"),
        (wholes, "c3", "whole request, not streamed"),
        (failed, "ink", "failed"),
    ):
        if spans:
            panel.spans(spans, class_, thick)
            entries.append((class_, words))
    for one, y in both[:: max(1, -(-len(both) // (2 * N_STOPS)))]:
        panel.stop((one.began + one.ended) / 2, y, _describe_bar(one))
    return render_figure(
        "Timeline of requests",
        _describe_sampling(timeline),
        render_legend(*entries),
        panel.render(),
        class_="wide timeline",
    )


def _describe_bar(bar: Bar) -> str:
    turn = f", turn {bar.turn + 1}" if bar.turn else ""
    first = (
        "" if bar.first_text is None else f"\nfirst text after {format_seconds(bar.first_text - bar.began)}"
    )
    ended = "failed" if bar.is_failed else "ended"
    whole = f"{ended} after {format_seconds(bar.ended - bar.began)}"
    return f"request {bar.number}{turn}\nstarted at {format_seconds(bar.began)}{first}\n{whole}"


def _describe_sampling(timeline: Timeline) -> str:
    if timeline.n_rows == timeline.n_all_rows:
        return f"All {format_count_of(timeline.n_all_calls, 'request')}, one row per conversation."
    n_rows, n_all_rows = format_count(timeline.n_rows), format_count(timeline.n_all_rows)
    return (
        f"A random sample of {n_rows} of {n_all_rows} conversations. "
        "One row per conversation, ordered by start time."
    )


def send_rate_figure(of: SendRate) -> Markup:
    """Return scheduled and sent requests over time, and how late requests started."""
    across, edges = axes.build_elapsed_axis(of.due.end), _edges(of.due)
    rates = Panel(
        across,
        axes.build_amount_axis(max(*of.due.values, *of.sent.values)),
        120,
        "Requests sent and scheduled per second.",
    )
    rates.steps(edges, of.sent.values, "c1")
    rates.steps(edges, of.due.values, "scheduled", is_filled=False)
    late = Panel(
        across,
        axes.build_latency_axis_from_0(max(of.late_max.values)),
        80,
        f"Lateness: p50 {format_seconds(of.lateness.p50)}, p99 {format_seconds(of.lateness.p99)}.",
    )
    late.steps(edges, of.late_max.values, "c2")
    late.steps(edges, of.late_mean.values, "c1", is_filled=False)
    for place, (left, right) in enumerate(pairwise(edges)):
        stretch = f"{format_seconds(left)} to {format_seconds(right)}"
        middle = (left + right) / 2
        due, sent = format_number(of.due.values[place]), format_number(of.sent.values[place])
        rates.stop(middle, None, f"{stretch}\nscheduled {due}/s\nsent {sent}/s")
        mean, most = format_seconds(of.late_mean.values[place]), format_seconds(of.late_max.values[place])
        late.stop(middle, None, f"{stretch}\nmean lateness {mean}\nmaximum {most}")
    lateness = of.lateness
    about = (
        f"Requests started late by {format_seconds(lateness.p50)} (p50), "
        f"{format_seconds(lateness.p99)} (p99), at most {format_seconds(lateness.max)}."
    )
    return render_figure(
        "Schedule accuracy",
        about,
        render_legend(("c1", "sent"), ("scheduled", "scheduled")),
        rates.render(has_x_labels=False, y_label="requests/s"),
        render_legend(("c2", "maximum"), ("c1", "mean")),
        late.render(y_label="lateness"),
        class_="wide",
    )
