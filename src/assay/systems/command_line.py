"""`assay as SYSTEM`: the commands of other systems, each with the flags of its table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import click

from assay.faces.cli.lazy import Command, LazyGroup
from assay.systems.flag_table import CommandLine, FlagTable

_SYSTEMS = {
    "opencompass": Command(
        "assay.systems.opencompass.command:opencompass",
        "Evaluate configs and tables with OpenCompass's own flags.",
    ),
    "aisbench": Command(
        "assay.systems.aisbench.command:aisbench", "Evaluate configs and tables with AISBench's own flags."
    ),
    "llmbox": Command(
        "assay.systems.llmbox.command:llmbox", "Evaluate dataset classes with LLMBox's own flags."
    ),
    "ultraeval": Command(
        "assay.systems.ultraeval.command:ultraeval",
        "Evaluate transforms and task configs with UltraEval's own flags.",
    ),
    "leap": Command("assay.systems.leap.command:leap", "Evaluate Task classes with LEAP's own flags."),
    "lm_eval": Command(
        "assay.systems.lm_eval.command:lm_eval",
        "Evaluate task files with the flags of lm-evaluation-harness (lm-eval).",
    ),
}


@click.command(cls=LazyGroup, table=_SYSTEMS)
def other_systems() -> None:
    """Use the command line of another system.

    Each command accepts that system's flags and writes its result files, next to a run of Assay.
    """


class Subcommand(NamedTuple):
    """A command within another system's command line."""

    table: FlagTable
    function: Callable[[CommandLine], int]


def foreign_command(
    table: FlagTable,
    *,
    subcommands: Mapping[str, Subcommand] | None = None,
    prepare: Callable[[Sequence[str]], Sequence[str]] | None = None,
) -> Callable[[Callable[[CommandLine], int]], click.Command]:
    """Return a decorator: the function becomes a command with the flags of the table.

    `subcommands`: further commands by their name, which is the first argument. `prepare`: changes the
    arguments of the function itself before they are parsed.
    """
    return lambda function: _ForeignCommand(table, function, subcommands or {}, prepare or tuple)


class _ForeignCommand(click.Command):
    """A command whose arguments a flag table parses, instead of click."""

    def __init__(
        self,
        table: FlagTable,
        function: Callable[[CommandLine], int],
        subcommands: Mapping[str, Subcommand],
        prepare: Callable[[Sequence[str]], Sequence[str]],
    ) -> None:
        super().__init__(
            table.system,
            callback=self._run,
            params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
            help=function.__doc__,
            add_help_option=False,
            context_settings={"ignore_unknown_options": True, "help_option_names": []},
        )
        self._table = table
        self._function = function
        self._subcommands = subcommands
        self._prepare = prepare

    def _run(self, arguments: tuple[str, ...]) -> int:
        context = click.get_current_context()
        if arguments and (chosen := self._subcommands.get(arguments[0])) is not None:
            command = _ForeignCommand(chosen.table, chosen.function, {}, tuple)
            with command.make_context(context.info_name, list(arguments[1:]), parent=context.parent) as inner:
                status: int = command.invoke(inner)
                return status
        given = self._prepare(arguments)
        if "-h" in given or "--help" in given:
            click.echo(context.get_help())
            return 0
        return self._function(self._table.parse(given))

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage of the table."""
        return [self._table.usage]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the flags of the table."""
        self._table.write_help(formatter)


def print_notes(lines: Iterable[str]) -> None:
    """Print notes to standard error."""
    from rich.markup import escape

    from assay.faces.cli.console import err

    for line in lines:
        err.print(f"[dim]{escape(line)}[/]", soft_wrap=True)
