"""assay docs"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from assay.app.dataset_docs import Documented

WOULD_CHANGE = 1
"""Exit status of --check when a page is not up to date, and when a config does not load."""


@click.command()
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@click.option("--check", "is_dry", is_flag=True, help="Change nothing; exit status 1 if something would.")
@click.option(
    "--openicl-root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Checkout whose evaluators configs name. [the one above them]",
)
def docs(datasets: tuple[str, ...], is_dry: bool, openicl_root: Path | None) -> int:
    """Bring the table of tasks in a dataset's README up to date with its configs.

    DATASET is the folder of a config dataset, one of its configs, or a folder of many. Of each task the table
    says its name, an introduction, the metrics, the number of examples, the form of the prompt and where its
    config is. An introduction that somebody wrote is kept, and so are words that mean the same and all of the
    page beside the table.
    """
    from rich.markup import escape

    from assay.app.dataset_docs import Documentation, dataset_folders, write
    from assay.faces.cli.render import out, show_error

    documentation = Documentation(openicl_root)
    n_wrong = 0
    for folder in [folder for name in datasets for folder in dataset_folders(name)]:
        for page in documentation.pages(folder):
            n_wrong += bool(page.disagreements)
            out.print(f"{_verb(page, is_dry=is_dry):<12}  {escape(str(page.path))}", soft_wrap=True)
            for one in page.disagreements:
                out.print(f"  [dim]{escape(one.text)}[/]", soft_wrap=True)
            if page.disagreements and not is_dry:
                write(page)
    for error in documentation.errors:
        show_error(error)
    return WOULD_CHANGE if documentation.errors or (is_dry and n_wrong) else 0


def _verb(page: Documented, *, is_dry: bool) -> str:
    if not page.disagreements:
        return "up to date"
    if page.is_new:
        return "would write" if is_dry else "wrote"
    return "would change" if is_dry else "changed"
