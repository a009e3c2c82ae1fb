"""assay serve"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.core.errors import AssayError, Problem, StoreError, UsageError
from assay.faces.cli.lazy import Command, LazyGroup

if TYPE_CHECKING:
    from assay.app.team.team import Team

_PARTS = {"token": Command("assay.faces.cli.serve_token:token", "Make, list and revoke tokens.")}
_FIRST_TOKEN = "owner"
_TAKEN = "TEAM-020"


@click.command(cls=LazyGroup, table=_PARTS, invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="[8422, or a free one where that is taken]")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another name by which a proxy calls it.")
@click.option("--home", metavar="DIR", help="The server's own folder: database, uploads, logs. [assay-team]")
@click.option(
    "--database",
    metavar="FILE|URL",
    envvar="ASSAY_TEAM_DATABASE",
    help="A file, or postgresql://... [team.db in --home]",
)
@click.option("--runs-dir", metavar="DIR", help="Where runs are kept. [runs]")
@click.option("--workers", type=int, metavar="N", help="Evaluations done at a time on this machine. [1]")
@click.option("--datasets", multiple=True, metavar="DIR", help="A folder whose tables are registered.")
@click.option(
    "--allow-python",
    multiple=True,
    metavar="DIR",
    help="A folder whose datasets are registered, those in Python too: their code is run.",
)
@click.option("--data-root", metavar="DIR", help="The folder that holds data by name.")
@click.option("--max-upload-mb", type=int, metavar="N", help="The largest dataset that may be uploaded. [64]")
@click.option("--offline", is_flag=True, default=None, help="Connect to nothing but the models' endpoints.")
@click.pass_context
def serve(
    context: click.Context, /, host: str, port: int | None, allow_host: tuple[str, ...], **flags: Any
) -> None:
    """Serve a team: datasets, models, a queue of evaluations and their results, over HTTP.

    What is not given here is taken from assay-team.toml in the working folder. The first start prints a
    token for the owner. On this machine anybody may look without one; to start something needs a token, and
    so does everything when --host names another address.

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
            f"{len(team.datasets.every())} datasets, {len(team.models.every())} models, "
            f"{settings.workers} workers, database {team.database.place}"
        )
        print_first_token(team)
        click.echo(f"serving at {server.address}  (Ctrl-C ends)")
        server.serve()


def print_first_token(team: Team) -> None:
    """Print a token for the owner when nobody has one: who starts the server may do everything."""
    from assay.core.roles import Role

    tokens = team.tokens.every()
    has_owner = any(token.role is Role.OWNER for token in tokens)
    if not has_owner and all(token.name != _FIRST_TOKEN for token in tokens):
        try:
            token = team.tokens.add(_FIRST_TOKEN, Role.OWNER)
        except StoreError as error:
            if error.problems[0].code != _TAKEN:
                raise
            # Another server on the same database was quicker, and has printed it.
            return
        click.echo(f"the owner's token, shown this once: {token}")
