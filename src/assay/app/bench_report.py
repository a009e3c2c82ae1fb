"""The results of a benchmark as text: tables of headings and rows without layout, a verdict and notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from assay.app.bench_page import StoredBench, compute_aisbench_numbers
from assay.bench.aisbench_profile import NoResult
from assay.bench.pool import Stats
from assay.bench.summary import BenchSummary, Throughput
from assay.bench.sweep import LoadTrial, SweepResult
from assay.core.rounding import format_percent

Profile: TypeAlias = Literal["assay", "aisbench"]
"""Whose formulas the results follow."""
_NAMES = {
    "ttft": "TTFT, ms",
    "itl": "ITL, ms",
    "tpot": "TPOT, ms",
    "e2el": "E2EL, ms",
    "late": "sent late, ms",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "output_rate": "output tokens/s per request",
}
_RATES = {
    "requests_per_s": "requests/s",
    "input_tokens_per_s": "input tokens/s",
    "output_tokens_per_s": "output tokens/s",
    "total_tokens_per_s": "total tokens/s",
}
_STATS = ("mean", "std", "min", "max", "p50", "p75", "p90", "p95", "p99")
NOT_COUNTED = "not counted"
NONE = "-"


class TextTable(NamedTuple):
    """A table; the first column contains names, the others are right-aligned."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


class BenchReport(NamedTuple):
    """The results of a benchmark as text."""

    tables: Sequence[TextTable]
    verdict: str = ""
    """The best level of a sweep or a search."""
    not_steady: str = ""
    """Why there is no steady window."""
    notes: Sequence[str] = ()


def build_bench_report(bench: StoredBench, profile: Profile) -> BenchReport:
    """Return the results of a benchmark, by Assay's or AISBench's formulas."""
    result = bench.result
    notes = list(
        dict.fromkeys((*result.notes, *(result.summary.notes if result.summary is not None else ())))
    )
    if result.is_partial:
        notes.append("stopped early: the numbers cover only requests completed by then")
    if profile == "aisbench":
        numbers = compute_aisbench_numbers(bench)
        if isinstance(numbers, NoResult):
            return BenchReport((), notes=[f"no results by AISBench's formulas: {numbers.reason}", *notes])
        tables = [TextTable("", table.headings, table.rows) for table in numbers.tables()]
        return BenchReport(tables, notes=notes)
    if result.swept is not None:
        table = _build_levels_table(result.swept)
        return BenchReport((table,), _describe_best_level(result.swept), notes=notes)
    if result.summary is not None:
        tables = build_tables(result.summary, result.steady)
        return BenchReport(tables, not_steady=result.not_steady, notes=notes)
    return BenchReport((), notes=notes)


def build_tables(run: BenchSummary, steady: BenchSummary | None = None) -> list[TextTable]:
    """Return the tables of a load: latencies, totals and failures."""
    tables = [build_latency_table(run, "all requests")]
    if steady is not None:
        tables.append(build_latency_table(steady, "requests that started in the steady window"))
    tables.append(totals_table(run, steady))
    if run.failures:
        tables.append(
            TextTable(
                "failures",
                ("kind", "requests", "example"),
                [(failure.kind, f"{failure.n:,}", failure.example) for failure in run.failures],
            )
        )
    return [table for table in tables if table.rows]


def build_latency_table(summary: BenchSummary, title: str) -> TextTable:
    """Return a row for each metric that has values."""
    rows = [
        (name, *(_format_stat(getattr(stats, stat), stats) for stat in _STATS), f"{stats.n:,}")
        for metric, name in _NAMES.items()
        if (stats := summary.metrics.get(metric)) is not None
    ]
    return TextTable(title, ("", *_STATS, "n"), rows)


