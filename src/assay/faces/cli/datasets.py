"""assay ls datasets"""

from __future__ import annotations

import click

from assay.faces.cli.json_output import Answer, json_option


@click.command()
@click.argument("folders", nargs=-1, metavar="[FOLDER]...")
@json_option
def datasets(folders: tuple[str, ...], is_json: bool) -> Answer | None:
    """List the datasets in folders, in every language: what `assay run` takes, and what a registry says.

    Without FOLDER, those here. Of several metrics the one that a leaderboard shows is marked by a star. Files
    of Task classes are run, since only they know their names.
    """
    from pathlib import Path

    from rich.markup import escape
    from rich.table import Table

    from assay.app.dataset_list import datasets_in
    from assay.faces.cli.render import out, print_table

    listed = [one for folder in folders or (".",) for one in datasets_in(Path(folder))]
    if is_json:
        from assay.faces.cli.answers import DatasetsAnswer

        return Answer(DatasetsAnswer(tuple(listed)))
    if not listed:
        out.print("no datasets here; `assay new NAME --like llmbox` writes one to start from")
        return None
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("dataset", "language", "metrics", "about"):
        table.add_column(heading, overflow="fold")
    for one in listed:
        metrics = ", ".join(f"{metric}*" if metric == one.headline else metric for metric in one.metrics)
        table.add_row(escape(one.name), one.dialect, escape(metrics), escape(one.about))
    print_table(table)
    return None
