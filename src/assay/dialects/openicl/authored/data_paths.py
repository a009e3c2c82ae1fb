"""Lookup of data files: authors write paths relative to their own folders."""

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
"""Environment variables of the originals for the data folder."""
DEFAULT_CACHE = "~/.cache/opencompass"
"""Where OpenCompass downloads data, unless the first variable names a folder."""
OWN_FOLDERS = ("ais_bench/datasets/", "data/")
"""The originals' data folders below those; other dataset folders need not have them."""


class DataPaths:
    """Finds the files that authors name, in a list of possible data folders."""

    def __init__(self, folders: Sequence[Path], names: Mapping[str, Any] | None = None) -> None:
        """Store the folders, and OpenCompass's mapping from dataset names to folders."""
        cached = [Path(value) for name in CACHE_VARIABLES if (value := os.environ.get(name))]
        default = Path(DEFAULT_CACHE).expanduser()
        cached += [default] if default.is_dir() else []
        self._folders = tuple(dict.fromkeys((Path(), *cached, *folders)))
        self._names = names or {}

    def find(self, path: str) -> Path | None:
        """Return an existing file or folder; None if no data folder has it."""
        wanted = Path(path)
        if wanted.is_absolute():
            return wanted
        for name in self._spellings(path):
            for folder in self._folders:
                if (folder / name).exists():
                    return folder / name
        return None

    def _spellings(self, path: str) -> list[str]:
        """Return the possible forms of a path below a data folder."""
        known = self._names.get(path) or {}
        local = known.get("local") if isinstance(known, Mapping) else None
        names = [path, *([local] if isinstance(local, str) else [])]
        bare = [
            name.removeprefix("./").removeprefix(folder)
            for name in names
            for folder in OWN_FOLDERS
            if name.removeprefix("./").startswith(folder)
        ]
        return [*names, *bare]

    def get_data_path(self, dataset_id: str, local_mode: bool = False, **_: Any) -> str:
        """Return the path of a dataset, like the originals' function of that name.

        If no folder has it, return its name on the hub, which `load_dataset` accepts.
        """
        found = self.find(dataset_id)
        if found is not None:
            return str(found)
        places = listing(str(folder.absolute()) for folder in self._folders)
        known = self._names.get(dataset_id)
        local = known.get("local") if isinstance(known, Mapping) else None
        kept = f", which OpenCompass keeps in {local!r}," if isinstance(local, str) else ""
        what = f"there is no {dataset_id!r}{kept} in {places}"
        name = self.hub_name(dataset_id)
        if name is None:
            raise FileNotFoundError(what)
        try:
            return find_repository(name).name
        except DatasetMissing as error:
            raise FileNotFoundError(f"{what}; {error.problems[0].what}") from error

    def hub_name(self, dataset_id: str) -> HubName | None:
        """Return the possible hub name of a dataset; None if a folder has it or it must be a path."""
        if self.find(dataset_id) is not None:
            return None
        known = self._names.get(dataset_id)
        on_hub = known.get("hf_id") if isinstance(known, Mapping) else None
        if isinstance(on_hub, str) and on_hub:
            return parse_hub_name(f"hf://{on_hub}")
        is_path = dataset_id.removeprefix("./").startswith(OWN_FOLDERS)
        return None if is_path else parse_hub_name(dataset_id)
