"""The result table and the work behind it as words: what every face prints, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assay.core.run import Cost, RunManifest
from assay.core.score import Metric


class ResultRow(NamedTuple):
    """One line of the result table."""

    task: str
    method: str
    scored: str
    score: str
    interval: str
    unanswered: str
    truncated: str
    failed: str
    tokens: str
    seconds: str


HEADINGS = ResultRow(
    "task",
    "method",
    "scored / n",
    "score %",
    "95 % interval",
    "unanswered %",
    "truncated %",
    "failed %",
    "tokens",
    "seconds",
)


def result_rows(metrics: Sequence[Metric], costs: Sequence[Cost]) -> list[ResultRow]:
    """Return a line for each task and method: the score with all its company."""
    cost_of = {(cost.task, cost.method): cost for cost in costs}
    rows = []
    for metric in metrics:
        if metric.is_headline and metric.group is None:
            cost = cost_of.get((metric.task, metric.method))
            rows.append(
                ResultRow(
                    metric.task,
                    metric.method,
                    f"{metric.n_scored + metric.n_unanswered:,}/{metric.n:,}",
                    percent(metric.value),
                    interval(metric),
                    share(metric.n_unanswered, metric.n),
                    share(metric.n_truncated, metric.n),
                    share(metric.n_failed, metric.n),
                    f"{cost.n_tokens:,}" if cost else "-",
                    f"{cost.seconds:.1f}" if cost else "-",
                )
            )
    return rows


def work_line(manifest: RunManifest) -> str | None:
    """Say how much a model computed, what sharing saved and what padding cost; None if it does not count."""
    stats = manifest.stats
    computed = stats.get("model_forward_tokens", 0)
    asked = stats.get("model_prompt_tokens", 0) + stats.get("model_generated_tokens", 0)
    seconds = sum(cost.seconds for cost in manifest.costs)
    if not computed or not seconds:
        return None
    parts = [f"{computed:,.0f} tokens computed for {asked:,.0f} asked ({asked / computed:.1f} to 1)"]
    if "model_padding_tokens" in stats:
        parts.append(f"padding {percent(stats['model_padding_tokens'] / computed)} %")
    return ", ".join([*parts, f"{computed / seconds:,.0f} tokens/s"])


def percent(value: float | None) -> str:
    """Return a share of one in percent; a dash where there is no value."""
    return "-" if value is None else f"{100 * value:.1f}"


def interval(metric: Metric) -> str:
    """Return a metric's interval."""
    if metric.low is None or metric.high is None:
        return "-"
    return f"{100 * metric.low:.1f}–{100 * metric.high:.1f}"


def share(part: int, whole: int) -> str:
    """Return a count as a percentage of the rows."""
    return "-" if not whole else f"{100 * part / whole:.1f}"


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table to paste into an issue."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(_cell(text) for text in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
