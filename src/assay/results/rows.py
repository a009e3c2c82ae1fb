"""Result tables and their numbers as text, shared by the command line, the report and the pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from assay.core.errors import format_count
from assay.core.rounding import NOT_KNOWN, format_number, format_percent
from assay.core.run import Cost, LogFact, RunManifest, Spread
from assay.core.score import MACRO, NO_METRIC, Metric
from assay.results.subset_families import group_by_family, is_subset_mean


class ResultRow(NamedTuple):
    """One line of the result table."""

    task: str
    method: str
    counted: str
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
    "counted / n",
    "score %",
    "95 % interval",
    "unanswered %",
    "truncated %",
    "failed %",
    "tokens",
    "seconds",
)


class TextRow(NamedTuple):
    """One line of the table of perplexities."""

    task: str
    windows: str
    counted: str
    perplexity: str
    interval: str
    word: str
    byte: str
    bits: str
    failed: str
    tokens: str
    seconds: str


TEXT_HEADINGS = TextRow(
    "task",
    "windows",
    "counted / n",
    "perplexity / token",
    "95 % interval",
    "perplexity / word",
    "perplexity / byte",
    "bits / byte",
    "failed %",
    "tokens",
    "seconds",
)

_GROUP_HEADINGS = ("task", "method", "group", "counted", "score", "95 % interval", "unanswered")
_TEXT_GROUP_HEADINGS = ("task", "method", "group", "counted", "perplexity / token", "95 % interval")


def is_perplexity(metric: Metric) -> bool:
    """Whether a metric is a perplexity, which is never shown in percent."""
    return metric.metric.startswith("perplexity")


def result_rows(metrics: Sequence[Metric], manifest: RunManifest) -> list[ResultRow]:
    """Return a row with score, interval and counts for each task and method whose headline is a share."""
    return [
        _result_row(
            metric, metric.task, _format_cost(metric.method, (metric.task,), manifest.costs), manifest.lacks
        )
        for metric in _select_listed(metrics)
        if not is_perplexity(metric) and not is_subset_mean(metric, manifest)
    ]


def mean_rows(metrics: Sequence[Metric], manifest: RunManifest) -> list[ResultRow]:
    """Return a row for each mean over subsets, categories first, and for each group of tasks."""
    families = group_by_family(manifest.tasks)
    known = {family.name: family for family in families if family.name not in manifest.groups}
    means = [one for one in metrics if one.is_listed and is_subset_mean(one, manifest)]
    rows = []
    for metric in sorted(
        (one for one in means if one.task in known),
        key=lambda one: (list(known).index(one.task), one.group is None),
    ):
        members = [task.name for task in known[metric.task].members(metric.group)]
        part = "" if metric.group is None else f":[{metric.group}]"
        label = f"{metric.task}{part}, mean of {len(members)}"
        rows.append(
            _result_row(metric, label, _format_cost(metric.method, members, manifest.costs), manifest.lacks)
        )
    for metric in means:
        if metric.task not in known:
            tasks = manifest.groups.get(metric.task, ())
            label = f"{metric.task}, group of {len(tasks)}"
            rows.append(_result_row(metric, label, _format_cost(None, tasks, manifest.costs), manifest.lacks))
    return rows


def _result_row(
    metric: Metric, label: str, spent: tuple[str, str], lacks: Callable[[LogFact], bool]
) -> ResultRow:
    return ResultRow(
        label,
        format_metric_method(metric),
        f"{metric.n_counted:,}/{metric.n:,}",
        format_metric_value(metric),
        format_metric_interval(metric),
        NOT_KNOWN if lacks(LogFact.UNANSWERED) else format_percentage(metric.n_unanswered, metric.n),
        NOT_KNOWN if lacks(LogFact.FINISH) else format_percentage(metric.n_truncated, metric.n),
        NOT_KNOWN if lacks(LogFact.FAILED) else format_percentage(metric.n_failed, metric.n),
        *spent,
    )


def text_rows(metrics: Sequence[Metric], manifest: RunManifest) -> list[TextRow]:
    """Return a row for each task whose headline is a perplexity."""
    schemes = {task.name: str(task.settings.get("windows", {}).get("scheme", "-")) for task in manifest.tasks}
    by_name = {(m.task, m.method, m.metric): m for m in metrics if m.group is None}
    rows = []
    for metric in _select_listed(metrics):
        if is_perplexity(metric) and not is_subset_mean(metric, manifest):
            others = [
                by_name.get((metric.task, metric.method, name))
                for name in ("perplexity_word", "perplexity_byte", "bits_per_byte")
            ]
            word, byte, bits = ("-" if other is None else format_number(other.value) for other in others)
            rows.append(
                TextRow(
                    metric.task,
                    schemes[metric.task],
                    f"{metric.n_counted:,}/{metric.n:,}",
                    format_metric_value(metric),
                    format_metric_interval(metric),
                    word,
                    byte,
                    bits,
                    NOT_KNOWN
                    if manifest.lacks(LogFact.FAILED)
                    else format_percentage(metric.n_failed, metric.n),
                    *_format_cost(metric.method, (metric.task,), manifest.costs),
                )
            )
    return rows


def group_rows(
    metrics: Sequence[Metric], manifest: RunManifest
) -> list[tuple[Sequence[str], list[list[str]]]]:
    """Return headings and rows of the group tables: shares and perplexities separately, if not empty."""
    shares: list[list[str]] = []
    texts: list[list[str]] = []
    for metric in metrics:
        if not metric.is_listed or metric.group is None or is_subset_mean(metric, manifest):
            continue
        row = [
            metric.task,
            format_metric_method(metric),
            metric.group,
            f"{metric.n_counted:,} / {metric.n:,}",
            format_metric_value(metric),
            format_metric_interval(metric),
        ]
        if is_perplexity(metric):
            texts.append(row)
        else:
            shares.append([*row, format_percentage(metric.n_unanswered, metric.n)])
    tables: list[tuple[Sequence[str], list[list[str]]]] = [
        (_GROUP_HEADINGS, shares),
        (_TEXT_GROUP_HEADINGS, texts),
    ]
    return [(headings, rows) for headings, rows in tables if rows]


def _select_listed(metrics: Sequence[Metric]) -> list[Metric]:
    return [metric for metric in metrics if metric.is_listed and metric.group is None]


def _format_cost(method: str | None, tasks: Sequence[str], costs: Sequence[Cost]) -> tuple[str, str]:
    """Return the tokens and seconds of a method on some tasks; without a method, of all methods."""
    found = [cost for cost in costs if cost.task in tasks and method in (None, cost.method)]
    if not found:
        return "-", "-"
    return f"{sum(cost.n_tokens for cost in found):,}", f"{sum(cost.seconds for cost in found):.1f}"


def format_metric_method(metric: Metric) -> str:
    """Return the method, with the metric's name unless it is an accuracy or a perplexity."""
    name = metric.metric.removesuffix(MACRO)
    if name == NO_METRIC or name.casefold() == "accuracy" or name.startswith("perplexity"):
        return metric.method
    return f"{metric.method} {name}"


