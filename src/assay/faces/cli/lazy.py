"""A group of commands of which each module is imported when its command is used, so that help is quick."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click


class Command(NamedTuple):
    """Where a command stands, and what it does in a line."""

    place: str
    """`module:attribute`."""
    summary: str


class LazyGroup(click.Group):
    """Knows its commands by name and summary alone."""

    def __init__(self, *args: Any, table: Mapping[str, Command], **more: Any) -> None:
        super().__init__(*args, **more)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the table's order."""
        return list(self._table)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        if name not in self._table:
            return None
        module, _, attribute = self._table[name].place.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in self._table.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; a wrong name gets the nearest one as a hint."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from assay.core.errors import suggest_name

            wrong = f"there is no command {args[0]!r}{suggest_name(args[0], self._table)}"
            raise click.UsageError(wrong, ctx) from error
