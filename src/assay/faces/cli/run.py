"""assay run"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from assay.app.settings import Settings
from assay.app.settings_files import is_profile_name
from assay.core.time_profile import find_process_start, measuring, recording_time
from assay.faces.cli.completers import complete_dataset, completing
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.option_groups import GroupedCommand, grouped_option
from assay.faces.cli.options import allow_failures_option, build_run_settings, dataset_options

if TYPE_CHECKING:
    from assay.app.run import FinishedRun
    from assay.core.summary_group import SummaryGroup
    from assay.core.task import Task
    from assay.faces.cli.progress_views import ProgressMode

FAILED_SAMPLES = 3
"""Exit status of a complete run with too many failed samples, or with a task that has no score."""
STOPPED = 4
"""Exit status of a run that reached its budget."""


class _RunCommand(GroupedCommand):
    """Reads `--profile` without a name as `--timings`, which had that name before there were profiles."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        pairs = zip_longest(args, args[1:], fillvalue="")
        named = [
            "--timings" if arg == "--profile" and not is_profile_name(following) else arg
            for arg, following in pairs
        ]
        return super().parse_args(ctx, named)


@click.command(cls=_RunCommand)
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...", shell_complete=complete_dataset)
@dataset_options
@grouped_option("Output and resume", "--out", metavar="DIR", help="Folder of this run. [runs/ID]")
@grouped_option("Output and resume", "--runs-dir", metavar="DIR", help="Folder of runs without --out. [runs]")
@grouped_option(
    "Output and resume", "--cache/--no-cache", default=None, help="Reuse responses across runs. [on]"
)
@grouped_option(
    "Output and resume",
    "--stage",
    type=click.Choice(["all", "infer", "score"]),
    help="Collect responses only, or score stored responses without the model. [all]",
)
@grouped_option(
    "Output and resume",
    "--answers-from",
    is_rare=True,
    metavar="RUN",
    help="Run whose responses --stage score uses. [the latest that fits]",
)
@grouped_option(
    "Output and resume",
    "--keep-media",
    is_rare=True,
    metavar="SIZE",
    help="Maximum size of images, sounds and videos copied into the run; 0 copies none. [256MB]",
)
@grouped_option(
    "Output and resume",
    "--retry-failed",
    is_flag=True,
    default=None,
    help="Send failed requests again. [off]",
)
@grouped_option(
    "Network",
    "--keep-going",
    is_rare=True,
    is_flag=True,
    default=None,
    help="Continue even if the server rejects the first requests with the same error. [off]",
)
@grouped_option(
    "Output and resume",
    "--fresh",
    is_flag=True,
    default=None,
    help="Archive an earlier run of the same command and re-run all requests, without the cache. [off]",
)
@grouped_option(
    "Output and resume",
    "--reuse",
    is_rare=True,
    is_flag=True,
    default=None,
    help="Reuse a finished run even if its server does not report which model it runs. [off]",
)
@allow_failures_option
@grouped_option(
    "Output and resume",
    "--track",
    multiple=True,
    metavar="TRACKER",
    shell_complete=completing("mlflow", "wandb", "trackio"),
    help="Log the finished run to mlflow, wandb or trackio; mlflow:NAME names the experiment or project. "
    "Repeatable.",
)
@grouped_option(
    "Output and resume",
    "--progress",
    type=click.Choice(["auto", "lines", "json", "none"]),
    default="auto",
    help="Progress on standard error: panel on a terminal, else lines; JSON lines; or none. [auto]",
)
@grouped_option(
    "Output and resume",
    "--timings",
    "shows_times",
    is_rare=True,
    is_flag=True,
    help="Print where the time went, and write a trace for Perfetto into the run. [off]",
)
@json_option
def run(
    datasets: tuple[str, ...], progress: ProgressMode, is_json: bool, shows_times: bool, **flags: Any
) -> int | Answer:
    """Evaluate a model on one or more datasets.

    DATASET is a file (csv, tsv, json, jsonl, parquet, arrow, xlsx, ods; also .gz), a dataset class, config or
    task file of another system, a benchmark such as lm_eval:mmlu (`assay ls benchmarks` lists them), a name
    under --data-root, or a dataset on the Hugging Face hub: ORG/NAME or
    hf://ORG/NAME[:config][@revision][#split]. Run the same command again to resume an interrupted run.
    Several -m or --prompt evaluate each model with each prompt, and compare them.
    """
    with recording_time(find_process_start()) if shows_times else nullcontext():
        settings = build_run_settings(flags)
        if len(settings) == 1:
            return _evaluate_command(datasets, settings[0], progress, is_json=is_json)
        from assay.faces.cli.run_group import run_group

        return run_group(datasets, settings, progress, is_json=is_json)


def _evaluate_command(
    datasets: tuple[str, ...], settings: Settings, progress: ProgressMode, *, is_json: bool
) -> int | Answer:
    if not is_json:
        return evaluate(datasets, settings, progress)
    from assay.faces.cli.answers import build_run_answer

    finished = evaluate_and_show(datasets, settings, progress=progress, shows_result=False)
    answer = build_run_answer(finished.folder, finished.manifest, finished.metrics, finished.tracked)
    return Answer(answer, get_exit_status(finished))


def evaluate(datasets: tuple[str, ...], settings: Settings, progress: ProgressMode = "auto") -> int:
    """Run, show progress and result; return the exit status."""
    finished = evaluate_and_show(datasets, settings, progress=progress)
    if settings.values.stage == "infer" and get_exit_status(finished) != STOPPED:
        click.echo("to score the responses without the model, run the same command with --stage score")
    return get_exit_status(finished)


def evaluate_and_show(
    datasets: tuple[str, ...],
    settings: Settings,
    groups: Sequence[SummaryGroup] | None = None,
    *,
    progress: ProgressMode = "auto",
    shows_result: bool = True,
    retry: str = "--retry-failed",
    on_compiled: Callable[[Sequence[Task]], None] | None = None,
) -> FinishedRun:
    """Run, show progress and result; return the run.

    `groups`: tasks to report together; None takes those of the configs. `retry`: the command's flag that
    sends failed requests again. `on_compiled` is called before weights are read, and may raise an error.
    """
    with measuring("start"):
        from assay.app.allowed_failures import read_allowed_failures
        from assay.app.run import run as evaluate_datasets
        from assay.faces.cli.progress import TerminalObserver
        from assay.faces.cli.progress_views import download_bars
        from assay.faces.cli.render import show_failures, show_result
        from assay.faces.cli.track import show_tracking

    screen = TerminalObserver(progress, shows_plan=shows_result, on_compiled=on_compiled)
    with download_bars(progress), screen as observer:
        finished = evaluate_datasets(datasets, settings, observer, groups)
    if shows_result:
        show_result(finished, retry)
    show_failures(finished.manifest, read_allowed_failures(finished.manifest), retry)
    show_tracking(finished.tracked)
    return finished


def get_exit_status(finished: FinishedRun) -> int:
    """Return the exit status of a run."""
    from assay.app.allowed_failures import is_failed
    from assay.core.run import RunStatus
    from assay.faces.cli.track import get_tracking_status

    if finished.manifest.status is RunStatus.STOPPED:
        return STOPPED
    return FAILED_SAMPLES if is_failed(finished.manifest) else get_tracking_status(finished.tracked)
