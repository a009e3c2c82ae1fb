"""assay note"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from assay.faces.cli.completers import complete_run
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.options import resolve_runs_folder, runs_option

if TYPE_CHECKING:
    from assay.core.annotation import Annotation


@click.command()
@click.argument("run", shell_complete=complete_run)
@click.argument("text", required=False)
@click.option("--sample", help="Id of the sample, a prefix of it, or row:17. [the run itself]")
@click.option("--tag", "tags", multiple=True, help="Tag to add. Repeatable.")
@click.option("--untag", "untags", multiple=True, help="Tag to remove. Repeatable.")
@runs_option
@json_option
def note(
    run: str,
    text: str | None,
    sample: str | None,
    tags: tuple[str, ...],
    untags: tuple[str, ...],
    runs_dir: str | None,
    is_json: bool,
) -> Answer | None:
    """Tag a run or one of its samples, or write a note on it. Without changes, print what is there.

    RUN is a folder, an id or `last`. TEXT replaces the note; an empty TEXT removes it. Tags and notes are
    stored next to the runs, in .assay.db; the run's own folder stays unchanged.
    """
    from assay.app.annotations import annotate
    from assay.app.stored_runs import find_run

    found = annotate(
        find_run(run, resolve_runs_folder(runs_dir)), sample=sample, add=tags, remove=untags, note=text
    )
    if is_json:
        from assay.faces.cli.answers import AnnotationsAnswer

        return Answer(AnnotationsAnswer(tuple(found)))
    _show(found)
    return None


def _show(annotations: Sequence[Annotation]) -> None:
    from rich.markup import escape

    from assay.faces.cli.console import out

    if not annotations:
        out.print("no tags and no notes")
    for one in annotations:
        subject = f"{one.task} {one.sample}" if one.sample else one.run
        tags = "".join(f" [cyan]\\[{escape(tag)}][/]" for tag in one.tags)
        out.print(f"[bold]{escape(subject)}[/]{tags}", soft_wrap=True)
        if one.note:
            out.print(f"  {escape(one.note)}", soft_wrap=True)
