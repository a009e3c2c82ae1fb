"""Files of a dataset on the hub, with the interface of a local dataset folder."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from assay.sources.hub_dataset import HubDataset
from assay.sources.hub_name import HubName
from assay.sources.hub_reads import note_read


def load_splits(name: HubName) -> Any:
    """Return all splits of a config as loaded by `datasets`; without a revision, from the newest commit."""
    dataset = HubDataset.find(name)
    config = dataset.require_config(name.config)
    note_read(HubName(dataset.name, config, dataset.commit))
    return dataset.load(config)


def list_split_addresses(name: HubName) -> dict[str, str]:
    """Return the address that opens each split of a config. Downloads splits that are not cached."""
    dataset = HubDataset.find(name)
    config = dataset.require_config(name.config)
    splits = [name.split] if name.split else [facts.name for facts in dataset.splits(config)]
    for split in splits:
        dataset.tables(config, split)
    return {split: str(dataset.build_pinned_name(config, split)) for split in splits}


class HubFiles:
    """A dataset on the hub, looked up at first use."""

    def __init__(self, name: HubName) -> None:
        self._name = name

    @cached_property
    def _dataset(self) -> HubDataset:
        return HubDataset.find(self._name)

    def files(self, *, config: str | None = None, split: str | None = None) -> tuple[Path, ...]:
        """Return the Arrow files of a config and split. Downloads them if they are not cached."""
        chosen = self._dataset.require_config(config)
        rows = self._dataset.require_split(chosen, split)
        files = self._dataset.tables(chosen, rows)
        note_read(self._dataset.build_pinned_name(chosen, rows))
        return files

    def configs(self, split: str | None = None) -> tuple[str, ...]:
        """Return the configs; empty if there is only one."""
        configs = self._dataset.configs
        return tuple(sorted(configs)) if len(configs) > 1 else ()
