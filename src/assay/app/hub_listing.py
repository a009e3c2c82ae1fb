"""What a dataset on the hub holds: configs, splits and columns. Downloads only small files."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from assay.sources.hub_dataset import HubDataset
from assay.sources.hub_name import HubName


class ListedSplit(msgspec.Struct, frozen=True):
    """One split of one config."""

    name: str
    """What `assay run` takes."""
    config: str
    split: str
    n_rows: int | None
    """None where neither the hub nor a table on this machine says it."""
    columns: dict[str, str]
    """The type of each column."""


class ListedHubDataset(msgspec.Struct, frozen=True):
    """A dataset on the hub at one commit."""

    name: str
    commit: str
    splits: tuple[ListedSplit, ...]


def list_hub_dataset(name: HubName) -> ListedHubDataset:
    """Return what a dataset holds; where its name has a config or a split, these alone."""
    dataset = HubDataset.find(name)
    return ListedHubDataset(dataset.name, dataset.commit, tuple(_splits(dataset, name)))


def _splits(dataset: HubDataset, name: HubName) -> Iterator[ListedSplit]:
    configs = dataset.configs if name.config is None else name.config.split(",")
    for config in configs:
        config = dataset.require_config(config)
        columns: dict[str, str] | None = None
        own = config if len(dataset.configs) > 1 else None
        for one in dataset.splits(config):
            if name.split is not None and one.name != dataset.require_split(config, name.split):
                continue
            if columns is None:
                # The splits of a config share their columns.
                columns = dict(dataset.columns(config, one.name))
            command = HubName(dataset.name, own, name.revision, one.name).short
            yield ListedSplit(command, config, one.name, dataset.n_rows(config, one.name), columns)
