"""Answers to programs: with --json a command prints one JSON value on standard output, and nothing beside it.

A command returns an `Answer`; `main` writes it. What else would be printed goes to standard error, whoever
prints it: code of a dataset's author too. docs/reference/json.md says what each command answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import click
import msgspec

from assay.core.control_characters import STEERING_CODES
from assay.core.errors import AssayError, Problem

F = TypeVar("F", bound=Callable[..., Any])

_ESCAPES = {code: f"\\u{code:04x}" for code in STEERING_CODES}

FAULT = 2
"""Exit status of a command that ended with an error."""


class ErrorAnswer(msgspec.Struct, frozen=True, tag="error", tag_field="kind"):
    """What a person can mend, in the place of a command's answer."""

    problems: tuple[Problem, ...]
    """The first of them, each with code, place, what is wrong and the fix."""
    n_problems: int
    """All of them."""


class Answer(NamedTuple):
    """What a command tells a program."""

    value: msgspec.Struct | msgspec.Raw
    """The JSON value; raw where a file has it already."""
    status: int = 0
    """Exit status."""


def json_option(command: F) -> F:
    """Give a command the option --json, with which it returns an `Answer`; stands next to the function.

    What the command prints meanwhile goes to standard error.
    """

    @wraps(command)
    def answering(*args: Any, is_json: bool, **more: Any) -> Any:
        if not is_json:
            return command(*args, is_json=False, **more)
        with redirect_stdout(sys.stderr):
            return command(*args, is_json=True, **more)

    option = click.option("--json", "is_json", is_flag=True, help="Print one JSON value for programs.")
    return cast(F, option(answering))


def write_answer(answer: Answer) -> None:
    """Print the value; characters that would steer a terminal are escaped, which JSON reads the same."""
    written = msgspec.json.format(msgspec.json.encode(answer.value), indent=1)
    click.echo(written.decode().translate(_ESCAPES))


def build_error_answer(error: AssayError) -> Answer:
    """Return what a program is told of an error."""
    return Answer(ErrorAnswer(error.problems, error.total), FAULT)


def build_usage_answer(error: click.ClickException) -> Answer:
    """Return what a program is told of a command line that cannot be understood."""
    command = "assay"
    if isinstance(error, click.UsageError) and error.ctx is not None:
        command = error.ctx.command_path
    problem = Problem("USAGE-021", error.format_message(), f"`{command} --help` lists what it takes")
    return Answer(ErrorAnswer((problem,), 1), error.exit_code)
