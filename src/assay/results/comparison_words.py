"""Comparisons as sentences and tables, shared by the command line, the pages and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.billing import format_usd
from assay.core.rounding import NOT_KNOWN, format_number, format_percent
from assay.core.score import MACRO, Score, Verdict
from assay.results.comparison import (
    SIGNIFICANCE_LEVEL,
    MetricComparison,
    PairedDifference,
    RunComparison,
    Side,
)
from assay.results.rows import markdown_list, markdown_table

HEADINGS = (
    *("task", "method", "sides", "first", "second", "second - first", "95 % interval", "p"),
    *("only first right", "only second right", "pairs", "min. detectable"),
)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SMALLEST_P = 1e-4
_NO_SPREAD = "every pair differs by the same amount, so there is no interval"
_TOO_FEW = "too few pairs for an interval"
_ANSWER_CHARS = 60
_MAX_SENTENCES = 12
"""Further comparisons appear only in the table."""


def format_side_letter(side: int) -> str:
    """Return the short name of a side: A, B, ... and numbers after Z."""
    return _LETTERS[side] if side < len(_LETTERS) else str(side + 1)


def format_compared_label(compared: MetricComparison) -> str:
    """Return the name of the task, with its group, or of the dataset with the number of subsets averaged."""
    if compared.group is not None:
        return f"{compared.task} [{compared.group}]"
    return f"{compared.task}, mean of {compared.n_subsets}" if compared.n_subsets else compared.task


def format_compared_method(compared: MetricComparison) -> str:
    """Return the method, with the metric's name unless it is an accuracy or a perplexity."""
    name = compared.metric.removesuffix(MACRO)
    if name.casefold() == "accuracy" or name.startswith("perplexity"):
        return compared.method
    return f"{compared.method} {name}"


def select_notable_comparisons(comparison: RunComparison) -> list[MetricComparison]:
    """Return the comparisons with the first side that deserve a sentence.

    With many tasks, only means over subsets and significant differences; the table lists the others.
    """
    every = [one for one in comparison.headlines if one.first == 0]
    if len(every) <= _MAX_SENTENCES:
        return every
    return [one for one in every if one.n_subsets or one.is_real][:_MAX_SENTENCES]


def summarize_comparison(comparison: RunComparison) -> str | None:
    """Return how many differences are significant; None if every comparison has its own sentence."""
    every = [one for one in comparison.headlines if one.first == 0 and not one.n_subsets]
    if len(every) <= _MAX_SENTENCES:
        return None
    wins: dict[int, int] = {}
    for one in every:
        if one.is_real and one.better is not None:
            wins[one.better] = wins.get(one.better, 0) + 1
    parts = [f"{format_side_letter(side)} is better in {n:,}" for side, n in sorted(wins.items())]
    parts.append(f"no significant difference in {len(every) - sum(wins.values()):,}")
    chance = round(SIGNIFICANCE_LEVEL * len(every))
    return (
        f"of {len(every):,} comparisons: {', '.join(parts)}; "
        f"about {chance:,} would look significant by chance alone"
    )


def describe_difference(compared: MetricComparison) -> str:
    """Describe how the second side scores against the first, and whether that is statistically significant.

    The direction is always second minus first, as in the tables and charts: a newer run against its base.
    """
    result, first, second = (
        compared.result,
        format_side_letter(compared.first),
        format_side_letter(compared.second),
    )
    if result.difference is None:
        return "no sample was scored on both sides"
    if compared.better is None:
        return f"{first} and {second} score the same; {describe_power(compared)}"
    is_higher = (compared.better == compared.second) == compared.higher_is_better
    direction = "higher" if is_higher else "lower"
    if not compared.higher_is_better:
        direction += " (better)" if compared.better == compared.second else " (worse)"
    size = _size(compared)
    what = f"change from {first} to {second}" if compared.is_factor else f"{second} - {first} ="
    claim = (
        f"{second} scores {size} {direction} than {first} ({what} {format_difference(compared)}, "
        f"{_describe_certainty(compared)})"
    )
    return claim if compared.is_real else f"no significant difference: {claim}; {describe_power(compared)}"


