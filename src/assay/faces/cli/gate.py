"""assay gate"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.faces.cli.gate_options import (
    Accept,
    accept_option,
    github_option,
    junit_option,
    per_group_option,
)
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.option_groups import GroupedCommand
from assay.faces.cli.options import build_settings
from assay.faces.cli.run import run as run_command

if TYPE_CHECKING:
    from assay.faces.cli.progress_views import ProgressMode

_ONLY_OF_RUN = frozenset({"stage", "answers_from", "shows_times", "is_json", "help_all"})
"""Options of `assay run` that a gate does not take from it."""


@click.command(cls=GroupedCommand, shared_from="assay run")
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@click.option(
    "--baseline",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of `assay baseline` to compare with.",
)
@click.option(
    "--fail-if",
    default="worse",
    metavar="RULE",
    help="When to end with status 5: worse, worse:POINTS, worse-or-unsure[:POINTS]. [worse]",
)
@per_group_option
@click.option("--metric", metavar="NAME", help="Decide by this metric. [headline metric]")
@accept_option
@click.option(
    "--flips",
    "n_flips",
    type=click.IntRange(min=0),
    default=5,
    metavar="N",
    help="Samples to show that changed from right to wrong, or from wrong to right. [5]",
)
@junit_option
@click.option(
    "--markdown",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the outcome as Markdown, for a comment on a pull request.",
)
@github_option
@json_option
def gate(
    datasets: tuple[str, ...],
    baseline: Path,
    fail_if: str,
    per_group: bool,
    metric: str | None,
    accept: Accept,
    n_flips: int,
    junit: Path | None,
    markdown: Path | None,
    github: bool | None,
    progress: ProgressMode,
    is_json: bool,
    **flags: Any,
) -> int | Answer:
    """Evaluate a model and fail if it is significantly worse than a baseline.

    Runs like `assay run`, and resumes like it. Then compares the run sample by sample with the baseline, a
    file that `assay baseline RUN -o FILE` writes from an earlier run. The exit status is 5 if the paired
    interval shows that the new run is worse.
    """
    from assay.app.baselines import check_plan_against_baseline, open_baseline
    from assay.app.gate import compare_with_baseline
    from assay.faces.cli.gate_reports import get_gate_status, write_reports
    from assay.faces.cli.run import evaluate_and_show, get_exit_status
    from assay.results.gate import GateRule

    settings = build_settings(flags)
    rule, base = GateRule.parse(fail_if), open_baseline(baseline)
    finished = evaluate_and_show(
        datasets,
        settings,
        progress=progress,
        shows_result=not is_json,
        on_compiled=lambda tasks: check_plan_against_baseline(base, tasks, accept),
    )
    if not finished.manifest.status.is_finished and (status := get_exit_status(finished)):
        # Stopped early: there is nothing to decide yet.
        return status
    result = compare_with_baseline(
        finished.folder, base, rule, accept=accept, metric=metric, per_group=per_group, n_flips=n_flips
    )
    status = get_gate_status(result)
    write_reports(result, junit=junit, markdown=markdown, github=github, is_json=is_json)
    if is_json:
        from assay.faces.cli.answers import GateAnswer, build_run_answer

        run = build_run_answer(finished.folder, finished.manifest, finished.metrics)
        compared = result.compared
        return Answer(GateAnswer(run, result.gate, compared.comparison, compared.flips), status)
    from assay.faces.cli.comparison_screen import show_gate

    show_gate(result)
    return status


gate.params += [
    one for one in run_command.params if isinstance(one, click.Option) and one.name not in _ONLY_OF_RUN
]
