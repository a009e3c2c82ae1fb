"""The table of another system's flags: one `Flag` for each, which says what Assay does with it.

A flag is in one of three places of a `FlagTable`:

- `options`, `groups`, `own`: Assay uses the flag. It sets a setting of `assay run`, or the system's own code
  reads it.
- `ignored`: the flag changes no number. Assay accepts it, and a note says what happens instead.
- `rejected`: the flag would change the result, but is not supported. Assay raises an error.

The parser, the help, the settings, the notes and the errors all come from the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from assay.core.errors import Problem, UsageError

if TYPE_CHECKING:
    from assay.app.settings import Settings


class Flag(NamedTuple):
    """One flag of a command line."""

    syntax: str
    """The names and the value, as the help shows them. The form of the value defines how it is parsed:

    --debug                 no value: a switch
    -w, --work-dir DIR      one value
    --models NAME...        one or more values
    --reuse [TIME]          a value, or the flag alone
    --method {gen,ppl}      one of these values
    [CONFIG]                without a name: an optional argument by its position
    """
    help: str
    """What Assay does with the flag. If it is ignored: what happens instead. If it is rejected: why."""
    setting: str | None = None
    """The setting of `assay run` that the flag sets, or a key of one: `dataset_args.cot`."""
    type: Callable[[str], Any] = str
    default: Any = None
    """The value without the flag."""
    const: Any = True
    """The value of the flag alone, if its syntax is `[X]`."""
    convert: Callable[[Any], Any] | None = None
    """Returns the value of the setting for the flag's value."""
    neutral: Any = None
    """A value that is the same as omitting the flag: it sets nothing and is never rejected."""
    is_required: bool = False
    is_collected: bool = False
    """Whether the values of a repeated flag add up, if its syntax is `NAME...`; otherwise the last wins."""
    fix: str = "remove the flag"
    """How to fix the error, if the flag is rejected."""

    @property
    def names(self) -> list[str]:
        """The names, with their dashes; empty for an argument by position."""
        return [word.rstrip(",") for word in self.syntax.split() if word.startswith("-")]

    @property
    def value(self) -> str:
        """The form of the value; empty for a switch."""
        last = self.syntax.split()[-1]
        return "" if last.startswith("-") else last

    @property
    def name(self) -> str:
        """The first long name, which messages show."""
        return next((name for name in self.names if name.startswith("--")), self.value)

    @property
    def attribute(self) -> str:
        """The name of the parsed value."""
        return self.name.strip("-[].").replace("-", "_").lower()

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the flag to a parser."""
        if not self.value:
            parser.add_argument(*self.names, dest=self.attribute, action="store_true")
            return
        options: dict[str, Any] = {"default": self.default, "type": self.type}
        if self.value.startswith("["):
            options |= {"nargs": "?", "const": self.const}
        elif self.value.startswith("{"):
            options["choices"] = self.value.strip("{}").split(",")
        elif self.value.endswith("..."):
            options["nargs"] = "+"
            if self.is_collected:
                options["action"] = "extend"
        if self.names:
            parser.add_argument(*self.names, dest=self.attribute, required=self.is_required, **options)
        else:
            parser.add_argument(self.attribute, **options)

    def is_set_in(self, flags: argparse.Namespace) -> bool:
        """Return whether the value differs from omitting the flag; an empty text, or False, does not."""
        value = getattr(flags, self.attribute)
        off = "false" if self.value[:1] in ("", "[") else ""
        return value not in (self.default, self.neutral) and str(value).casefold() != off


class CommandLine(NamedTuple):
    """A parsed command line of another system."""

    flags: argparse.Namespace
    """The value of each flag."""
    settings: dict[str, Any]
    """The settings that flags set, with the names of `assay run`."""
    notes: list[str]
    """A note for each flag without effect; never its value, which may be a key."""
    run_flags: dict[str, Any]
    """The options of `assay run` on the command line, if the system accepts them."""

    def build_settings(self, own: Mapping[str, Any]) -> Settings:
        """Return the settings of the flags, the system's own settings and the options of `assay run`.

        Arguments of models and datasets add up. Otherwise the last of these sources wins.
        """
        from assay.faces.cli.options import build_settings

        settings = dict(self.settings)
        for name, value in own.items():
            settings[name] = {**settings.get(name, {}), **value} if isinstance(value, dict) else value
        for name, value in settings.items():
            if isinstance(value, dict):
                settings[name] = tuple(f"{key}={argument}" for key, argument in value.items())
        for name, value in self.run_flags.items():
            earlier = settings.get(name)
            settings[name] = (*earlier, *value) if isinstance(earlier, tuple) and name != "stop" else value
        return build_settings(settings)


OWN_FLAGS = (
    Flag(
        "--fresh",
        "Archive an earlier run of the same command and re-run all requests, without the answer cache.",
        setting="fresh",
    ),
    Flag(
        "--fidelity {corrected,faithful}",
        "Fix the original's bugs, or reproduce its numbers exactly. [corrected]",
        setting="fidelity",
    ),
)
"""Assay's own flags in every table."""