def _size(compared: MetricComparison) -> str:
    return format_difference(compared).lstrip("+-") + (" points" if compared.is_share else "")


def _describe_certainty(compared: MetricComparison) -> str:
    if compared.result.low is None or compared.result.high is None:
        return _NO_SPREAD if compared.result.stderr == 0 else _TOO_FEW
    p = f"p {format_p(compared.p)}" + ("" if compared.p_corrected is None else ", corrected for all pairs")
    return f"95 % interval {format_difference_interval(compared)}, {p}"


def describe_power(compared: MetricComparison) -> str:
    """Return the minimum detectable difference of a comparison, in words."""
    result = compared.result
    if result.stderr == 0 and result.smallest is None:
        return f"the {result.n:,} pairs show no spread, so the minimum detectable difference is unknown"
    if result.smallest is None:
        return f"{result.n:,} pairs are too few to detect any difference"
    least = _format_amount(compared, result.smallest)
    text = f"with {result.n:,} pairs, only differences of {least} or more are detectable"
    if result.n_for_a_point is not None and (compared.is_share or compared.is_factor):
        unit = "1 %" if compared.is_factor else "1 point"
        text += f", and detecting {unit} would take {result.n_for_a_point:,} pairs"
    return text


def _format_amount(compared: MetricComparison, value: float) -> str:
    """Return the size of a difference with its unit."""
    if compared.is_factor:
        return f"{format_percent(value - 1)} %"
    return f"{format_percent(value)} points" if compared.is_share else format_number(value)


def format_p(p: float | None) -> str:
    """Return a p-value as it follows the word p: `= 0.03`."""
    if p is None:
        return "is unknown"
    return f"< {_SMALLEST_P}" if p < _SMALLEST_P else f"= {p:.2g}"


def format_difference(compared: MetricComparison) -> str:
    """Return the second value minus the first with its sign; for perplexities, the change in percent."""
    value = compared.result.difference
    return NOT_KNOWN if value is None else _format_signed(compared, value)


def _format_signed(compared: MetricComparison, value: float) -> str:
    if compared.is_factor:
        return f"{format_percent(value - 1, is_signed=True)} %"
    return (
        format_percent(value, is_signed=True)
        if compared.is_share
        else f"{'+' if value >= 0 else ''}{format_number(value)}"
    )


def format_difference_interval(compared: MetricComparison) -> str:
    """Return the interval of the difference."""
    low, high = compared.result.low, compared.result.high
    if low is None or high is None:
        return NOT_KNOWN
    if compared.is_factor:
        return f"{format_percent(low - 1, is_signed=True)} to {format_percent(high - 1, is_signed=True)} %"
    format_bound = format_percent if compared.is_share else format_number
    return f"{format_bound(low)} to {format_bound(high)}"


def format_side_value(compared: MetricComparison, value: float | None) -> str:
    """Return a side's value."""
    if value is None:
        return NOT_KNOWN
    return format_percent(value) if compared.is_share else format_number(value)


def comparison_rows(metrics: Sequence[MetricComparison]) -> list[list[str]]:
    """Return one table row for each metric and pair of sides."""
    return [
        [
            format_compared_label(one),
            format_compared_method(one),
            f"{format_side_letter(one.first)} {format_side_letter(one.second)}",
            format_side_value(one, one.result.a),
            format_side_value(one, one.result.b),
            format_difference(one),
            format_difference_interval(one),
            format_p(one.p).removeprefix("= ").removeprefix("is ").replace("unknown", "-"),
            *_fourfold(one.result),
            f"{one.result.n:,}",
            "-" if one.result.smallest is None else _format_amount(one, one.result.smallest),
        ]
        for one in metrics
    ]


