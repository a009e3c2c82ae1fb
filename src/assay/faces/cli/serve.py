"""assay serve"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.core.errors import AssayError, Problem, StoreError, UsageError, format_count
from assay.faces.cli.lazy import Command, LazyGroup

if TYPE_CHECKING:
    from assay.app.team.team import Team

_PARTS = {"token": Command("assay.faces.cli.serve_token:token", "Create, list and revoke access tokens.")}
_FIRST_TOKEN = "owner"
_TAKEN = "TEAM-020"


@click.command(cls=LazyGroup, table=_PARTS, invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port. [8422, or a free one if that is taken]")
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="Additional host name to accept, such as that of a proxy.",
)
@click.option("--home", metavar="DIR", help="Folder of the server: database, uploads, logs. [assay-team]")
@click.option(
    "--database",
    metavar="FILE|URL",
    envvar="ASSAY_TEAM_DATABASE",
    help="Database: a file or postgresql://... [team.db in --home]",
)
@click.option("--runs-dir", metavar="DIR", help="Folder of runs. [runs]")
@click.option("--workers", type=int, metavar="N", help="Concurrent evaluations on this machine. [1]")
@click.option("--datasets", multiple=True, metavar="DIR", help="Folder of tables to register.")
@click.option(
    "--allow-python",
    multiple=True,
    metavar="DIR",
    help="Folder of datasets to register, including Python code, which the server will execute.",
)
@click.option("--data-root", metavar="DIR", help="Folder with data files referenced by name.")
@click.option("--max-upload-mb", type=int, metavar="N", help="Maximum size of an uploaded dataset. [64]")
@click.option("--offline", is_flag=True, default=None, help="Block all connections except to model servers.")
@click.pass_context
def serve(
    context: click.Context, /, host: str, port: int | None, allow_host: tuple[str, ...], **flags: Any
) -> None:
    """Start a team server over HTTP: datasets, models, a queue of evaluations and their results.

    Options that are not given are read from assay-team.toml in the working folder. The first start prints a
    token for the owner. From this machine, reading needs no token; starting evaluations does. With another
    --host address, everything needs a token.

    \b
    assay serve --datasets data --workers 2
    assay serve --allow-python my_tasks --database postgresql://assay@db/assay
    assay serve token add ann --role runner
    """  # noqa: D301 (click wants the character itself)
    from assay.app.team.settings import resolve_team_settings

    settings = resolve_team_settings(flags, Path.cwd())
    context.obj = settings
    if context.invoked_subcommand is not None:
        return
    try:
        from assay.faces.web.serve import ServeSettings, TeamServer
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("assay"):
            raise
        what = f"the server needs the package {error.name!r}, which is not installed"
        raise UsageError(Problem("WEB-001", what, "pip install 'assay-eval[web]'")) from error
    from assay.app.team.registering import register_folders
    from assay.app.team.team import open_team
    from assay.faces.cli.render import show_error

    with open_team(settings) as team:
        for problem in register_folders(team):
            show_error(AssayError(problem))
        server = TeamServer(team, ServeSettings(host, port, allow_host))
        click.echo(
            f"{format_count(len(team.datasets.every()), 'dataset')}, "
            f"{format_count(len(team.models.every()), 'model')}, "
            f"{format_count(settings.workers, 'worker')}, database {team.database.place}"
        )
        print_first_token(team)
        click.echo(f"serving at {server.address}  (Ctrl-C to stop)")
        server.serve()


def print_first_token(team: Team) -> None:
    """Create and print a token for the owner if there is none."""
    from assay.core.roles import Role

    tokens = team.tokens.every()
    has_owner = any(token.role is Role.OWNER for token in tokens)
    if not has_owner and all(token.name != _FIRST_TOKEN for token in tokens):
        try:
            token = team.tokens.add(_FIRST_TOKEN, Role.OWNER)
        except StoreError as error:
            if error.problems[0].code != _TAKEN:
                raise
            # Another server on the same database has created and printed it meanwhile.
            return
        click.echo(f"owner token, shown only once: {token}")
