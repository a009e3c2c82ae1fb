"""assay serve token"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec

import click

if TYPE_CHECKING:
    from assay.app.team.settings import TeamSettings

_DAY_S = 24 * 3600.0
_MOST_DAYS = 36_500


def _check_days(_context: click.Context, _parameter: click.Parameter, days: float | None) -> float | None:
    """Reject values that are not a time: `nan` would make a token that never expires."""
    if days is not None and not 0 < days <= _MOST_DAYS:
        raise click.BadParameter(f"{days:g} is not above 0 and at most {_MOST_DAYS}")
    return days


_P = ParamSpec("_P")


def _add_database_options(command: Callable[Concatenate[TeamSettings, _P], None]) -> Callable[..., None]:
    """Add --home and --database to a command; `assay serve --home DIR token ...` works too."""

    @click.option("--home", metavar="DIR", help="Folder of the server. [assay-team]")
    @click.option(
        "--database", metavar="PLACE", help="Database: a file or postgresql://... [team.db in --home]"
    )
    @click.pass_obj
    @wraps(command)
    def run_with_settings(
        settings: TeamSettings, /, home: str | None, database: str | None, *args: _P.args, **kwargs: _P.kwargs
    ) -> None:
        import msgspec

        given = {"home": home, "database": database}
        changed = {name: value for name, value in given.items() if value is not None}
        command(msgspec.structs.replace(settings, **changed), *args, **kwargs)

    return run_with_settings


@click.group()
def token() -> None:
    """Create, list and revoke access tokens of a team server. Changes apply at once, also while it runs.

    \b
    assay serve token add ann --role runner --days 90
    assay serve token add ann --role runner --home /srv/assay-team
    assay serve token list --home /srv/assay-team
    """  # noqa: D301 (click wants the character itself)


@token.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["reader", "runner", "owner"]),
    required=True,
    help="reader: read only; runner: also start evaluations and stop their own; owner: everything.",
)
@click.option("--days", type=float, callback=_check_days, metavar="N", help="Days until it expires. [never]")
@_add_database_options
def add(settings: TeamSettings, name: str, role: str, days: float | None) -> None:
    """Create a token and print it. It is not stored and cannot be shown again."""
    from assay.app.team.registering import check_name
    from assay.app.team.team import open_team
    from assay.core.roles import Role

    with open_team(settings) as team:
        lasts_s = None if days is None else days * _DAY_S
        click.echo(team.tokens.add(check_name(name), Role(role), lasts_s=lasts_s))


@token.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@_add_database_options
def list_tokens(settings: TeamSettings, as_json: bool) -> None:
    """List the tokens, without their secrets."""
    import msgspec

    from assay.app.team.team import open_team

    with open_team(settings) as team:
        tokens = team.tokens.every()
    if as_json:
        click.echo(msgspec.json.encode(tokens).decode())
        return
    for one in tokens:
        expiry = "never expires" if one.expires_at is None else f"expires {_day(one.expires_at)}"
        click.echo(f"{one.name}  {one.role}  created {_day(one.created_at)}, {expiry}")


@token.command()
@click.argument("name")
@_add_database_options
def revoke(settings: TeamSettings, name: str) -> None:
    """Revoke a token."""
    from assay.app.team.team import open_team

    with open_team(settings) as team:
        team.tokens.revoke(name)
    click.echo(f"revoked the token {name!r}")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
