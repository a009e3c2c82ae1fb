"""assay docs"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.faces.cli.json_output import Answer, json_option

if TYPE_CHECKING:
    from assay.app.dataset_docs import DocumentedPage
    from assay.core.errors import AssayError

WOULD_CHANGE = 1
"""Exit status of --check if a page is outdated, and if a config does not load."""


@click.command()
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@click.option("--check", "is_dry", is_flag=True, help="Change nothing; exit status 1 if a page is outdated.")
@click.option(
    "--openicl-root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Checkout with the evaluators that configs name. [the one that contains them]",
)
@json_option
def docs(datasets: tuple[str, ...], is_dry: bool, openicl_root: Path | None, is_json: bool) -> int | Answer:
    """Update the table of tasks in a dataset's README from its configs.

    DATASET is the folder of a config dataset, one of its configs, or a folder of many. For each task, the
    table lists name, introduction, metrics, number of examples, prompt form and config path. Introductions
    that you wrote, equivalent wording and the rest of the page are kept.
    """
    from assay.app.dataset_docs import Documentation, find_documented_folders, write_readme
    from assay.faces.cli.render import show_error

    documentation = Documentation(openicl_root)
    pages: list[DocumentedPage] = []
    for folder in [folder for name in datasets for folder in find_documented_folders(name)]:
        for page in documentation.pages(folder):
            pages.append(page)
            if not is_json:
                _show(page, is_dry=is_dry)
            if page.disagreements and not is_dry:
                write_readme(page)
    is_wrong = is_dry and any(page.disagreements for page in pages)
    status = WOULD_CHANGE if documentation.errors or is_wrong else 0
    if is_json:
        return _answer(pages, documentation.errors, status, is_dry=is_dry)
    for error in documentation.errors:
        show_error(error)
    return status


def _show(page: DocumentedPage, *, is_dry: bool) -> None:
    from rich.markup import escape

    from assay.faces.cli.console import out

    out.print(f"{_verb(page, is_dry=is_dry):<12}  {escape(str(page.path))}", soft_wrap=True)
    for one in page.disagreements:
        out.print(f"  [dim]{escape(one.text)}[/]", soft_wrap=True)


def _answer(
    pages: Sequence[DocumentedPage], errors: Sequence[AssayError], status: int, *, is_dry: bool
) -> Answer:
    """Return the JSON answer."""
    from assay.faces.cli.answers import DocsAnswer, PageAnswer

    answers = (
        PageAnswer(str(page.path), _verb(page, is_dry=is_dry), tuple(one.text for one in page.disagreements))
        for page in pages
    )
    problems = (problem for error in errors for problem in error.problems)
    return Answer(DocsAnswer(tuple(answers), tuple(problems)), status)


def _verb(page: DocumentedPage, *, is_dry: bool) -> str:
    if not page.disagreements:
        return "up to date"
    if page.is_new:
        return "would write" if is_dry else "wrote"
    return "would change" if is_dry else "changed"
