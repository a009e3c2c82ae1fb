"""A local folder of datasets that are found by their hub name, without asking a hub.

The folder may contain `hub.json`, which maps hub names, or `name:config`, to subfolders. `dataset_folder`
finds the files inside a dataset's folder.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import msgspec

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.origin import Origin
from assay.sources.dataset_folder import DatasetFolder, DatasetMissing
from assay.sources.file_names import find_on_disk


class LocalHub:
    """A folder of datasets, found by hub name or by folder name."""

    def __init__(self, data_root: Path) -> None:
        self.root = data_root
        self._opened: dict[tuple[str, str | None], DatasetFolder] = {}

    def resolve(self, name: str, *, config: str | None = None, split: str | None = None) -> Path:
        """Return the only data file of a dataset, config and split; raise if there is no file or several."""
        files = self.files(name, config=config, split=split)
        if len(files) == 1:
            return files[0]
        parts = listing((str(file.relative_to(self.root)) for file in files), at_most=8)
        what = f"{name!r}, config {config!r}, split {split!r} matches {len(files)} files: {parts}"
        raise AuthorError(self._problem(what, "pass the path of one file, or merge the shards into one file"))

    def files(self, name: str, *, config: str | None = None, split: str | None = None) -> tuple[Path, ...]:
        """Return the file of a dataset, config and split, or its shards: see `DatasetFolder.files`."""
        return self.folder(name, config).files(config=config, split=split)

    def configs(self, name: str, split: str | None = None) -> tuple[str, ...]:
        """Return the configs of a dataset as named in its paths and hub.json; empty if it has only one.

        `split` is a split name of the user's own that is not one of the usual words.
        """
        declared = {key.partition(":")[2] for key in self._names if key.startswith(f"{name}:")}
        if declared and self._path(name) is None:
            return tuple(sorted(declared))
        return tuple(sorted(declared.union(self.folder(name).configs(split))))

    def splits(self, name: str, config: str | None = None) -> tuple[str, ...]:
        """Return the splits of a config, or of the whole dataset, as named in its paths."""
        return self.folder(name, config).splits(config)

    def has_dataset(self, name: str, config: str | None = None) -> bool:
        """Return whether there is a folder for a dataset, or one that hub.json assigns to this config."""
        own = None if config is None else self._path(f"{name}:{config}")
        return (own or self._path(name)) is not None

    def folder(self, name: str, config: str | None = None) -> DatasetFolder:
        """Return the folder of a dataset, or the one that hub.json assigns to this config."""
        key = (name, config)
        if key not in self._opened:
            own = None if config is None else self._path(f"{name}:{config}")
            path = own or self._path(name)
            if path is None:
                raise self._build_no_folder_error(name)
            self._opened[key] = DatasetFolder(path, name=name, stands_for=config if own else None)
        return self._opened[key]

    def _path(self, name: str) -> Path | None:
        listed = self._names.get(name)
        if listed is not None:
            folder = self.root / listed
            if not folder.is_dir():
                what = f"hub.json maps {name!r} to {listed!r}, but {str(folder)!r} is not a folder"
                raise AuthorError(self._problem(what, "fix hub.json or add the folder"))
            return folder
        # The name comes from a dataset's author and must not lead out of the root.
        if not name or ".." in Path(name).parts or Path(name).is_absolute():
            return None
        for spelling in (name, name.replace("/", "___"), name.replace("/", "--")):
            if (folder := find_on_disk(self.root / spelling)).is_dir():
                return folder
        return self._snapshot(self.root / f"datasets--{name.replace('/', '--')}")

    def _snapshot(self, repository: Path) -> Path | None:
        """Return the files of a repository in the cache of the hub's own client."""
        main = repository / "refs" / "main"
        if main.is_file():
            folder = repository / "snapshots" / main.read_text(encoding="utf-8").strip()
            return folder if folder.is_dir() else None
        snapshots = sorted(repository.glob("snapshots/*"))
        if len(snapshots) > 1:
            what = f"{str(repository)!r} contains {len(snapshots)} snapshots, but no refs/main to select one"
            raise AuthorError(self._problem(what, "keep only one snapshot, or map the name in hub.json"))
        return snapshots[0] if snapshots else None

    def _build_no_folder_error(self, name: str) -> DatasetMissing:
        known = sorted({*self._names, *self._folders()})
        what = f"no dataset {name!r}{suggest_name(name, known)} in {str(self.root)!r}"
        there = f"use one of {listing(known)}, " if known else ""
        fix = f"{there}add its folder and a line in hub.json, or correct --data-root"
        return DatasetMissing(self._problem(what, fix))

    @cached_property
    def _names(self) -> dict[str, str]:
        try:
            return msgspec.json.decode((self.root / "hub.json").read_bytes(), type=dict[str, str])
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            what, fix = f"invalid hub.json: {error}", 'write {"hub/name": "folder", ...}'
            raise AuthorError(self._problem(what, fix)) from None

    def _folders(self) -> list[str]:
        return [path.name for path in self.root.iterdir() if path.is_dir()] if self.root.is_dir() else []

    def _problem(self, what: str, fix: str) -> Problem:
        return Problem("SOURCE-010", what, fix, Origin(str(self.root)))
