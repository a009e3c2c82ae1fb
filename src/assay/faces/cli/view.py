"""assay view"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from assay.core.errors import Problem, UsageError
from assay.faces.cli.completers import complete_run
from assay.faces.cli.options import resolve_runs_folder, runs_option


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUNS]...", shell_complete=complete_run)
@runs_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port. [8421, or a free one if that is taken]")
@click.option(
    "--token",
    envvar="ASSAY_VIEW_TOKEN",
    help="Access token for visitors; `new` creates one. [none on this machine, otherwise a new one]",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="Additional host name to accept, such as that of a proxy.",
)
@click.option("--open/--no-open", "opens", default=None, help="Open a browser. [if there is a display]")
def view(
    runs: tuple[str, ...],
    runs_dir: str | None,
    host: str,
    port: int | None,
    token: str | None,
    allow_host: tuple[str, ...],
    opens: bool | None,
) -> None:
    """Show runs in a browser, also while they are in progress. RUNS are folders of runs, runs, or a group.

    The page is only reachable from this machine, unless --host names another address: then visitors need the
    printed token. The viewer never changes a run.

    \b
    assay view
    assay view runs/my-run other/runs
    assay view --host 0.0.0.0
    """  # noqa: D301 (click wants the character itself)
    try:
        from assay.faces.web.view import ViewSettings, show_runs
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("assay"):
            raise
        raise UsageError(
            Problem(
                "WEB-001",
                f"the viewer needs the package {error.name!r}, which is not installed",
                "pip install 'assay-eval[web]'; report.html in a run's folder opens in a browser without it",
            )
        ) from error

    def started(address: str) -> None:
        click.echo(f"showing runs at {address}  (Ctrl-C to stop)")
        if opens if opens is not None else _has_screen():
            import webbrowser

            webbrowser.open(address)

    from assay.app.run_groups import find_compared_folders

    root = resolve_runs_folder(runs_dir)
    compared = find_compared_folders(runs[0], root) if len(runs) == 1 else []
    folders = tuple(compared) or tuple(Path(one) for one in runs) or (root,)
    show_runs(ViewSettings(folders, host, port, token, allow_host, compares=bool(compared)), started)


def _has_screen() -> bool:
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
