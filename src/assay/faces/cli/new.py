"""assay new"""

from __future__ import annotations

import click

from assay.faces.cli.json_output import Answer, json_option


@click.command()
@click.argument("name")
@click.option(
    "--like",
    "dialect",
    required=True,
    metavar="DIALECT",
    help="Dataset format: llmbox, ultraeval, leap, lm_eval, aisbench, opencompass.",
)
@json_option
def new(name: str, dialect: str, is_json: bool) -> Answer | None:
    """Create a working dataset to start from: code, a few rows, tests and a README.

    NAME is the new folder and the dataset's name. Existing files are never overwritten.
    """
    from rich.markup import escape

    from assay.app.new import write_starter
    from assay.faces.cli.console import out

    written = write_starter(name, dialect)
    if is_json:
        from assay.faces.cli.answers import NewAnswer

        files = tuple(map(str, written.files))
        return Answer(NewAnswer(str(written.dataset), files, written.lacks, written.to_change))
    for path in written.files:
        out.print(f"wrote  {escape(str(path))}", soft_wrap=True)
    dataset = escape(str(written.dataset))
    lacking = {f"pip install {written.lacks}": "the package that reads its rows"} if written.lacks else {}
    keeping = (
        {f"assay docs {escape(name)}": "updates the README's table of tasks"} if written.keeps_readme else {}
    )
    steps = {
        **lacking,
        f"assay check {dataset}": "shows how Assay interprets it, and its prompts",
        f"assay run {dataset}": "evaluates the embedded model on it",
        **keeping,
        f"pytest {escape(name)}": "runs its tests",
    }
    width = max(map(len, steps))
    out.print("\nnext:")
    for command, does in steps.items():
        out.print(f"  {command:<{width}}  {does}", soft_wrap=True)
    out.print(f"then {escape(written.to_change)}", soft_wrap=True)
    return None
