"""Where the data of a dataset lies: authors write paths that count from folders of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import listing
from assay.sources.dataset_folder import DatasetMissing
from assay.sources.hub_client import find_repository
from assay.sources.hub_name import HubName, parse_hub_name

CACHE_VARIABLES = ("COMPASS_DATA_CACHE", "AIS_BENCH_DATASETS_CACHE")
"""Environment variables by which the originals are told where data lies."""
_OWN_FOLDERS = ("ais_bench/datasets/", "data/")
"""Where the originals keep data below those folders; a folder of datasets need not have them."""


class DataPaths:
    """Finds the files that authors name: in the folders that may hold data, in their order."""

    def __init__(self, folders: Sequence[Path], names: Mapping[str, Any] | None = None) -> None:
        """Take the folders, and where OpenCompass keeps the datasets that it calls by names of its own."""
        told = [Path(value) for name in CACHE_VARIABLES if (value := os.environ.get(name))]
        self._folders = tuple(dict.fromkeys((Path(), *told, *folders)))
        self._names = names or {}

    def find(self, path: str) -> Path | None:
        """Return a file or folder that is there; None where no folder has it."""
        wanted = Path(path)
        if wanted.is_absolute():
            return wanted
        for name in self._spellings(path):
            for folder in self._folders:
                if (folder / name).exists():
                    return folder / name
        return None

    def _spellings(self, path: str) -> list[str]:
        """Return what a path may be called below a folder of data."""
        known = self._names.get(path) or {}
        local = known.get("local") if isinstance(known, Mapping) else None
        names = [path, *([local] if isinstance(local, str) else [])]
        bare = [
            name.removeprefix("./").removeprefix(folder)
            for name in names
            for folder in _OWN_FOLDERS
            if name.removeprefix("./").startswith(folder)
        ]
        return [*names, *bare]

    def get_data_path(self, dataset_id: str, local_mode: bool = False, **_: Any) -> str:
        """Return the place of a dataset, as the originals' function of that name does.

        Where no folder has it, that is its name on the hub, which `load_dataset` takes.
        """
        found = self.find(dataset_id)
        if found is not None:
            return str(found)
        places = listing(str(folder.absolute()) for folder in self._folders)
        what = f"there is no {dataset_id!r} in {places}"
        name = self.hub_name(dataset_id)
        if name is None:
            raise FileNotFoundError(what)
        try:
            return find_repository(name).name
        except DatasetMissing as error:
            raise FileNotFoundError(f"{what}; {error.problems[0].what}") from error

    def hub_name(self, dataset_id: str) -> HubName | None:
        """Return what a dataset may be called on the hub; None where a folder has it or it must be a path."""
        if self.find(dataset_id) is not None:
            return None
        known = self._names.get(dataset_id)
        on_hub = known.get("hf_id") if isinstance(known, Mapping) else None
        if isinstance(on_hub, str) and on_hub:
            return parse_hub_name(f"hf://{on_hub}")
        is_path = dataset_id.removeprefix("./").startswith(_OWN_FOLDERS)
        return None if is_path else parse_hub_name(dataset_id)
