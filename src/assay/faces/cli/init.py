"""assay init"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.option_groups import GroupedCommand
from assay.faces.cli.options import build_settings, dataset_options

if TYPE_CHECKING:
    from assay.app.init import MetaDraft, MetaQuestion, MetaReading

_OTHER = "none of these; name the columns"


@click.command(cls=GroupedCommand, shared_from="assay run")
@click.argument("file")
@dataset_options
@click.option("--yes", "accepts", is_flag=True, help="Accept the interpretation without asking.")
@click.option("--force", "overwrites", is_flag=True, help="Overwrite an existing meta file.")
@json_option
def init(file: str, accepts: bool, overwrites: bool, is_json: bool, **flags: Any) -> Answer | int:
    """Describe a table interactively, and write FILE.meta.json.

    After each choice, shows how Assay interprets the file and one prompt with its right answer. Without a
    terminal, use --yes: it writes the meta file if the interpretation is certain. Otherwise it ends with exit
    status 2 and prints the commands that resolve the question.
    """
    from rich.markup import escape

    from assay.app.init import MetaDraft
    from assay.faces.cli.console import out

    draft = MetaDraft(file, build_settings(flags))
    asks = not accepts and not is_json and sys.stdin.isatty() and sys.stdout.isatty()
    reading = _settle_reading(draft) if asks else _read_certain(draft, accepts=accepts, is_json=is_json)
    if reading is None:
        out.print("nothing was written")
        return 1
    if asks and draft.meta_file.exists() and not overwrites:
        overwrites = click.confirm(f"{draft.meta_file} exists. Overwrite it?", default=False)
        if not overwrites:
            out.print("nothing was written")
            return 1
    written = draft.write(reading, overwrites=overwrites)
    if is_json:
        import msgspec

        from assay.faces.cli.answers import InitAnswer

        return Answer(InitAnswer(file, str(written.path), msgspec.to_builtins(written.settings)))
    out.print(f"wrote  {escape(str(written.path))}", soft_wrap=True)
    out.print(f"\nnext:\n  assay run {escape(file)}", soft_wrap=True)
    return 0


def _read_certain(draft: MetaDraft, *, accepts: bool, is_json: bool) -> MetaReading:
    """Return the interpretation of an unambiguous file; otherwise raise an error with the choices."""
    from assay.app.init import MetaQuestion
    from assay.core.errors import Problem, UsageError
    from assay.core.origin import Origin

    reading = draft.read()
    if isinstance(reading, MetaQuestion):
        raise reading.error
    if not is_json:
        _show(reading)
    if not accepts:
        what = "assay init asks questions, but standard input or output is not a terminal"
        fix = "add --yes to accept this interpretation"
        raise UsageError(Problem("USAGE-022", what, fix, Origin(draft.path)))
    return reading


def _settle_reading(draft: MetaDraft) -> MetaReading | None:
    """Ask until the person accepts an interpretation; return None if they quit."""
    from assay.app.init import MetaQuestion
    from assay.core.errors import AssayError
    from assay.faces.cli.render import show_error

    while True:
        try:
            reading = draft.read()
        except AssayError as error:
            # The last answer does not fit the file; go back to the one before.
            if not draft.undo():
                raise
            show_error(error)
            continue
        if isinstance(reading, MetaQuestion):
            _ask(draft, reading)
            continue
        _show(reading)
        answer = click.prompt(
            "Is this right? yes, change, quit", type=click.Choice(["yes", "change", "quit", "y", "c", "q"]),
            default="yes", show_choices=False,
        )  # fmt: skip
        if answer[0] == "y":
            return reading
        if answer[0] == "q":
            return None
        _change(draft, reading)


def _show(reading: MetaReading) -> None:
    from assay.faces.cli.render import show_compiled

    show_compiled(reading.table, reading.table.task)


def _ask(draft: MetaDraft, question: MetaQuestion) -> None:
    """Ask a question about the file and apply the answer."""
    from rich.markup import escape

    from assay.faces.cli.console import out

    out.print(f"\n[bold]{escape(question.what)}[/]", soft_wrap=True)
    for number, choice in enumerate(question.choices, 1):
        out.print(f"  {number}  {escape(choice.what)}", soft_wrap=True)
    other = len(question.choices) + 1
    out.print(f"  {other}  {_OTHER}")
    chosen = click.prompt("Which one", type=click.IntRange(1, other))
    if chosen == other:
        _change(draft, question)
        return
    choice = question.choices[chosen - 1]
    names = {value: click.prompt(f"What does {value} mean", type=str) for value in choice.unnamed_labels}
    draft.choose(choice, names)


def _change(draft: MetaDraft, reading: MetaReading | MetaQuestion) -> None:
    """Ask which part to change and how; show an error if the new value is invalid."""
    from rich.markup import escape

    from assay.core.errors import AssayError
    from assay.faces.cli.console import out
    from assay.faces.cli.render import show_error

    parts = draft.list_parts(reading)
    try:
        out.print(f"\n[dim]columns[/]  {escape(', '.join(draft.columns()))}", soft_wrap=True)
    except AssayError as error:
        show_error(error)
    for number, part in enumerate(parts, 1):
        value = f": {part.value}" if part.value else ""
        out.print(f"  {number}  {escape(part.title + value)}", soft_wrap=True)
    part = parts[click.prompt("Change which part", type=click.IntRange(1, len(parts))) - 1]
    text = click.prompt(f"{part.title} (empty: let Assay infer it)", default="", show_default=False)
    try:
        draft.change(part.key, text)
    except AssayError as error:
        show_error(error)