class FlagTable(NamedTuple):
    """The flags of a system's command line."""

    system: str
    usage: str
    options: Sequence[Flag]
    """The flags that Assay uses."""
    groups: Mapping[str, Sequence[Flag]] = {}
    """More flags that Assay uses, by their heading in the help."""
    own: Sequence[Flag] = ()
    """Assay's own flags besides `OWN_FLAGS`."""
    ignored: Sequence[Flag] = ()
    rejected: Sequence[Flag] = ()
    accepts_run_flags: bool = False
    """Whether all options of `assay run` work too, which messages may recommend.

    Not for a table with an argument by position: it would take the values of these options.
    """
    has_own_flags: bool = True
    """Whether `OWN_FLAGS` apply: not to a command that evaluates nothing."""

    @property
    def _own_flags(self) -> Sequence[Flag]:
        return (*(OWN_FLAGS if self.has_own_flags else ()), *self.own)

    def parse(self, arguments: Sequence[str]) -> CommandLine:
        """Parse a command line; raise for flags that are unknown or rejected."""
        parser = _Parser(prog=f"assay as {self.system}", add_help=False, allow_abbrev=False)
        used = (*self.options, *chain(*self.groups.values()), *self._own_flags)
        for flag in (*used, *self.ignored, *self.rejected):
            flag.add_to(parser)
        flags, others = parser.parse_known_args(list(arguments))
        if others and not self.accepts_run_flags:
            parser.reject_unknown(others)
        run_flags = parser.parse_run_flags(others)
        problems = [
            Problem("USAGE-006", f"{flag.name} is not supported: {flag.help}", flag.fix)
            for flag in self.rejected
            if flag.is_set_in(flags)
        ]
        if problems:
            raise UsageError(problems)
        notes = [f"{flag.name}: {flag.help}" for flag in self.ignored if flag.is_set_in(flags)]
        return CommandLine(flags, _read_settings(used, flags), notes, run_flags)

    def write_help(self, formatter: click.HelpFormatter) -> None:
        """Write what Assay does with each flag."""
        used = {"Options": self.options, **self.groups, "Assay's own": self._own_flags}
        lines = {heading: [(flag.syntax, flag.help) for flag in flags] for heading, flags in used.items()}
        lines["Accepted without effect; a note says what happens instead"] = [
            (flag.syntax, f"Ignored: {flag.help}.") for flag in self.ignored
        ]
        lines["Rejected, because ignoring them would change the result"] = [
            (flag.syntax, f"Not supported: {flag.help}.") for flag in self.rejected
        ]
        for heading in filter(lines.get, lines):
            with formatter.section(heading):
                formatter.write_dl(lines[heading])
        if self.accepts_run_flags:
            formatter.write_paragraph()
            formatter.write_text("All options of `assay run` except --json work too: see `assay run --help`.")


def _read_settings(used: Sequence[Flag], flags: argparse.Namespace) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for flag in used:
        value = getattr(flags, flag.attribute)
        if flag.setting is None or value is None or value is False or value == flag.neutral:
            continue
        name, _, key = flag.setting.partition(".")
        converted = value if flag.convert is None else flag.convert(value)
        if key:
            settings.setdefault(name, {})[key] = converted
        else:
            settings[name] = converted
    return settings


def usage_error(what: str, fix: str) -> UsageError:
    """Return the error of a command line that Assay cannot carry out."""
    return UsageError(Problem("USAGE-006", what, fix))


def parse_bool(text: str) -> bool:
    """Parse a value such as True or no; for the type of a flag."""
    if text.casefold() in ("true", "1", "yes", "t", "y"):
        return True
    if text.casefold() in ("false", "0", "no", "f", "n"):
        return False
    raise argparse.ArgumentTypeError(f"found {text!r}, expected True or False")


class _Parser(argparse.ArgumentParser):
    """Parses flags; errors are USAGE-006."""

    def error(self, message: str) -> NoReturn:
        """Raise argparse's error as a UsageError."""
        raise usage_error(message, f"`{self.prog} --help` lists the flags")

    def reject_unknown(self, arguments: Sequence[str]) -> NoReturn:
        """Raise for arguments that no flag accepts."""
        self.error(f"unrecognized arguments: {' '.join(arguments)}")

    def parse_run_flags(self, arguments: list[str]) -> dict[str, Any]:
        """Parse the rest of a command line as options of `assay run`."""
        if not arguments:
            return {}
        from assay.faces.cli.run import run

        try:
            # The other system's flags name the datasets.
            context = run.make_context("run", ["datasets", *arguments])
        except click.NoSuchOption:
            self.reject_unknown(arguments)
        except click.UsageError as error:
            self.error(error.format_message())
        if context.params.pop("datasets") != ("datasets",):
            self.reject_unknown(arguments)
        if context.params.pop("is_json"):
            self.error("--json works only with `assay run`")
        return {
            name: value
            for name, value in context.params.items()
            if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        }
