"""The tables of the page."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from assay.bench.page_data import Amount, FailureKind, GoodputView, Latency, LoadNumbers
from assay.bench.page_numbers import (
    NOT_KNOWN,
    choose_time_unit,
    format_count,
    format_count_of,
    format_number,
    format_percent,
)
from assay.core.markup import Markup, tag

_STATISTICS = ("mean", "min", "p50", "p75", "p90", "p95", "p99", "max", "std")


def render_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, words: Collection[int] = ()
) -> Markup:
    """Return a table of numbers whose first column names the rows; columns in `words` contain text."""
    classes = ["words" if place in words else None for place in range(len(headings))]
    head = [tag("th", one, scope="col", class_=class_) for one, class_ in zip(headings, classes, strict=True)]
    body = []
    for row in rows:
        cells = [tag("td", cell, class_=class_) for cell, class_ in zip(row[1:], classes[1:], strict=True)]
        body.append(tag("tr", tag("th", row[0], scope="row"), *cells))
    whole = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body))
    return tag("div", whole, class_="scroll", tabindex=0)


def render_latency_table(latencies: Sequence[Latency]) -> Markup:
    """Return statistics by latency, each in the unit that fits it; absent ones are explained below."""
    known = [
        (one.name, one.stats, choose_time_unit(min(one.stats.p99, 1.0)))
        for one in latencies
        if one.stats is not None
    ]
    reasons: dict[str, list[str]] = {}
    for one in latencies:
        if one.stats is None:
            reasons.setdefault(one.absent, []).append(one.name)
    absent = [
        tag("p", tag("b", ", ".join(names)), f": {reason}", class_="empty")
        for reason, names in reasons.items()
    ]
    if not known:
        return tag("div", *absent)
    headings = ["", *(f"{name}, {sign}" for name, _, (_, sign) in known)]
    rows = [
        [statistic, *(format_number(getattr(stats, statistic) / unit) for _, stats, (unit, _) in known)]
        for statistic in _STATISTICS
    ]
    rows.append(["n", *(format_count(stats.n) for _, stats, _ in known)])
    return tag("div", render_table(headings, rows), *absent)


def amounts_table(amounts: Sequence[Amount]) -> Markup:
    """Return throughputs with their units."""
    rows = [
        [one.name, format_number(one.value), one.unit if not one.note else f"{one.unit} ({one.note})"]
        for one in amounts
    ]
    return render_table(["", "value", "unit"], rows, words={2})


def numbers_tables(numbers: LoadNumbers, of_what: str) -> Markup:
    """Return the tables of latencies and throughputs side by side."""
    goodput = render_goodput(numbers.goodput) if numbers.goodput is not None else Markup("")
    return tag(
        "div",
        tag("div", tag("h3", f"Latency{of_what}"), render_latency_table(numbers.latencies)),
        tag("div", tag("h3", f"Throughput{of_what}"), amounts_table(numbers.amounts), goodput),
        class_="tables",
    )


def render_goodput(goodput: GoodputView) -> Markup:
    """Return a sentence with the number of requests that met the limits."""
    share = format_percent(goodput.n_kept / goodput.n) if goodput.n else NOT_KNOWN
    return tag(
        "p",
        "Goodput: ",
        tag("b", f"{format_number(goodput.per_s)} requests/s"),
        f"; {format_count(goodput.n_kept)} of {format_count_of(goodput.n, 'request')} ({share}) met ",
        tag("b", ", ".join(goodput.limits)),
        ".",
        class_="goodput",
    )


def failures_table(failures: Sequence[FailureKind], n_calls: int) -> Markup:
    """Return failed calls by kind, with example messages."""
    rows = []
    for one in failures:
        examples = [tag("li", tag("code", tag("bdi", message or "(no message)"))) for message in one.examples]
        rows.append(
            tag(
                "tr",
                tag("th", tag("bdi", one.kind), scope="row"),
                tag("td", format_count(one.n)),
                tag("td", format_percent(one.n / n_calls)),
                tag("td", tag("ul", *examples), class_="words"),
            )
        )
    head = [tag("th", heading, scope="col") for heading in ("kind", "requests", "share")]
    head.append(tag("th", "examples", scope="col", class_="words"))
    whole = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows), class_="failures")
    return tag("div", whole, class_="scroll", tabindex=0)
