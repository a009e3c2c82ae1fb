"""Terminal output of comparisons and gates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from assay.app.compare import ComparisonWithFlips
from assay.app.gate import GateResult
from assay.faces.cli.console import out
from assay.faces.cli.tables import print_rows
from assay.results.comparison import Flip, Flips, RunComparison
from assay.results.comparison_words import (
    build_difference_matrix,
    comparison_rows,
    describe_difference,
    describe_left_out,
    describe_power,
    format_compared_label,
    format_compared_method,
    format_flip_answer,
    format_side_cost,
    format_side_letter,
    select_notable_comparisons,
    shorten_answer,
    summarize_comparison,
)
from assay.results.gate import GateVerdict
from assay.results.gate_words import CHECK_HEADINGS, build_check_rows, describe_gate, explain_gate

_NAME_CHARS = 16
_CHECKS_SHOWN = 20
_NARROW_HEADINGS = (
    *("task", "method", "\nsides", "\nfirst", "\nsecond", "second\n- first", "95 %\ninterval", "\np"),
    *("only first\nright", "only second\nright", "\npairs", "min.\ndetectable"),
)
"""The headings of `comparison_words` on two lines each."""
_OPTIONAL = ((2,), (11,), (10,), (8, 9))
"""The columns that a narrow terminal omits: sides, detectable difference, pairs, samples right in one run."""


def show_comparison(compared: ComparisonWithFlips) -> None:
    """Print the sides of a comparison and their differences."""
    comparison = compared.comparison
    for at, side in enumerate(comparison.sides):
        facts = dict.fromkeys((side.name, side.model, _format_folder(side.folder)))
        cost = "" if side.usd is None else f"  cost {format_side_cost(side)}"
        out.print(f"[bold]{format_side_letter(at)}[/]  {escape('  '.join(facts))}{cost}", soft_wrap=True)
    out.print()
    show_differences(comparison, compared.flips)


def show_differences(comparison: RunComparison, flips: Sequence[Flips] = ()) -> None:
    """Print the paired differences between runs and their significance, with samples to look at."""
    if (overall := summarize_comparison(comparison)) is not None:
        out.print(escape(overall), soft_wrap=True)
    for one in select_notable_comparisons(comparison):
        style = "bold" if one.is_real else "default"
        name = f"{escape(format_compared_label(one))} {escape(format_compared_method(one))}"
        out.print(f"[{style}]{name}:[/] {escape(describe_difference(one))}", soft_wrap=True)
    if comparison.headlines:
        out.print()
        _show_tables(comparison)
    show_flips(flips)
    show_comparison_notes(comparison)


def show_flips(found: Sequence[Flips]) -> None:
    """Print the samples that only one of two sides has right, for pairs with the first side."""
    for flips in (one for one in found if one.sides[0] == 0):
        a, b = map(format_side_letter, flips.sides)
        for right, wrong, ways in ((a, b, flips.only_first), (b, a, flips.only_second)):
            if ways:
                what = f"[bold]{escape(flips.task)} {escape(flips.method)}[/]"
                out.print(f"\n{what}: right in {right}, wrong in {wrong}", soft_wrap=True)
            for flip in ways:
                _show_flip(flip, flips.sides)


def show_comparison_notes(comparison: RunComparison) -> None:
    """Print what limits a comparison, and which samples it omits."""
    for note in (*comparison.notes, *filter(None, map(describe_left_out, comparison.headlines))):
        out.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)


def _format_folder(folder: str) -> str:
    path = Path(folder)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else folder


def _show_tables(comparison: RunComparison) -> None:
    heads = comparison.headlines
    rows = [[task, _break_name(name), *cells] for task, name, *cells in comparison_rows(heads)]
    print_rows(_NARROW_HEADINGS, rows, n_left=3, optional=_OPTIONAL)
    if len(comparison.sides) < 3:
        return
    groups: dict[tuple[str, str], list[int]] = {}
    for at, one in enumerate(heads):
        groups.setdefault((format_compared_label(one), format_compared_method(one)), []).append(at)
    for (task, name), places in groups.items():
        headings, rows = build_difference_matrix(comparison, [heads[at] for at in places])
        out.print(
            f"\n[bold]{escape(task)} {escape(name)}[/]: row minus column, * where significant",
            soft_wrap=True,
        )
        print_rows(headings, rows, n_left=1)


def _break_name(name: str) -> str:
    """Break a long name of two methods or two metrics into two lines."""
    return name if len(name) <= _NAME_CHARS else name.replace(" / ", " /\n")


def _show_flip(flip: Flip, sides: tuple[int, int]) -> None:
    answers = "  ".join(
        f"[dim]{format_side_letter(side)}:[/] "
        f"[{'green' if score.value == 1 else 'red'}]{escape(format_flip_answer(score))}[/]"
        for side, score in zip(sides, (flip.first, flip.second), strict=True)
    )
    answer = shorten_answer(flip.first.target or flip.second.target)
    target = f"  [dim]right:[/] {escape(answer)}" if answer else ""
    out.print(f"  [bold]{escape(flip.sample_id)}[/]  {escape(flip.question)}", soft_wrap=True)
    out.print(f"    {answers}{target}", soft_wrap=True)


def show_outcome(result: GateResult) -> None:
    """Print the checks of a gate and its outcome."""
    gate = result.gate
    failing = gate.failing
    shown = sorted(gate.checks, key=lambda one: not one.is_failing)[:_CHECKS_SHOWN]
    out.print()
    print_rows(CHECK_HEADINGS, build_check_rows(shown), n_left=3)
    if len(gate.checks) > len(shown):
        out.print(f"[dim]{len(gate.checks) - len(shown):,} more checks: --json lists all[/]")
    out.print(f"[dim]{escape(explain_gate(gate))}[/]", soft_wrap=True)
    unsure = [one for one in shown if one.verdict is GateVerdict.UNSURE]
    if len(shown) == 1 and unsure:
        out.print(f"[dim]{escape(describe_power(unsure[0].compared))}[/]", soft_wrap=True)
    style = "bold red" if failing else "bold green"
    out.print(f"[{style}]{escape(describe_gate(gate))}[/]", soft_wrap=True)


def show_gate(result: GateResult) -> None:
    """Print the outcome of a run's gate against a baseline, with the samples that changed."""
    comparison = result.compared.comparison
    out.print()
    for at, side in enumerate(comparison.sides):
        facts = dict.fromkeys((_format_folder(side.folder), side.model, side.run))
        out.print(f"[bold]{format_side_letter(at)}[/]  {escape('  '.join(facts))}", soft_wrap=True)
    show_flips(result.compared.flips)
    show_comparison_notes(comparison)
    show_outcome(result)


def show_page(path: Path) -> None:
    """Print where a page was written."""
    out.print(f"[dim]page[/]  {escape(str(path))}", soft_wrap=True)