def _fourfold(result: PairedDifference) -> tuple[str, str]:
    if result.fourfold is None:
        return "-", "-"
    return f"{result.fourfold.only_a:,}", f"{result.fourfold.only_b:,}"


def describe_left_out(compared: MetricComparison) -> str | None:
    """Return which samples a comparison omits; None if it omits none."""
    parts = [
        (compared.n_only_first, f"only in {format_side_letter(compared.first)}"),
        (compared.n_only_second, f"only in {format_side_letter(compared.second)}"),
        (compared.n_failed, "failed on at least one side"),
        (compared.n_ungraded, "not scored on both sides"),
    ]
    reasons = [f"{n:,} {what}" for n, what in parts if n]
    if not reasons:
        return None
    metric = f"{format_compared_label(compared)} {format_compared_method(compared)}"
    sides = f"{format_side_letter(compared.first)} {format_side_letter(compared.second)}"
    return f"{metric}, {sides}: omitted samples: {', '.join(reasons)}"


def format_flip_answer(score: Score) -> str:
    """Return what a side answered; only whether it was right if the answer is not stored."""
    if score.answer is None and score.verdict is Verdict.SCORED:
        return "right" if score.value == 1 else "wrong" if score.value == 0 else format_number(score.value)
    if score.answer is None:
        return f"no answer ({score.verdict})"
    return shorten_answer(score.answer)


def shorten_answer(text: str | None) -> str:
    """Return the beginning of an answer on one line."""
    line = " ".join((text or "").split())
    return line if len(line) <= _ANSWER_CHARS else line[: _ANSWER_CHARS - 1] + "…"


def build_difference_matrix(
    comparison: RunComparison, metrics: Sequence[MetricComparison]
) -> tuple[list[str], list[list[str]]]:
    """Return the differences between all sides in one metric: the row's value minus the column's."""
    sides = range(len(comparison.sides))
    cells = {(one.first, one.second): one for one in metrics}

    def cell(row: int, column: int) -> str:
        one = cells.get((column, row))
        if one is not None:
            return format_difference(one) + (" *" if one.is_real else "")
        turned = cells.get((row, column))
        return "" if turned is None else _format_reversed(turned) + (" *" if turned.is_real else "")

    return ["", *map(format_side_letter, sides)], [
        [format_side_letter(row), *(cell(row, column) for column in sides)] for row in sides
    ]


def _format_reversed(compared: MetricComparison) -> str:
    value = compared.result.difference
    if value is None:
        return NOT_KNOWN
    # 0 - value and not -value: zero must not become minus zero.
    return _format_signed(compared, 1 / value if compared.is_factor else 0 - value)


def format_side_cost(side: Side) -> str:
    """Return the cost of a run."""
    return NOT_KNOWN if side.usd is None else format_usd(side.usd)


def render_comparison(comparison: RunComparison) -> str:
    """Return a comparison as Markdown, to paste into an issue."""
    lines = [f"# {' vs '.join(side.name for side in comparison.sides)}"]
    has_costs = any(side.usd is not None for side in comparison.sides)
    lines.append(
        markdown_table(
            ("side", "name", "run", "model", *(["cost"] if has_costs else [])),
            [
                [
                    format_side_letter(at),
                    side.name,
                    side.run,
                    side.model,
                    *([format_side_cost(side)] if has_costs else []),
                ]
                for at, side in enumerate(comparison.sides)
            ],
        )
    )
    heads = comparison.headlines
    if (overall := summarize_comparison(comparison)) is not None:
        lines.append(overall)
    if sentences := [
        f"**{format_compared_label(one)} {format_compared_method(one)}**: {describe_difference(one)}"
        for one in select_notable_comparisons(comparison)
    ]:
        lines.append(markdown_list(sentences))
    lines.append(markdown_table(HEADINGS, comparison_rows(heads)))
    notes = [*comparison.notes, *filter(None, map(describe_left_out, heads))]
    if notes:
        lines.append(markdown_list(notes))
    return "\n\n".join(lines) + "\n"
