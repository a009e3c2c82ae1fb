"""assay ls datasets"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.options import is_offline, offline_option

if TYPE_CHECKING:
    from assay.app.dataset_list import ListedDataset
    from assay.app.hub_datasets import ListedHubDataset


@click.command()
@click.argument("names", nargs=-1, metavar="[FOLDER | ORG/NAME]...")
@offline_option
@json_option
def datasets(names: tuple[str, ...], offline: bool | None, is_json: bool) -> Answer | None:
    """List the datasets in folders, in all formats, or the contents of datasets on the Hugging Face hub.

    Without arguments, lists the datasets in this folder. A star marks the metric that a leaderboard shows.
    Files with Task classes are executed, since only they know their names. For a dataset on the hub (ORG/NAME
    or hf://ORG/NAME[:config][@revision]), lists configs, splits, rows and columns.
    """
    from assay.app.dataset_list import list_datasets
    from assay.app.offline.watch import offline_watch
    from assay.app.settings import RunSettings

    with offline_watch(RunSettings(offline=is_offline(offline))) as watch:
        watch.seal()
        here, on_hub = list_datasets(names or (".",))
    if is_json:
        from assay.faces.cli.answers import DatasetsAnswer

        return Answer(DatasetsAnswer(tuple(here), tuple(on_hub)))
    for one in on_hub:
        _print_hub_dataset(one)
    if here or not on_hub:
        _print_datasets(here)
    return None


def _print_datasets(listed: list[ListedDataset]) -> None:
    from assay.faces.cli.console import out
    from assay.faces.cli.tables import print_rows

    if not listed:
        out.print("no datasets here; create one with `assay new NAME --like llmbox`")
        return
    rows = []
    for one in listed:
        metrics = ", ".join(f"{metric}*" if metric == one.headline else metric for metric in one.metrics)
        rows.append((one.name, one.dialect, metrics, one.about))
    print_rows(("dataset", "format", "metrics", "about"), rows, n_left=4, wrapping=(2, 3))


def _print_hub_dataset(dataset: ListedHubDataset) -> None:
    from assay.faces.cli.console import out
    from assay.faces.cli.tables import print_rows

    out.print(f"{dataset.name}, commit {dataset.commit}")
    rows = []
    for one in dataset.splits:
        columns = ", ".join(f"{name} ({kind})" for name, kind in one.columns.items())
        n_rows = "?" if one.n_rows is None else f"{one.n_rows:,}"
        rows.append((one.name, n_rows, columns))
    print_rows(("dataset", "rows", "columns"), rows, n_left=3, wrapping=(2,))
