"""A comparison in words and tables: what every face says of it, in one place."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.rounding import NOT_KNOWN, percent, plain
from assay.core.score import MACRO
from assay.results.comparison import REAL_BELOW, Compared, Comparison, Difference
from assay.results.rows import markdown_list, markdown_table

HEADINGS = (
    *("task", "method", "sides", "first", "second", "second - first", "95 % interval", "p"),
    *("right in first alone", "in second alone", "pairs", "detectable from"),
)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SMALLEST_P = 1e-4
_NO_SPREAD = "every pair differs by the same amount, so there is no interval"
_TOO_FEW = "too few pairs for an interval"
_SENTENCES = 12
"""More are told by the table alone."""


def letter(side: int) -> str:
    """Return the short name of a side: A, B, ... and numbers after Z."""
    return _LETTERS[side] if side < len(_LETTERS) else str(side + 1)


def label(compared: Compared) -> str:
    """Return the task, or the dataset whose subsets are taken together."""
    return f"{compared.task}, mean of {compared.n_subsets}" if compared.n_subsets else compared.task


def method(compared: Compared) -> str:
    """Return the method, with the metric's name unless it is an accuracy or a perplexity."""
    name = compared.metric.removesuffix(MACRO)
    if name.casefold() == "accuracy" or name.startswith("perplexity"):
        return compared.method
    return f"{compared.method} {name}"


def told(comparison: Comparison) -> list[Compared]:
    """Return what is worth a sentence: what the sides were compared with the first by.

    Of many tasks, the means over subsets, and what is real; the others stand in the table.
    """
    every = [one for one in comparison.headlines if one.first == 0]
    if len(every) <= _SENTENCES:
        return every
    return [one for one in every if one.n_subsets or one.is_real][:_SENTENCES]


def summary(comparison: Comparison) -> str | None:
    """Say how many differences of many tasks are real; None where each has a sentence."""
    every = [one for one in comparison.headlines if one.first == 0 and not one.n_subsets]
    if len(every) <= _SENTENCES:
        return None
    wins: dict[int, int] = {}
    for one in every:
        if one.is_real and one.better is not None:
            wins[one.better] = wins.get(one.better, 0) + 1
    parts = [f"{letter(side)} is better in {n:,}" for side, n in sorted(wins.items())]
    parts.append(f"no significant difference in {len(every) - sum(wins.values()):,}")
    chance = round(REAL_BELOW * len(every))
    told_apart = f"of {len(every):,} comparisons: {', '.join(parts)}"
    return f"{told_apart}; chance alone would make about {chance:,} look significant"


def sentence(compared: Compared) -> str:
    """Say how the second side scores against the first, and whether that is statistically significant.

    The direction is always second minus first, as in the tables and charts: a newer run against its base.
    """
    result, first, second = compared.result, letter(compared.first), letter(compared.second)
    if result.difference is None:
        return "no sample was scored in both of them"
    if compared.better is None:
        return f"{first} and {second} score the same; {_power(compared)}"
    is_higher = (compared.better == compared.second) == compared.higher_is_better
    direction = "higher" if is_higher else "lower"
    if not compared.higher_is_better:
        direction += " (better)" if compared.better == compared.second else " (worse)"
    size = _size(compared)
    what = f"change from {first} to {second}" if compared.is_factor else f"{second} - {first} ="
    claim = (
        f"{second} scores {size} {direction} than {first} ({what} {difference_shown(compared)}, "
        f"{_certainty(compared)})"
    )
    return claim if compared.is_real else f"no significant difference: {claim}; {_power(compared)}"


def _size(compared: Compared) -> str:
    return difference_shown(compared).lstrip("+-") + (" points" if compared.is_share else "")


def _certainty(compared: Compared) -> str:
    if compared.result.low is None or compared.result.high is None:
        return _NO_SPREAD if compared.result.stderr == 0 else _TOO_FEW
    p = f"p {p_shown(compared.p)}" + ("" if compared.p_corrected is None else ", corrected for all pairs")
    return f"95 % interval {interval_shown(compared)}, {p}"


def _power(compared: Compared) -> str:
    result = compared.result
    if result.stderr == 0 and result.smallest is None:
        return f"the {result.n:,} pairs show no spread, so the minimum detectable difference is not known"
    if result.smallest is None:
        return f"{result.n:,} pairs are too few to detect any difference"
    least = _amount(compared, result.smallest)
    text = f"with {result.n:,} pairs, only differences of {least} or more are detectable"
    if result.n_for_a_point is not None and (compared.is_share or compared.is_factor):
        unit = "1 %" if compared.is_factor else "1 point"
        text += f", and {unit} would take {result.n_for_a_point:,}"
    return text