def format_metric_value(metric: Metric) -> str:
    """Return a metric's value: a share in percent, anything else as it is."""
    if is_perplexity(metric) or not metric.is_share:
        return format_number(metric.value)
    return NOT_KNOWN if metric.value is None else format_percent(metric.value)


def format_work_line(manifest: RunManifest) -> str | None:
    """Return the model's computed tokens, padding and speed as one line; None if it does not count them."""
    stats = manifest.stats
    computed = stats.get("model_forward_tokens", 0)
    asked = stats.get("model_prompt_tokens", 0) + stats.get("model_generated_tokens", 0)
    seconds = sum(cost.seconds for cost in manifest.costs)
    if not computed or not seconds:
        return None
    parts = [f"{computed:,.0f} tokens computed for {asked:,.0f} requested ({asked / computed:.1f} to 1)"]
    if "model_padding_tokens" in stats:
        parts.append(f"padding {format_percent(stats['model_padding_tokens'] / computed)} %")
    # With answers of an earlier start, the seconds include that start.
    if not stats.get("requests_journaled") and not stats.get("preparation_journaled"):
        parts.append(f"{computed / seconds:,.0f} tokens/s")
    return ", ".join(parts)


def format_thinking_lines(manifest: RunManifest) -> list[str]:
    """Return how much the model thought in each task and method; empty if it did not think."""
    lines = []
    for cost in manifest.costs:
        if not cost.n_thoughts:
            continue
        parts = [f"{cost.n_thoughts:,} thoughts"]
        if cost.n_thinking_tokens:
            mean = cost.n_thinking_tokens / cost.n_thoughts
            share = format_percentage(cost.n_thinking_tokens, cost.n_generated_tokens)
            parts.append(f"{mean:,.0f} tokens on average ({share} % of the generated tokens)")
        cut = format_percentage(cost.n_cut_thoughts, cost.n_thoughts)
        parts.append(f"{cut} % truncated before an answer began")
        lines.append(f"{cost.task} {cost.method}: {', '.join(parts)}")
    return lines


