"""assay new"""

from __future__ import annotations

import click


@click.command()
@click.argument("name")
@click.option(
    "--like", "dialect", required=True, metavar="DIALECT", help="The language it is written in: llmbox."
)
def new(name: str, dialect: str) -> None:
    """Write a working dataset to start from: its class, a few rows, its tests and a README.

    NAME is the folder that is made, and the dataset's name. Nothing is ever written over.
    """
    from rich.markup import escape

    from assay.app.new import write_starter
    from assay.faces.cli.render import out

    written = write_starter(name, dialect)
    for path in written:
        out.print(f"wrote  {escape(str(path))}", soft_wrap=True)
    dataset = escape(str(written[0]))
    out.print("\nnext:")
    out.print(f"  assay check {dataset}      shows how it was understood, and its prompts", soft_wrap=True)
    out.print(f"  assay run {dataset}        evaluates the embedded model on it", soft_wrap=True)
    out.print(f"  pytest {escape(name)}      runs its tests", soft_wrap=True)
    out.print(
        f"then put your rows into {escape(name)}/data and change the class to their columns", soft_wrap=True
    )
