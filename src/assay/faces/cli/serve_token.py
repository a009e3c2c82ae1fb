"""assay serve token"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from assay.app.team.settings import TeamSettings

_DAY_S = 24 * 3600.0
_MOST_DAYS = 36_500


def _checked_days(_context: click.Context, _parameter: click.Parameter, days: float | None) -> float | None:
    """Refuse what is no time: a token until `nan` would be kept as one for ever."""
    if days is not None and not 0 < days <= _MOST_DAYS:
        raise click.BadParameter(f"{days:g} is not between 0 and {_MOST_DAYS}")
    return days


@click.group()
def token() -> None:
    """Make, list and revoke the tokens of a team's server. They count at once, also while it runs."""


@token.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["reader", "runner", "owner"]),
    required=True,
    help="reader looks; runner starts evaluations and stops their own; owner may do everything.",
)
@click.option(
    "--days", type=float, callback=_checked_days, metavar="N", help="How long it counts. [for ever]"
)
@click.pass_obj
def add(settings: TeamSettings, name: str, role: str, days: float | None) -> None:
    """Make a token and print it: it is not kept, and never shown again."""
    from assay.app.team.registering import checked_name
    from assay.app.team.team import open_team
    from assay.core.roles import Role

    with open_team(settings) as team:
        lasts_s = None if days is None else days * _DAY_S
        click.echo(team.tokens.add(checked_name(name), Role(role), lasts_s=lasts_s))


@token.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@click.pass_obj
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
        until = "for ever" if one.expires_at is None else f"until {_day(one.expires_at)}"
        click.echo(f"{one.name}  {one.role}  made {_day(one.created_at)}, counts {until}")


@token.command()
@click.argument("name")
@click.pass_obj
def revoke(settings: TeamSettings, name: str) -> None:
    """Make a token worthless."""
    from assay.app.team.team import open_team

    with open_team(settings) as team:
        team.tokens.revoke(name)
    click.echo(f"the token {name!r} no longer counts")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
