"""JSON output: with --json a command prints one JSON value on standard output, and nothing else.

A command returns an `Answer`; `main` writes it. All other output goes to standard error, including that of
dataset authors' code. docs/reference/json.md describes the answer of each command.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import click
import msgspec

from assay.core.errors import AssayError, Problem
from assay.core.text_preview import STEERING_CODES

F = TypeVar("F", bound=Callable[..., Any])

_ESCAPES = {code: f"\\u{code:04x}" for code in STEERING_CODES}

FAULT = 2
"""Exit status of a command that ended with an error."""


class ErrorAnswer(msgspec.Struct, frozen=True, tag="error", tag_field="kind"):
    """The problems that ended a command, instead of its answer."""

    problems: tuple[Problem, ...]
    """The first problems, each with code, place, what is wrong and the fix."""
    n_problems: int
    """The number of all problems."""


class Answer(NamedTuple):
    """The JSON answer of a command."""

    value: msgspec.Struct | msgspec.Raw
    """The JSON value; raw if it comes from a file."""
    status: int = 0
    """Exit status."""


def json_option(command: F) -> F:
    """Add the option --json, with which a command returns an `Answer`. Must be the innermost decorator.

    Everything that the command prints goes to standard error.
    """

    @wraps(command)
    def answering(*args: Any, is_json: bool, **more: Any) -> Any:
        if not is_json:
            return command(*args, is_json=False, **more)
        with redirect_stdout(sys.stderr):
            return command(*args, is_json=True, **more)

    option = click.option("--json", "is_json", is_flag=True, help="Print one JSON value.")
    return cast(F, option(answering))


def write_answer(answer: Answer) -> None:
    """Print the value; escape characters that would control a terminal."""
    text = msgspec.json.format(msgspec.json.encode(answer.value), indent=1)
    click.echo(text.decode().translate(_ESCAPES))


def build_error_answer(error: AssayError) -> Answer:
    """Return the JSON answer of an error."""
    return Answer(ErrorAnswer(error.problems, error.total), FAULT)


def build_usage_answer(error: click.ClickException) -> Answer:
    """Return the JSON answer of an invalid command line."""
    command = "assay"
    if isinstance(error, click.UsageError) and error.ctx is not None:
        command = error.ctx.command_path
    problem = Problem("USAGE-021", error.format_message(), f"see `{command} --help`")
    return Answer(ErrorAnswer((problem,), 1), error.exit_code)
