"""assay run"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from assay.app.settings import Settings
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.options import allow_failures_option, build_settings, dataset_options

if TYPE_CHECKING:
    from assay.app.run import FinishedRun
    from assay.core.summary_group import SummaryGroup
    from assay.faces.cli.progress_views import ProgressMode

FAILED_SAMPLES = 3
"""Exit status of a complete run that counts as failed: too many failed samples, or a task without a score."""


@click.command()
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@dataset_options
@click.option("--out", metavar="DIR", help="Folder of the run. [runs/ID]")
@click.option("--runs-dir", metavar="DIR", help="Where runs without --out are kept. [runs]")
@click.option("--cache/--no-cache", default=None, help="Keep the model's answers between runs. [yes]")
@click.option(
    "--stage",
    type=click.Choice(["all", "infer", "score"]),
    help="Only ask the model, or only score what it answered: without the model. [all]",
)
@click.option(
    "--answers-from", metavar="RUN", help="The run whose answers --stage score scores. [the latest that fits]"
)
@click.option(
    "--keep-media",
    metavar="SIZE",
    help="Most room for images, sounds and films that are kept with the run; 0: keep none. [256MB]",
)
@click.option("--retry-failed", is_flag=True, default=None, help="Ask again what failed in this run.")
@click.option(
    "--keep-going",
    is_flag=True,
    default=None,
    help="Go on though the server refuses the first requests alike.",
)
@click.option(
    "--fresh",
    is_flag=True,
    default=None,
    help="Archive an earlier run of the same command and re-run all requests, without the answer cache.",
)
@click.option(
    "--reuse",
    is_flag=True,
    default=None,
    help="Reuse a finished run although its server does not report which model it runs.",
)
@allow_failures_option
@click.option(
    "--progress",
    type=click.Choice(["auto", "lines", "json", "none"]),
    default="auto",
    help="On standard error: a panel, or lines without a terminal; lines; JSON lines; nothing. [auto]",
)
@json_option
def run(datasets: tuple[str, ...], progress: ProgressMode, is_json: bool, **flags: Any) -> int | Answer:
    """Evaluate a model on one or more datasets.

    DATASET is a csv, tsv, json, jsonl, parquet or arrow file (also .gz), a Python config with a
    `datasets` list, a name under --data-root, or a dataset on the Hugging Face hub: ORG/NAME or
    hf://ORG/NAME[:config][@revision][#split]. The same command again resumes where it stopped.
    """
    settings = build_settings(flags)
    if not is_json:
        return evaluate(datasets, settings, progress)
    from assay.faces.cli.answers import build_run_answer

    finished = evaluate_and_show(datasets, settings, progress=progress, shows_result=False)
    return Answer(
        build_run_answer(finished.folder, finished.manifest, finished.metrics), get_exit_status(finished)
    )


def evaluate(datasets: tuple[str, ...], settings: Settings, progress: ProgressMode = "auto") -> int:
    """Run, show how it goes and what came out; return the exit status."""
    finished = evaluate_and_show(datasets, settings, progress=progress)
    if settings.values.stage == "infer":
        click.echo("the same command with --stage score scores them, without the model")
    return get_exit_status(finished)


def evaluate_and_show(
    datasets: tuple[str, ...],
    settings: Settings,
    groups: Sequence[SummaryGroup] | None = None,
    *,
    progress: ProgressMode = "auto",
    shows_result: bool = True,
    retry: str = "--retry-failed",
) -> FinishedRun:
    """Run, show how it goes and what came out; return the run.

    `groups`: what is also told together; None: as configs say. `retry`: the command's flag that sends failed
    requests again.
    """
    from assay.app.allowed_failures import read_allowed_failures
    from assay.app.run import run as evaluate_datasets
    from assay.faces.cli.progress import TerminalObserver
    from assay.faces.cli.progress_views import download_bars
    from assay.faces.cli.render import show_failures, show_result

    with download_bars(progress), TerminalObserver(progress, shows_plan=shows_result) as observer:
        finished = evaluate_datasets(datasets, settings, observer, groups)
    if shows_result:
        show_result(finished, retry)
    show_failures(finished.manifest, read_allowed_failures(finished.manifest), retry)
    return finished


def get_exit_status(finished: FinishedRun) -> int:
    """Return the exit status of a complete run."""
    from assay.app.allowed_failures import is_failed

    return FAILED_SAMPLES if is_failed(finished.manifest) else 0