def _amount(compared: Compared, value: float) -> str:
    """Return a size of difference with its unit."""
    if compared.is_factor:
        return f"{percent(value - 1)} %"
    return f"{percent(value)} points" if compared.is_share else plain(value)


def p_shown(p: float | None) -> str:
    """Return a p as it is said: `= 0.03`."""
    if p is None:
        return "is not known"
    return f"< {_SMALLEST_P}" if p < _SMALLEST_P else f"= {p:.2g}"


def difference_shown(compared: Compared) -> str:
    """Return the second's value minus the first's with its sign; of perplexities, the change in percent."""
    value = compared.result.difference
    return NOT_KNOWN if value is None else _signed(compared, value)


def _signed(compared: Compared, value: float) -> str:
    if compared.is_factor:
        return f"{percent(value - 1, is_signed=True)} %"
    return (
        percent(value, is_signed=True) if compared.is_share else f"{'+' if value >= 0 else ''}{plain(value)}"
    )


def interval_shown(compared: Compared) -> str:
    """Return the interval of the difference."""
    low, high = compared.result.low, compared.result.high
    if low is None or high is None:
        return NOT_KNOWN
    if compared.is_factor:
        return f"{percent(low - 1, is_signed=True)} to {percent(high - 1, is_signed=True)} %"
    shown = percent if compared.is_share else plain
    return f"{shown(low)} to {shown(high)}"


def value_shown(compared: Compared, value: float | None) -> str:
    """Return a side's value."""
    if value is None:
        return NOT_KNOWN
    return percent(value) if compared.is_share else plain(value)


def comparison_rows(metrics: Sequence[Compared]) -> list[list[str]]:
    """Return a line for each metric and pair of sides."""
    return [
        [
            label(one),
            method(one),
            f"{letter(one.first)} {letter(one.second)}",
            value_shown(one, one.result.a),
            value_shown(one, one.result.b),
            difference_shown(one),
            interval_shown(one),
            p_shown(one.p).removeprefix("= ").removeprefix("is ").replace("not known", "-"),
            *_fourfold(one.result),
            f"{one.result.n:,}",
            "-" if one.result.smallest is None else _amount(one, one.result.smallest),
        ]
        for one in metrics
    ]


def _fourfold(result: Difference) -> tuple[str, str]:
    if result.fourfold is None:
        return "-", "-"
    return f"{result.fourfold.only_a:,}", f"{result.fourfold.only_b:,}"


def left_out(compared: Compared) -> str | None:
    """Say which samples are not in a comparison; None when all are."""
    parts = [
        (compared.n_only_first, f"only in {letter(compared.first)}"),
        (compared.n_only_second, f"only in {letter(compared.second)}"),
        (compared.n_failed, "failed in one of them"),
        (compared.n_ungraded, "without a score in both"),
    ]
    told = [f"{n:,} {what}" for n, what in parts if n]
    if not told:
        return None
    sides = f"{letter(compared.first)} {letter(compared.second)}"
    return f"{label(compared)} {method(compared)}, {sides}: left out are samples {', '.join(told)}"


def matrix(comparison: Comparison, metrics: Sequence[Compared]) -> tuple[list[str], list[list[str]]]:
    """Return how each side differs from each other by one metric: the row's value minus the column's."""
    sides = range(len(comparison.sides))
    cells = {(one.first, one.second): one for one in metrics}

    def cell(row: int, column: int) -> str:
        one = cells.get((column, row))
        if one is not None:
            return difference_shown(one) + (" *" if one.is_real else "")
        turned = cells.get((row, column))
        return "" if turned is None else _turned(turned) + (" *" if turned.is_real else "")

    return ["", *map(letter, sides)], [
        [letter(row), *(cell(row, column) for column in sides)] for row in sides
    ]


def _turned(compared: Compared) -> str:
    value = compared.result.difference
    if value is None:
        return NOT_KNOWN
    # 0 - value: a difference of nothing has no sign of its own.
    return _signed(compared, 1 / value if compared.is_factor else 0 - value)


def markdown(comparison: Comparison) -> str:
    """Return a comparison to paste into an issue."""
    lines = [f"# {' against '.join(side.name for side in comparison.sides)}"]
    lines.append(
        markdown_table(
            ("side", "name", "run", "model"),
            [[letter(at), side.name, side.run, side.model] for at, side in enumerate(comparison.sides)],
        )
    )
    heads = comparison.headlines
    if (overall := summary(comparison)) is not None:
        lines.append(overall)
    if sentences := [f"**{label(one)} {method(one)}**: {sentence(one)}" for one in told(comparison)]:
        lines.append(markdown_list(sentences))
    lines.append(markdown_table(HEADINGS, comparison_rows(heads)))
    notes = [*comparison.notes, *filter(None, map(left_out, heads))]
    if notes:
        lines.append(markdown_list(notes))
    return "\n\n".join(lines) + "\n"
