"""A comparison in words and tables: what every face says of it, in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from assay.core.score import MACRO
from assay.results.comparison import REAL_BELOW, Compared, Comparison, Difference
from assay.results.rows import markdown_list, markdown_table, plain

HEADINGS = (
    *("task", "method", "sides", "first", "second", "difference", "95 % interval", "p"),
    *("right in first alone", "in second alone", "pairs", "would show"),
)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SMALLEST_P = 1e-4
_SENTENCES = 12
"""More are told by the table alone."""


class Lead(NamedTuple):
    """A difference seen from the better side, so that it is positive."""

    size: str
    low: str
    high: str


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
    parts.append(f"no difference is shown in {len(every) - sum(wins.values()):,}")
    chance = round(REAL_BELOW * len(every))
    told_apart = f"of {len(every):,} comparisons: {', '.join(parts)}"
    return f"{told_apart}; chance alone would make about {chance:,} look real"


def sentence(compared: Compared) -> str:
    """Say in one sentence whether a difference is real, or what could have been seen."""
    result, second, first = compared.result, letter(compared.second), letter(compared.first)
    if result.difference is None:
        return "nothing was scored in both of them"
    better = compared.better
    if better is None:
        return f"{first} and {second} score the same; {_power(compared)}"
    worse = first if better == compared.second else second
    lead = _lead(compared, is_second_better=better == compared.second)
    p = f"p {p_shown(compared.p)}" + ("" if compared.p_corrected is None else ", corrected for all pairs")
    bounds = (
        f"95 % interval {lead.low} to {lead.high}, {p}" if lead.low else "of too few pairs for an interval"
    )
    claim = f"{letter(better)} is {lead.size} better than {worse}: {bounds}"
    return claim if compared.is_real else f"no difference is shown. {claim}; {_power(compared)}"


def _power(compared: Compared) -> str:
    result = compared.result
    if result.smallest is None:
        return f"{result.n:,} pairs are too few to show any"
    text = f"{result.n:,} pairs show differences from {_amount(compared, result.smallest)} on"
    if result.n_for_a_point is not None and (compared.is_share or compared.is_factor):
        unit = "1 %" if compared.is_factor else "1 point"
        text += f", and {unit} would take {result.n_for_a_point:,}"
    return text


def _lead(compared: Compared, *, is_second_better: bool) -> Lead:
    """Turn a difference round to where it is the better side's; of perplexities, how much lower it is."""
    result = compared.result
    gaps = (result.difference, result.low, result.high)
    if compared.is_factor:
        sizes = [None if one is None else 1 - (one if is_second_better else 1 / one) for one in gaps]
        shown: Callable[[float], str] = _percent
    else:
        sign = 1 if (result.difference or 0) > 0 else -1
        sizes = [None if one is None else sign * one for one in gaps]
        shown = partial(_number, compared)
    size = shown(sizes[0] or 0.0) + (" points" if compared.is_share else "")
    bounds = sorted(one for one in sizes[1:] if one is not None)
    return Lead(size, shown(bounds[0]), shown(bounds[1])) if len(bounds) == 2 else Lead(size, "", "")


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _amount(compared: Compared, value: float) -> str:
    """Return a size of difference with its unit."""
    if compared.is_factor:
        return _percent(value - 1)
    return f"{_number(compared, value)} points" if compared.is_share else _number(compared, value)


def _number(compared: Compared, value: float) -> str:
    return f"{100 * value:.1f}" if compared.is_share else signless(value)


def signless(value: float) -> str:
    """Return a number as it is, with a minus where it has one."""
    return f"-{plain(-value)}" if value < 0 else plain(value)


def p_shown(p: float | None) -> str:
    """Return a p as it is said: `= 0.03`."""
    if p is None:
        return "is not known"
    return f"< {_SMALLEST_P}" if p < _SMALLEST_P else f"= {p:.2g}"


def difference_shown(compared: Compared) -> str:
    """Return the second's value less the first's with its sign; of perplexities, the change in percent."""
    value = compared.result.difference
    if value is None:
        return "-"
    if compared.is_factor:
        return f"{100 * (value - 1):+.1f} %"
    return f"{100 * value:+.1f}" if compared.is_share else f"{'+' if value >= 0 else ''}{signless(value)}"


def interval_shown(compared: Compared) -> str:
    """Return the interval of the difference."""
    low, high = compared.result.low, compared.result.high
    if low is None or high is None:
        return "-"
    if compared.is_factor:
        return f"{100 * (low - 1):+.1f} to {100 * (high - 1):+.1f} %"
    return f"{_number(compared, low)} to {_number(compared, high)}"


def value_shown(compared: Compared, value: float | None) -> str:
    """Return a side's value."""
    if value is None:
        return "-"
    return f"{100 * value:.1f}" if compared.is_share else plain(value)


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
    """Return how each side differs from each other by one metric: the row's value less the column's."""
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
        return "-"
    if compared.is_factor:
        return f"{100 * (1 / value - 1):+.1f} %"
    return (
        f"{0 - 100 * value:+.1f}" if compared.is_share else f"{'+' if value <= 0 else ''}{signless(-value)}"
    )


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
