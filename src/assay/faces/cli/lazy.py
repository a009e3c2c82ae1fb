"""A group of commands that imports a command's module only when the command runs, so that help is fast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_WHOLE_HYPHEN = "\N{NON-BREAKING HYPHEN}"


class _HelpFormatter(click.HelpFormatter):
    """Breaks lines at spaces and never at a hyphen, so that every flag and name can be copied."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _WHOLE_HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        whole = [(term, text.replace("-", _WHOLE_HYPHEN)) for term, text in rows]
        super().write_dl(whole, col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_WHOLE_HYPHEN, "-")


class _Context(click.Context):
    formatter_class = _HelpFormatter


class Command(NamedTuple):
    """Where a command is defined, and what it does in one line."""

    place: str
    """`module:attribute`."""
    summary: str
    section: str = "Commands"
    """The section of the help that lists it."""


class LazyGroup(click.Group):
    """A group that knows only the names and summaries of its commands."""

    context_class = _Context

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
        command.context_class = _Context
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin with a text, without importing commands."""
        from click.shell_completion import CompletionItem

        items = [
            CompletionItem(name, help=command.summary)
            for name, command in self._table.items()
            if name.startswith(incomplete)
        ]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        width = max(map(len, self._table))
        for section in dict.fromkeys(command.section for command in self._table.values()):
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (name.ljust(width), command.summary)
                        for name, command in self._table.items()
                        if command.section == section
                    ]
                )

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
