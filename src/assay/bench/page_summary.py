"""Convert the summary of a load to the tables of the page."""

from __future__ import annotations

import msgspec

from assay.bench.page_data import Amount, GoodputView, Latency, LoadNumbers, Rung, SearchView, SweepView
from assay.bench.steady import NoSteadyWindow, SteadyWindow
from assay.bench.summary import BenchSummary
from assay.bench.sweep import LoadTrial, SweepResult
from assay.core.rounding import format_seconds

_TITLES = {
    "ttft": "Time to first token",
    "itl": "Time between output chunks",
    "tpot": "Time per output token after the first",
    "e2el": "End-to-end latency",
}
_RATES = (
    ("Request throughput", "requests_per_s", "requests/s"),
    ("Input token throughput", "input_tokens_per_s", "tokens/s"),
    ("Output token throughput", "output_tokens_per_s", "tokens/s"),
    ("Total token throughput", "total_tokens_per_s", "tokens/s"),
)


def build_latencies(summary: BenchSummary) -> dict[str, Latency]:
    """Return the latencies of a load by their name in the summary, also those without values."""
    return {
        key: Latency(
            key.upper(),
            title,
            stats := summary.metrics.get(key),
            "" if stats else _explain_absence(key, summary),
        )
        for key, title in _TITLES.items()
    }


def _explain_absence(key: str, summary: BenchSummary) -> str:
    if not summary.n_succeeded:
        return "No request succeeded."
    if summary.n_untimed == summary.n_succeeded:
        return "The responses were not streamed, so the arrival time of their first text is not known."
    if key == "tpot" and summary.output_tokens is None:
        return "The server did not count output tokens."
    return "No response arrived in two or more chunks."


def build_load_numbers(summary: BenchSummary) -> LoadNumbers:
    """Return the tables of a load, or of a steady window."""
    kept = summary.goodput
    goodput = None
    if kept is not None:
        limits = tuple(str(limit) for limit in kept.limits)
        goodput = GoodputView(limits, kept.n_good, summary.n_calls, kept.per_s)
    return LoadNumbers(tuple(build_latencies(summary).values()), _amounts(summary), goodput)


def _amounts(summary: BenchSummary) -> tuple[Amount, ...]:
    rates = summary.throughput
    amounts = []
    for name, field, unit in _RATES:
        value = getattr(rates, field)
        is_uncounted = value is None and rates.requests_per_s is not None
        amounts.append(Amount(name, value, unit, "not counted by the server" if is_uncounted else ""))
    if summary.n_output_uncounted and rates.output_pieces_per_s is not None:
        note = "a chunk has one or more tokens"
        amounts.append(Amount("Output chunk throughput", rates.output_pieces_per_s, "chunks/s", note))
    return tuple(amounts)


def describe_steady_window(steady: SteadyWindow | NoSteadyWindow | None) -> str:
    """Return a sentence about the steady window, or why there is none."""
    if steady is None:
        return ""
    if isinstance(steady, NoSteadyWindow):
        return f"No steady window: {steady.reason}."
    return (
        f"Steady for {format_seconds(steady.seconds)}, with {steady.at_least:,} or more concurrent requests."
    )


def build_sweep_view(swept: SweepResult) -> SweepView:
    """Return a sweep as the page shows it."""
    return SweepView(swept.of, tuple(_rung(trial) for trial in swept.trials), f"Ended: {swept.ended}.")


def build_search_view(swept: SweepResult) -> SearchView:
    """Return a search as the page shows it."""
    trials = [_rung(trial) for trial in swept.trials]
    if swept.is_partial and trials:
        # An interrupted trial has not met its limits, whatever its requests show so far.
        trials[-1] = msgspec.structs.replace(trials[-1], broken=("not finished",))
    return SearchView(swept.of, swept.limits, tuple(trials), swept.best, f"Ended: {swept.ended}.")


def _rung(trial: LoadTrial) -> Rung:
    summary = trial.summary
    return Rung(
        level=trial.level,
        n_calls=summary.n_calls,
        n_failed=summary.n_failed,
        requests_per_s=summary.throughput.requests_per_s or 0.0,
        output_per_s=summary.throughput.output_tokens_per_s,
        concurrency=summary.concurrency.mean if summary.concurrency else 0.0,
        latencies=tuple(build_latencies(summary).values()),
        broken=trial.broken,
    )
