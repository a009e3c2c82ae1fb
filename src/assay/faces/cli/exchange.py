"""assay import, assay export"""

from __future__ import annotations

from pathlib import Path

import click

from assay.faces.cli.completers import complete_run, completing
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.options import resolve_runs_folder, runs_option


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "format_name",
    metavar="FORMAT",
    shell_complete=completing(
        "lm-eval", "inspect", "every-eval-ever", "opencompass", "aisbench", "csv", "parquet"
    ),
    help="Format of the log: lm-eval, inspect, every-eval-ever, opencompass, aisbench, csv or parquet. "
    "[by its content]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Run folder to create. [in --runs-dir, named after task, model and content]",
)
@runs_option
@json_option
def import_log(
    path: Path, format_name: str | None, out: Path | None, runs_dir: str | None, is_json: bool
) -> Answer | None:
    """Read the log of another evaluation program as a run.

    PATH is a file or folder that lm-eval, inspect_ai, OpenCompass or another program wrote. The result is a
    run folder: `assay report`, `view`, `compare`, `diff` and `leaderboard` work on it.
    """
    from rich.markup import escape

    from assay.app.import_log import import_log as read_log
    from assay.faces.cli.console import out as screen
    from assay.faces.cli.render import show_metrics, show_notes

    done = read_log(path, format_name=format_name, out=out, runs_dir=resolve_runs_folder(runs_dir))
    stored = done.run
    if is_json:
        from assay.faces.cli.answers import build_run_answer

        return Answer(build_run_answer(stored.path, stored.manifest, stored.metrics()))
    if not done.is_new:
        screen.print("[dim]this log was imported before; the run folder is unchanged[/]")
    screen.print(
        f"[bold]{escape(str(stored.path))}[/]  imported from {escape(done.format.title)}", soft_wrap=True
    )
    show_metrics(stored.manifest, stored.metrics())
    show_notes(stored.manifest.notes)
    imported = stored.manifest.imported
    if imported is not None and imported.unknown:
        screen.print(f"[dim]not in the log: {', '.join(imported.unknown)}[/]", soft_wrap=True)
    return None


@click.command("export")
@click.argument("run", default="last", shell_complete=complete_run)
@click.option(
    "--to",
    "format_name",
    metavar="FORMAT",
    required=True,
    shell_complete=completing("lm-eval", "inspect", "every-eval-ever", "hf-eval-results", "csv", "parquet"),
    help="Format to write: lm-eval, inspect, every-eval-ever, hf-eval-results, csv or parquet.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File or folder to create. [in the working folder, named after the run]",
)
@runs_option
def export_run(run: str, format_name: str, out: Path | None, runs_dir: str | None) -> None:
    """Write a run in the format of another evaluation program.

    RUN is a folder, an id or a prefix of one; `last` is the latest. Import the result with `assay import`.
    """
    from assay.app.export_run import export_run as write_run
    from assay.app.stored_runs import find_run

    stored = find_run(run, resolve_runs_folder(runs_dir))
    _, files = write_run(stored, format_name, out)
    for file in files:
        click.echo(file)