def format_time_line(manifest: RunManifest) -> str | None:
    """Return where the time of a run went as one line; None if it was not recorded."""
    stats = manifest.stats
    phases = {name.removeprefix("seconds_"): n for name, n in stats.items() if name.startswith("seconds_")}
    if not phases:
        return None
    ahead = {phase.removeprefix("ahead_"): n for phase, n in phases.items() if phase.startswith("ahead_")}
    own = {phase: n for phase, n in phases.items() if not phase.startswith("ahead_")}
    parts = [_format_phases(own)]
    if ahead:
        parts.append(f"prepared ahead: {_format_phases(ahead)}")
    if share := stats.get("model_device_busy_share"):
        parts.append(f"device busy {format_percent(share)} % while computing")
    if n_compiled := stats.get("model_compilations"):
        parts.append(f"{n_compiled:.0f} compilations")
    return ", ".join(parts)


def _format_phases(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{phase} {n:.1f} s" for phase, n in seconds.items())


def format_speed_line(manifest: RunManifest) -> str | None:
    """Return the throughput and latency of the model's server as one line; None without a server."""
    speed = manifest.speed
    if speed is None or not speed.seconds:
        return None
    rates = {"requests/s": speed.n_requests, "prompt tokens/s": speed.n_input_tokens}
    rates["generated tokens/s"] = speed.n_output_tokens
    parts = [f"{_digits(n / speed.seconds)} {unit}" for unit, n in rates.items() if n]
    if speed.first_text is not None:
        parts.append(f"time to first token {_times(speed.first_text)}")
    parts.append(f"latency {_times(speed.latency)}")
    return ", ".join(parts)


def _times(spread: Spread) -> str:
    return f"p50 {_digits(1000 * spread.p50)} ms, p99 {_digits(1000 * spread.p99)} ms"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def format_reuse_line(manifest: RunManifest) -> str | None:
    """Return how many answers were reused; None if none were."""
    if manifest.scoring is not None:
        return None
    stats = manifest.stats
    is_scored_alone = "stage" in manifest.settings and manifest.settings["stage"].value == "score"
    cache = "the run that was scored" if is_scored_alone else "the cache (disable it with --no-cache)"
    known = {
        cache: stats.get("requests_cached", 0),
        "an earlier start of this run": stats.get("requests_journaled", 0),
    }
    parts = [(f"{n:,.0f}", where) for where, n in known.items() if n]
    if not parts:
        return None
    (first, where), *others = parts
    more = "".join(f", {n} from {other}" for n, other in others)
    return f"reused {first} of {format_count(int(stats.get('requests', 0)), 'answer')} from {where}{more}"


def format_metric_interval(metric: Metric) -> str:
    """Return a metric's interval."""
    if metric.low is None or metric.high is None:
        return "-"
    if is_perplexity(metric) or not metric.is_share:
        return f"{format_number(metric.low)}–{format_number(metric.high)}"
    return f"{format_percent(metric.low)}–{format_percent(metric.high)}"


def format_percentage(part: int, whole: int) -> str:
    """Return a part as a percentage of the whole."""
    return NOT_KNOWN if not whole else format_percent(part / whole)


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(_cell(text) for text in line) + " |" for line in lines)


def markdown_list(lines: Sequence[str]) -> str:
    """Return a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
