"""assay compare"""

from __future__ import annotations

from pathlib import Path

import click

from assay.faces.cli.completers import complete_run
from assay.faces.cli.gate_options import (
    Accept,
    accept_option,
    github_option,
    junit_option,
    per_group_option,
)
from assay.faces.cli.json_output import Answer
from assay.faces.cli.options import resolve_runs_folder, runs_option


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
@click.option(
    "--fail-if",
    metavar="RULE",
    help="End with status 5 if a run is worse than the first: worse, worse:POINTS, worse-or-unsure[:POINTS].",
)
@per_group_option
@accept_option
@junit_option
@github_option
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
    fail_if: str | None,
    per_group: bool,
    accept: Accept,
    junit: Path | None,
    github: bool | None,
    markdown: bool,
    is_json: bool,
) -> int | Answer:
    """Compare runs sample by sample, and test whether differences are significant.

    RUN is a folder, an id or a prefix of one, or a group of runs; `last` is the latest. The first can be a
    file of `assay baseline`. All runs are compared with the first. For a single run, --methods ppl,gen
    compares its methods and --scorings 1,2 its scorings.
    """
    from assay.app.baselines import find_side, require_stored_runs
    from assay.app.compare import compare_sides, find_scorings, write_comparison
    from assay.app.gate import check_gate
    from assay.app.run_groups import find_sides

    if fail_if is None and (junit is not None or github):
        raise click.UsageError("--junit and --github report the outcome of a gate: add --fail-if worse")
    root = resolve_runs_folder(runs_dir)
    chosen = _names(methods)
    # Methods and scorings are of a single run.
    is_single = len(runs) == 1 and (scorings or len(chosen) > 1)
    sides = [find_side(runs[0], root)] if is_single else find_sides(runs, root)
    if wanted := _names(scorings):
        sides = list(find_scorings(require_stored_runs(sides, "--scorings"), wanted))
    if html is not None:
        stored = require_stored_runs(sides, "--html")
    gate = None
    if fail_if is None:
        found = compare_sides(sides, chosen, metric, n_flips, accept=accept, by_group=per_group)
    else:
        gate = check_gate(sides, fail_if, accept, chosen, metric, per_group=per_group, n_flips=n_flips)
        found = gate.compared
    if html is not None:
        write_comparison(stored, chosen, metric, html)
    status = 0
    if gate is not None:
        from assay.faces.cli.gate_reports import get_gate_status, write_reports

        status = get_gate_status(gate)
        write_reports(gate, junit=junit, github=github, is_json=is_json)
    if is_json:
        from assay.faces.cli.answers import ComparisonAnswer

        outcome = None if gate is None else gate.gate
        return Answer(ComparisonAnswer(found.comparison, found.flips, outcome), status)
    if markdown:
        from assay.results.comparison_words import render_comparison
        from assay.results.gate_words import render_gate

        text = (
            render_comparison(found.comparison)
            if gate is None
            else render_gate(gate.gate, found.comparison, found.flips)
        )
        click.echo(text, nl=False)
        return status
    from assay.faces.cli.comparison_screen import show_comparison, show_outcome, show_page

    show_comparison(found)
    if gate is not None:
        show_outcome(gate)
    if html is not None:
        show_page(html)
    return status


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]
