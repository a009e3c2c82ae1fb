"""`assay as SYSTEM`: the command lines of other systems, and what they share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import click

from assay.core.errors import Problem, UsageError
from assay.faces.cli.lazy import Command, LazyGroup

_FRESH_HELP = "archive an earlier run of the same command and re-run all requests, without the answer cache"
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
}


@click.command(cls=LazyGroup, table=_SYSTEMS)
def other_systems() -> None:
    """Use the command line of another system."""


def foreign_command(function: Callable[[tuple[str, ...]], int]) -> click.Command:
    """Return a command that gets its arguments unparsed."""
    named = click.argument("arguments", nargs=-1, type=click.UNPROCESSED)(function)
    settings = {"ignore_unknown_options": True, "help_option_names": []}
    return click.command(context_settings=settings, add_help_option=False)(named)


class ForeignParser(argparse.ArgumentParser):
    """Parses another system's flags the way that system does; errors are USAGE-006."""

    def __init__(self, system: str, usage: str) -> None:
        prog = f"assay as {system}"
        # An abbreviated flag might be another one in the original.
        super().__init__(prog=prog, usage=f"{prog} {usage}", add_help=False, allow_abbrev=False)

    def add_own_group(self) -> argparse._ArgumentGroup:
        """Add the group of Assay's own flags, with those that all systems share."""
        own = self.add_argument_group("Assay's own")
        own.add_argument("--fresh", action="store_true", default=None, help=_FRESH_HELP)
        return own

    def error(self, message: str) -> NoReturn:
        """Raise argparse's error as a UsageError."""
        raise UsageError(Problem("USAGE-006", message, f"`{self.prog} --help` lists the flags"))


def parse_flags(parser: argparse.ArgumentParser, arguments: tuple[str, ...]) -> argparse.Namespace | None:
    """Parse the arguments; print the help and return None if they ask for it."""
    if "-h" in arguments or "--help" in arguments:
        click.echo(parser.format_help())
        return None
    return parser.parse_args(list(arguments))


def parse_with_run_flags(
    parser: argparse.ArgumentParser, arguments: tuple[str, ...]
) -> tuple[argparse.Namespace, dict[str, Any]] | None:
    """Parse another system's flags together with those of `assay run`, which messages may recommend.

    Return both; print the help and return None if the arguments ask for it.
    """
    if "-h" in arguments or "--help" in arguments:
        click.echo(parser.format_help())
        click.echo("All options of `assay run` except --json work too: see `assay run --help`.")
        return None
    given, others = parser.parse_known_args(list(arguments))
    return given, _parse_run_flags(parser, others) if others else {}


def join_flags(flags: Mapping[str, Any], of_run: Mapping[str, Any]) -> dict[str, Any]:
    """Return both kinds of flags as one; repeatable flags add up, otherwise `assay run`'s override."""
    joined = dict(flags)
    for name, value in of_run.items():
        earlier = joined.get(name)
        joined[name] = (*earlier, *value) if isinstance(earlier, tuple) and name != "stop" else value
    return joined


def _parse_run_flags(parser: argparse.ArgumentParser, others: list[str]) -> dict[str, Any]:
    """Parse the rest of a command line as options of `assay run`."""
    from assay.faces.cli.run import run

    unknown = f"unrecognized arguments: {' '.join(others)}"
    try:
        # The other system's flags name the datasets.
        context = run.make_context("run", ["datasets", *others])
    except click.UsageError as error:
        parser.error(unknown if isinstance(error, click.NoSuchOption) else error.format_message())
    if context.params.pop("datasets") != ("datasets",):
        parser.error(unknown)
    if context.params.pop("is_json"):
        parser.error("--json works only with `assay run`")
    return {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
