"""A gate's outcome as sentences, table rows and Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.core.text_preview import STEERING_CODES
from assay.results.comparison import Flip, Flips, RunComparison
from assay.results.comparison_words import (
    describe_left_out,
    describe_power,
    format_compared_label,
    format_compared_method,
    format_difference,
    format_difference_interval,
    format_flip_answer,
    format_p,
    format_side_letter,
    format_side_value,
    shorten_answer,
)
from assay.results.gate import Gate, GateCheck, GateRule, GateVerdict
from assay.results.rows import markdown_list, markdown_table

CHECK_HEADINGS = ("verdict", "task", "method", "base", "new", "new - base", "95 % interval", "p", "pairs")
_NAMES_SHOWN = 5
_CONTROL_CODES = dict.fromkeys((*range(0x20), *STEERING_CODES), " ")


def describe_gate(gate: Gate) -> str:
    """Return the outcome in one sentence."""
    rule = GateRule.parse(gate.rule)
    points = f"more than {rule.margin:g} {'point' if rule.margin == 1 else 'points'}"
    by, of = (f" by {points}", f" of {points}") if rule.margin else ("", "")
    n = len(gate.checks)
    if gate.has_passed:
        claim = "the new run is shown not to be" if rule.fails_unsure else "the new run is not significantly"
        where = "" if n == 1 else f" in {n:,} checks"
        return f"gate passed: {claim} worse{by}{where} (--fail-if {gate.rule})"
    parts = [
        f"{claim}{_count_checks(found, n)}: {_list_checks(found)}"
        for claim, found in (
            (f"the new run is significantly worse{by}", gate.failing_by(GateVerdict.WORSE)),
            (f"a drop{of} is not excluded", gate.failing_by(GateVerdict.UNSURE)),
        )
        if found
    ]
    return f"gate failed: {'; '.join(parts)} (--fail-if {gate.rule})"


def _count_checks(found: Sequence[GateCheck], n: int) -> str:
    return "" if n == 1 else f" in {len(found):,} of {n:,} checks"


def _list_checks(checks: Sequence[GateCheck]) -> str:
    names = [format_check_name(one) for one in checks[:_NAMES_SHOWN]]
    more = len(checks) - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")


def format_check_name(check: GateCheck) -> str:
    """Return the task and the method of a check."""
    compared = check.compared
    return f"{format_compared_label(compared)} {format_compared_method(compared)}"


def describe_check(check: GateCheck) -> str:
    """Return a check in one sentence."""
    compared = check.compared
    unit = " points" if compared.is_share else ""
    text = (
        f"{check.verdict}: {format_side_value(compared, compared.result.a)} before, "
        f"{format_side_value(compared, compared.result.b)} now: {format_difference(compared)}{unit} "
        f"(95 % interval {format_difference_interval(compared)}, p {format_p(check.p)}, "
        f"{compared.result.n:,} pairs)"
    )
    return text if check.verdict is not GateVerdict.UNSURE else f"{text}; {describe_power(compared)}"


def build_check_rows(checks: Sequence[GateCheck]) -> list[list[str]]:
    """Return one table row for each check."""
    return [
        [
            str(one.verdict),
            format_compared_label(one.compared),
            format_compared_method(one.compared),
            format_side_value(one.compared, one.compared.result.a),
            format_side_value(one.compared, one.compared.result.b),
            format_difference(one.compared),
            format_difference_interval(one.compared),
            format_p(one.p).removeprefix("= ").removeprefix("is "),
            f"{one.compared.result.n:,}",
        ]
        for one in checks
    ]


def explain_gate(gate: Gate) -> str:
    """Return how the gate decided."""
    if len(gate.checks) == 1:
        return "a check is worse if its paired 95 % interval and its test show it"
    return (
        f"p-values are corrected for {len(gate.checks):,} checks by Holm's method; a check is worse if its "
        "paired 95 % interval and its corrected p-value show it"
    )


def render_gate(gate: Gate, comparison: RunComparison, flips: Sequence[Flips]) -> str:
    """Return a gate as Markdown, for a comment on a pull request or the summary of a job."""
    passed = "passed" if gate.has_passed else "failed"
    base, *others = comparison.sides
    new = ", ".join(quote_code(side.name) for side in others)
    lines = [f"## Gate {passed}: {new} against {quote_code(base.name)}", f"Rule: `{gate.rule}`."]
    rows = [
        [row[0] if row[0] != GateVerdict.WORSE else "**worse**", *map(quote_code, row[1:3]), *row[3:]]
        for row in build_check_rows(gate.checks)
    ]
    lines += [markdown_table(CHECK_HEADINGS, rows), f"{_capitalize(explain_gate(gate))}."]
    for one in flips:
        lines += _render_flips(one, n_sides=len(comparison.sides))
    heads = [one for one in comparison.headlines if one.first == 0]
    notes = [*comparison.notes, *filter(None, map(describe_left_out, heads))]
    if notes:
        lines += ["### Notes", markdown_list([quote_code(one) for one in dict.fromkeys(notes)])]
    return "\n\n".join(lines) + "\n"


def _render_flips(flips: Flips, *, n_sides: int) -> list[str]:
    lines: list[str] = []
    suffix = "" if n_sides == 2 else f" ({' '.join(map(format_side_letter, flips.sides))})"
    where = f"{quote_code(flips.task)} {flips.method}{suffix}"
    for what, chosen in (
        ("Right before, wrong now", flips.only_first),
        ("Wrong before, right now", flips.only_second),
    ):
        if chosen and flips.sides[0] == 0:
            table = markdown_table(
                ("sample", "question", "before", "now", "right answer"),
                [_build_flip_row(one) for one in chosen],
            )
            lines += [f"### {what}: {where}", table]
    return lines


def _build_flip_row(flip: Flip) -> list[str]:
    target = flip.first.target or flip.second.target
    texts = (
        flip.sample_id,
        flip.question,
        format_flip_answer(flip.first),
        format_flip_answer(flip.second),
        shorten_answer(target),
    )
    return [quote_code(text) for text in texts]


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def quote_code(text: str) -> str:
    """Return a text as a code span, in which Markdown, HTML and mentions have no meaning."""
    plain = " ".join(text.translate(_CONTROL_CODES).split())
    if not plain:
        return ""
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{pad}{plain}{pad}{fence}"
