"""assay compare"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.faces.cli.completers import complete_run
from assay.faces.cli.json_output import Answer
from assay.faces.cli.options import resolve_runs_folder, runs_option

if TYPE_CHECKING:
    from assay.app.compare import ComparisonWithFlips
    from assay.core.score import Score
    from assay.results.comparison import Flip, RunComparison

_ANSWER_CHARS = 60
_NAME_CHARS = 16
_NARROW_HEADINGS = (
    *("task", "method", "\nsides", "\nfirst", "\nsecond", "second\n- first", "95 %\ninterval", "\np"),
    *("only first\nright", "only second\nright", "\npairs", "min.\ndetectable"),
)
"""The headings of `comparison_words` on two lines each."""


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=complete_run)
@runs_option
@click.option(
    "--methods",
    metavar="NAME,...",
    default="",
    help="One method for all runs, one for each run, or several methods of one run to compare.",
)
@click.option(
    "--scorings",
    metavar="NUMBER|NAME,...",
    default="",
    help="Compare scorings of a single run; list them with `assay score RUN --list-scorings`.",
)
@click.option("--metric", metavar="NAME", help="Compare by this metric. [headline metric]")
@click.option(
    "--flips",
    "n_flips",
    type=click.IntRange(min=0),
    default=5,
    metavar="N",
    help="Samples to show that one run has right and the other wrong, in each direction. [5]",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a self-contained HTML page with every sample side by side.",
)
@click.option("--markdown", is_flag=True, help="Print Markdown, for example for an issue.")
@click.option("--json", "is_json", is_flag=True, help="Print one JSON value with all metrics.")
def compare(
    runs: tuple[str, ...],
    runs_dir: str | None,
    methods: str,
    scorings: str,
    metric: str | None,
    n_flips: int,
    html: Path | None,
    markdown: bool,
    is_json: bool,
) -> Answer | None:
    """Compare runs sample by sample, and test whether differences are significant.

    RUN is a folder, an id or a prefix of one; `last` is the latest. All runs are compared with the first. For
    a single run, --methods ppl,gen compares its methods and --scorings 1,2 its scorings.
    """
    from assay.app.compare import compare as compare_runs
    from assay.app.compare import find_scorings
    from assay.app.stored_runs import find_run

    root = resolve_runs_folder(runs_dir)
    chosen = _names(methods)
    stored = [find_run(name, root) for name in runs]
    if wanted := _names(scorings):
        stored = find_scorings(stored, wanted)
    found = compare_runs(stored, chosen, metric, n_flips)
    if html is not None:
        from assay.app.compare import write_comparison

        write_comparison(stored, chosen, metric, html)
    if is_json:
        from assay.faces.cli.answers import ComparisonAnswer

        return Answer(ComparisonAnswer(found.comparison, found.flips))
    if markdown:
        from assay.results.comparison_words import render_comparison as in_markdown

        click.echo(in_markdown(found.comparison), nl=False)
    else:
        _show(found)
        if html is not None:
            from rich.markup import escape

            from assay.faces.cli.render import out

            out.print(f"[dim]page[/]  {escape(str(html))}", soft_wrap=True)
    return None


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]


def _show(compared: ComparisonWithFlips) -> None:
    from rich.markup import escape

    from assay.faces.cli.render import out
    from assay.results.comparison_words import (
        describe_difference,
        describe_left_out,
        format_compared_label,
        format_compared_method,
        format_side_letter,
        select_notable_comparisons,
        summarize_comparison,
    )

    comparison = compared.comparison
    for at, side in enumerate(comparison.sides):
        facts = dict.fromkeys((side.name, side.model, _format_folder(side.folder)))
        out.print(f"[bold]{format_side_letter(at)}[/]  {escape('  '.join(facts))}", soft_wrap=True)
    out.print()
    heads = comparison.headlines
    if (overall := summarize_comparison(comparison)) is not None:
        out.print(escape(overall), soft_wrap=True)
    for one in select_notable_comparisons(comparison):
        style = "bold" if one.is_real else "default"
        name = f"{escape(format_compared_label(one))} {escape(format_compared_method(one))}"
        out.print(f"[{style}]{name}:[/] {escape(describe_difference(one))}", soft_wrap=True)
    out.print()
    _show_tables(comparison)
    for flips in (one for one in compared.flips if one.sides[0] == 0):
        a, b = map(format_side_letter, flips.sides)
        for right, wrong, ways in ((a, b, flips.only_first), (b, a, flips.only_second)):
            if ways:
                what = f"[bold]{escape(flips.task)} {escape(flips.method)}[/]"
                out.print(f"\n{what}: right in {right}, wrong in {wrong}", soft_wrap=True)
            for flip in ways:
                _show_flip(flip, flips.sides)
    for note in (*comparison.notes, *filter(None, map(describe_left_out, heads))):
        out.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)


def _format_folder(folder: str) -> str:
    path = Path(folder)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else folder


def _show_tables(comparison: RunComparison) -> None:
    from rich.markup import escape

    from assay.faces.cli.render import out, print_table, simple_table
    from assay.results.comparison_words import (
        build_difference_matrix,
        comparison_rows,
        format_compared_label,
        format_compared_method,
    )

    heads = comparison.headlines
    rows = [[task, _break_name(name), *cells] for task, name, *cells in comparison_rows(heads)]
    print_table(simple_table(_NARROW_HEADINGS, rows, n_left=3))
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
        print_table(simple_table(headings, rows, n_left=1))


def _break_name(name: str) -> str:
    """Break a long name of two methods or two metrics into two lines."""
    return name if len(name) <= _NAME_CHARS else name.replace(" / ", " /\n")


def _show_flip(flip: Flip, sides: tuple[int, int]) -> None:
    from rich.markup import escape

    from assay.faces.cli.render import out
    from assay.results.comparison_words import format_side_letter

    answers = "  ".join(
        f"[dim]{format_side_letter(side)}:[/] "
        f"[{'green' if score.value == 1 else 'red'}]{escape(_answer(score))}[/]"
        for side, score in zip(sides, (flip.first, flip.second), strict=True)
    )
    target = f"  [dim]right:[/] {escape(_shorten(flip.first.target))}" if flip.first.target else ""
    out.print(f"  [bold]{escape(flip.sample_id)}[/]  {escape(flip.question)}", soft_wrap=True)
    out.print(f"    {answers}{target}", soft_wrap=True)


def _answer(score: Score) -> str:
    return _shorten(score.answer) if score.answer is not None else f"no answer ({score.verdict})"


def _shorten(text: str | None) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= _ANSWER_CHARS else line[: _ANSWER_CHARS - 1] + "…"
