"""assay track"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from assay.faces.cli.completers import complete_run, completing
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.options import is_offline, offline_option, resolve_runs_folder, runs_option

if TYPE_CHECKING:
    from assay.app.tracking import TrackingResult

NOT_TRACKED = 6
"""Exit status of a complete run that a tracker did not accept."""


@click.command()
@click.argument("run", default="last", shell_complete=complete_run)
@click.option(
    "--to",
    "trackers",
    multiple=True,
    required=True,
    metavar="TRACKER",
    shell_complete=completing("mlflow", "wandb", "trackio"),
    help="mlflow, wandb or trackio; mlflow:NAME names the experiment or project. Repeatable.",
)
@runs_option
@offline_option
@json_option
def track(
    run: str, trackers: tuple[str, ...], runs_dir: str | None, offline: bool | None, is_json: bool
) -> Answer | int:
    """Log a finished run to an experiment tracker.

    RUN is a folder, an id or a prefix of one; `last` is the latest. Each call creates a new run in the
    tracker.
    """
    from assay.app.stored_runs import find_run
    from assay.app.tracking import track_stored_run

    names = [name for one in trackers for name in one.split(",")]
    stored = find_run(run, resolve_runs_folder(runs_dir))
    results = track_stored_run(stored, names, is_offline=is_offline(offline))
    if is_json:
        from assay.faces.cli.answers import TrackingAnswer

        return Answer(TrackingAnswer(results), get_tracking_status(results))
    show_tracking(results)
    return get_tracking_status(results)


def show_tracking(results: Sequence[TrackingResult]) -> None:
    """Print where a run was logged, and the problems of trackers that did not accept it."""
    from rich.markup import escape

    from assay.core.errors import AssayError
    from assay.faces.cli.console import err, out
    from assay.faces.cli.render import show_error

    for one in results:
        if one.problem is not None:
            show_error(AssayError(one.problem))
            err.print("  the run itself is complete and stored", soft_wrap=True)
        else:
            state = "logged to" if one.is_new else "logged before, with the same results, to"
            out.print(escape(f"{state} {one.tracker}: {one.where}"), soft_wrap=True)


def get_tracking_status(results: Sequence[TrackingResult]) -> int:
    """Return the exit status: 0 if all trackers accepted the run."""
    return NOT_TRACKED if any(one.problem is not None for one in results) else 0