def totals_table(run: BenchSummary, steady: BenchSummary | None = None) -> TextTable:
    """Return the totals of the whole run and, in a second column, of its steady window."""
    parts = [run] if steady is None else [run, steady]
    lines: list[tuple[str, Callable[[BenchSummary], str]]] = [
        ("duration, s", lambda part: f"{part.duration_s:,.2f}"),
        ("requests", lambda part: f"{part.n_calls:,}"),
        ("succeeded", lambda part: f"{part.n_succeeded:,}"),
        ("failed", lambda part: f"{part.n_failed:,}"),
        ("input tokens", lambda part: _tokens(part.input_tokens)),
        ("output tokens", lambda part: _tokens(part.output_tokens)),
    ]
    lines.extend((name, _rate(field)) for field, name in _RATES.items())
    if any(part.n_output_uncounted for part in parts):
        lines.append(("output chunks/s (not tokens)", _rate("output_pieces_per_s")))
    if run.goodput is not None:
        limits = ", ".join(str(limit) for limit in run.goodput.limits)
        lines.append((f"good requests, % ({limits})", _good_share))
        lines.append(("good requests/s", _good_rate))
    lines.append(("concurrent requests, mean", lambda part: _format_concurrency(part, "mean")))
    lines.append(("concurrent requests, max", lambda part: _format_concurrency(part, "max")))
    headings = ("", "whole run") if steady is None else ("", "whole run", "steady window")
    return TextTable("totals", headings, [(name, *(show(part) for part in parts)) for name, show in lines])


_LEVEL_HEADINGS = (
    "requests/s",
    "output tokens/s",
    "TTFT p50",
    "TTFT p99",
    "TPOT p50",
    "E2EL p50",
    "E2EL p99",
)


def _build_levels_table(swept: SweepResult) -> TextTable:
    rows = [build_level_row(trial) for trial in sorted(swept.trials, key=lambda trial: trial.level)]
    return TextTable(f"by {swept.of}, times in ms", (swept.of, *_LEVEL_HEADINGS, "failed", ""), rows)


def build_level_row(trial: LoadTrial) -> tuple[str, ...]:
    """Return the row of one level: its numbers, and the limits that it broke."""
    summary = trial.summary

    def time_of(metric: str, stat: str) -> str:
        value = summary.value(metric, stat)
        return "-" if value is None else format_milliseconds(value)

    def rate_of(name: str) -> str:
        value = summary.value(name)
        return "-" if value is None else f"{value:,.4g}"

    return (
        f"{trial.level:g}",
        rate_of("requests_per_s"),
        rate_of("output_tokens_per_s"),
        time_of("ttft", "p50"),
        time_of("ttft", "p99"),
        time_of("tpot", "p50"),
        time_of("e2el", "p50"),
        time_of("e2el", "p99"),
        f"{summary.n_failed:,}",
        "; ".join(trial.broken),
    )


def _describe_best_level(swept: SweepResult) -> str:
    if swept.best is None:
        return f"no level meets the limits: {swept.ended}"
    best = (
        f"{swept.best:g} meets the limits" if swept.limits else f"{swept.best:g} has the highest throughput"
    )
    # The reason why a search ended often names the level already.
    text = swept.ended if swept.ended.startswith(best) else f"{best}; {swept.ended}"
    return f"{swept.of} {text}"


def format_milliseconds(seconds: float) -> str:
    """Return milliseconds with two decimals below 10, one below 1,000, and none above."""
    value = 1000 * seconds
    digits = 0 if abs(value) >= 999.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:,.{digits}f}"


def _format_stat(value: float, stats: Stats) -> str:
    return format_milliseconds(value) if stats.unit == "s" else _number(value)


def _number(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:,.0f}" if value == round(value) or value >= 1000 else f"{value:,.4g}"


def _tokens(count: int | None) -> str:
    return NOT_COUNTED if count is None else f"{count:,}"


def _rate(field: str) -> Callable[[BenchSummary], str]:
    def show(part: BenchSummary) -> str:
        rate: float | None = getattr(part.throughput, field)
        if rate is None and part.throughput != Throughput() and "tokens" in field:
            return NOT_COUNTED
        return _number(rate)

    return show


def _format_concurrency(part: BenchSummary, stat: Literal["mean", "max"]) -> str:
    return NONE if part.concurrency is None else _number(getattr(part.concurrency, stat))


def _good_share(part: BenchSummary) -> str:
    share = part.goodput.share if part.goodput else None
    return NONE if share is None else format_percent(share)


def _good_rate(part: BenchSummary) -> str:
    return _number(part.goodput.per_s if part.goodput else None)
