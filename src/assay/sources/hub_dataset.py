"""A dataset on the Hugging Face hub at one commit: its configs, its splits, and their rows as Arrow files.

The `datasets` library decides which files of the repository belong to which config and split, and the types
of their columns, so the rows are the same as in every other tool. Only the files of splits that are read are
downloaded. The tables that the library makes from them are stored next to the hub's cache, by commit.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import AssayError, AuthorError, Problem, listing, suggest_name
from assay.core.origin import Origin
from assay.hub.client import is_offline
from assay.hub.repository import RepositoryFile
from assay.sources import hub_client
from assay.sources.arrow import ArrowSource
from assay.sources.dataset_folder import SPELLINGS, SYNONYMS, DatasetMissing
from assay.sources.datasets_library import quiet_datasets_library
from assay.sources.feature_types import read_type_names
from assay.sources.hub_client import DatasetCommit
from assay.sources.hub_name import HubName

PREFERRED_SPLITS = ("test", "validation", "valid", "val", "dev")
"""Splits to evaluate if the user names none, in order of preference."""
_INFO = "dataset_info.json"
_ONE_CONFIG = "default"
_PART = re.compile(r"-\d{5}-of-(\d{5})\b")
_COUNTED_BYTES = 50_000_000
"""Text files up to this size are downloaded to count their rows."""
_DISK_FACTOR = 3
"""Disk space needed, as a multiple of the size of the files: unpacked files and tables need space too."""


class SplitFacts(NamedTuple):
    """A split, with what is known without its rows."""

    name: str
    n_rows: int | None


class _Facts(msgspec.Struct):
    """What the hub reported about a commit, stored for offline runs. Configs and splits never change."""

    configs: tuple[str, ...] = ()
    default: str | None = None
    splits: dict[str, dict[str, int | None]] = {}
    n_files: int | None = None
    """Files in the whole repository: a cache with fewer is incomplete."""


class HubDataset:
    """One repository at one commit."""

    def __init__(self, name: HubName, repository: DatasetCommit, *, is_offline: bool) -> None:
        self.requested_name = name
        """The name as the user wrote it."""
        self.repository = repository
        self._is_offline = is_offline
        self._builders: dict[str | None, Any] = {}
        self._files: dict[tuple[str, str], list[RepositoryFile]] = {}
        self._facts_file = hub_client.build_tables_path(repository) / "facts.json"
        self._facts = _read_facts(self._facts_file)
        if repository.files:
            self._facts.n_files = len(repository.files)

    @classmethod
    def find(cls, name: HubName) -> HubDataset:
        """Look up a dataset on the hub, or in the caches when offline; raise if it is missing."""
        with hub_client.translating_hub_errors(name):
            if not is_offline():
                repository = hub_client.find_repository(name)
                hub_client.remember_commit(name, repository)
                return cls(name, repository, is_offline=False)
            cached = hub_client.find_cached_repository(name) or _find_newest_prepared(name)
            dataset = None if cached is None else cls(name, cached, is_offline=True)
        if dataset is None or not dataset.configs:
            raise hub_client.build_offline_error(name)
        return dataset

    @classmethod
    def find_pinned(cls, name: HubName) -> HubDataset:
        """Return the dataset at the commit in its name. Asks the hub only for what is not cached."""
        assert name.revision is not None
        with hub_client.translating_hub_errors(name):
            dataset = cls(name, DatasetCommit(name.repository, name.revision), is_offline=is_offline())
            has_table = name.config and name.split and dataset._find_table(name.config, name.split)
        return dataset if has_table else cls.find(name)

    @property
    def name(self) -> str:
        """The name of the dataset on the hub."""
        return self.repository.name

    @property
    def commit(self) -> str:
        """The commit whose files are read."""
        return self.repository.commit

    @cached_property
    def configs(self) -> tuple[str, ...]:
        """The names of the configs, in the repository's order."""
        if not self._is_offline:
            with self._import_library() as datasets:
                self._facts.configs = tuple(datasets.get_dataset_config_names(*self._place))
            self._write_facts()
        elif not self._facts.configs:
            prepared = (tables.config for tables in self._iterate_tables())
            return tuple(dict.fromkeys((*self._snapshot_configs, *prepared)))
        return self._facts.configs

    @cached_property
    def default_config(self) -> str | None:
        """The config to use if the user names none; None if the repository does not declare one."""
        if not self._is_offline:
            self._facts.default = self.configs[0] if len(self.configs) == 1 else self._find_declared_default()
            self._write_facts()
        elif self._snapshot_configs:
            return self._find_declared_default()
        elif not self._facts.configs:
            return _ONE_CONFIG if _ONE_CONFIG in self.configs else None
        return self._facts.default

    def _find_declared_default(self) -> str | None:
        with self._import_library() as datasets:
            default: str | None = datasets.get_dataset_default_config_name(*self._place)
            return default

    def require_config(self, config: str | None) -> str:
        """Return the config to use; raise if it does not exist or if the choice is ambiguous."""
        if config is None and self.default_config is not None:
            return self.default_config
        if config is not None and config in self.configs:
            return config
        requested = self.requested_name
        commands = "; ".join(
            f"assay run {HubName(self.name, name, requested.revision, requested.split).short}"
            for name in self.configs[:20]
        )
        more = f" and {len(self.configs) - 20} more" if len(self.configs) > 20 else ""
        if config is None:
            what = f"the dataset has {len(self.configs)} configs: {listing(self.configs, at_most=20)}"
            raise AuthorError(self._problem("HUB-003", what, f"name one: {commands}{more}"))
        what = f"the dataset has no config {config!r}{suggest_name(config, self.configs)}"
        raise DatasetMissing(self._problem("HUB-003", what, f"use one of: {commands}{more}"))

    def splits(self, config: str) -> tuple[SplitFacts, ...]:
        """Return the splits of a config, in the repository's order."""
        n_prepared = {
            split: n
            for tables in self._iterate_tables()
            if tables.config == config
            for split, n in tables.splits.items()
        }
        if not self._is_offline or config in self._snapshot_configs:
            builder = self._builder(config)
            declared = {str(name): info.num_examples for name, info in (builder.info.splits or {}).items()}
            n_rows: dict[str, int | None] = {}
            n_rows |= {str(name): declared.get(str(name)) or None for name in _split_files(builder)}
            if not self._is_offline:
                self._facts.splits[config] = n_rows
                self._write_facts()
        else:
            # What the hub reported last; other tools only leave the tables they loaded.
            n_rows = {**(self._facts.splits.get(config) or n_prepared)}
        return tuple(SplitFacts(split, n_prepared.get(split) or n) for split, n in n_rows.items())

    def require_split(
        self, config: str, split: str | None, *, preferred: Sequence[str] = PREFERRED_SPLITS
    ) -> str:
        """Return the split to use; raise if it does not exist or if the choice is ambiguous."""
        names = [facts.name for facts in self.splits(config)]
        if split is None:
            chosen = next((name for name in preferred if name in names), None)
            if chosen is None and len(names) == 1:
                chosen = names[0]
            if chosen is not None:
                return chosen
            what = f"config {config!r} has the splits {listing(names)}; no default can be chosen"
            raise AuthorError(self._problem("HUB-004", what, f"name one: {self._split_flags(names)}"))
        for group in ((split,), _find_synonyms(split, SPELLINGS), _find_synonyms(split, SYNONYMS)):
            match = next((name for name in group if name in names), None)
            if match is not None:
                return match
        what = (
            f"config {config!r} has no split {split!r}{suggest_name(split, names)}; it has {listing(names)}"
        )
        raise DatasetMissing(self._problem("HUB-004", what, f"use one of: {self._split_flags(names)}"))

    def n_rows(self, config: str, split: str) -> int | None:
        """Return the number of rows of a split; None if counting needs a large download."""
        known = self._count_known_rows(config, split)
        if known is not None or self._is_offline:
            return known
        if self._builder(config).name == "parquet":
            return hub_client.count_parquet_rows(
                self.requested_name, self.repository, self._paths(config, split)
            )
        if self._size(config, split) > _COUNTED_BYTES:
            return None
        self.tables(config, split)
        return self._count_known_rows(config, split)

    def _count_known_rows(self, config: str, split: str) -> int | None:
        return next(facts.n_rows for facts in self.splits(config) if facts.name == split)

    def _paths(self, config: str, split: str) -> list[str]:
        """Return the paths of a split's files inside the repository."""
        begin = f"hf://datasets/{self.name}@{self.commit}/"
        return [str(file).removeprefix(begin) for file in _split_files(self._builder(config))[split]]

    def columns(self, config: str, split: str) -> Mapping[str, str]:
        """Return the columns of a config with their types, if possible without downloading it."""
        features = None
        if not self._is_offline or config in self._snapshot_configs:
            builder = self._builder(config)
            features = builder.info.features
            if features is None and self._find_table(config, split) is None:
                with self._import_library():
                    features = builder.as_streaming_dataset(split=split)._resolve_features().features
        if features is None:
            return ArrowSource(self.tables(config, split)[0]).column_types
        return read_type_names(features.to_dict())

    def tables(self, config: str, split: str) -> tuple[Path, ...]:
        """Return the Arrow files of a split in order. Downloads and builds them if they are missing."""
        files = self._find_table(config, split)
        if files is None and self._is_offline and config not in self._snapshot_configs:
            missing = f"config {config!r}, split {split!r} of the dataset at commit {self.commit[:12]}"
            raise hub_client.build_offline_error(self.requested_name, missing)
        return files or self._make_table(config, split)

    def load(self, config: str) -> Any:
        """Return all splits of a config like `datasets.load_dataset`, from that library's cache."""
        place, *revision = self._place
        with self._import_library() as datasets:
            if self._is_offline and self._snapshot is None:
                # Offline, the library finds the newest table it made itself.
                return datasets.load_dataset(self.name, config)
            return datasets.load_dataset(place, config, **({"revision": revision[0]} if revision else {}))

    def find_file(self, path: str) -> Path | None:
        """Return a small file of the repository, downloaded if necessary; None if it does not exist."""
        if path in self.repository.files:
            files = hub_client.find_files(self.requested_name, self.repository, [path])
            hub_client.fetch_files(self.requested_name, self.repository, files, what=path)
        file = self.repository.repository.snapshot_folder(self.commit) / path
        return file if file.is_file() else None

    def has_table(self, config: str, split: str) -> bool:
        """Return whether the Arrow files of a split are on this machine."""
        return self._find_table(config, split) is not None

    def has_disk_space(self, config: str, split: str) -> bool:
        """Return whether the disk has space for a split that is not on this machine."""
        return self._is_offline or self._find_missing_space(config, split) is None

    @contextmanager
    def streaming_rows(self, name: HubName) -> Iterator[Any]:
        """Yield the rows of a split as streamed by the library."""
        with self._import_library():
            yield self._builder(name.config or _ONE_CONFIG).as_streaming_dataset(split=name.split)

    def build_pinned_name(self, config: str, split: str) -> HubName:
        """Return the name under which the rows of a split can be read again."""
        return HubName(self.name, config, self.commit, split)

    # --- cached data ---

    def _write_facts(self) -> None:
        self._facts_file.parent.mkdir(parents=True, exist_ok=True)
        # Another process may read the file at any time.
        with tempfile.NamedTemporaryFile(dir=self._facts_file.parent, delete=False) as stream:
            stream.write(msgspec.json.encode(self._facts))
        os.replace(stream.name, self._facts_file)

    @cached_property
    def _snapshot(self) -> Path | None:
        return (
            hub_client.find_cached_snapshot(self.repository, self._facts.n_files)
            if self._is_offline
            else None
        )

    @cached_property
    def _snapshot_configs(self) -> tuple[str, ...]:
        """The configs whose files are in the hub's cache, when offline."""
        if self._snapshot is None:
            return ()
        try:
            with self._import_library() as datasets:
                configs = datasets.get_dataset_config_names(str(self._snapshot))
                return tuple(name for name in configs if _is_whole(self._builder(name)))
        except AuthorError:
            # Some files were never downloaded.
            return ()

    def _find_table(self, config: str, split: str) -> tuple[Path, ...] | None:
        for tables in self._iterate_tables():
            if tables.config == config and split in tables.splits:
                return tables.files(split)
        return None

    def _iterate_tables(self) -> Iterator[_PreparedTables]:
        """Yield the tables of this commit: those made here, and those that `load_dataset` made."""
        yield from _find_prepared_tables(hub_client.build_tables_path(self.repository), "*/*")
        with quiet_datasets_library() as datasets:
            cache = Path(datasets.config.HF_DATASETS_CACHE)
        name = self.name.replace("/", "___")
        # With other arguments the library adds a hash to the config's name: those may be other rows.
        for tables in _find_prepared_tables(cache / name, f"*/*/{self.commit}"):
            if tables.folder.parent.parent.name == tables.config:
                yield tables

    # --- tables made by the library ---

    @property
    def _place(self) -> tuple[Any, ...]:
        """Arguments for the library: the repository and its commit, or the folder with its files."""
        if self._snapshot is not None:
            return (str(self._snapshot),)
        return (self.name, self.commit)

    def _builder(self, config: str) -> Any:
        if config not in self._builders:
            place, *revision = self._place
            with self._import_library() as datasets:
                self._builders[config] = datasets.load_dataset_builder(
                    place, config, **({"revision": revision[0]} if revision else {})
                )
        return self._builders[config]

    def _make_table(self, config: str, split: str) -> tuple[Path, ...]:
        builder = self._builder(config)
        files = _split_files(builder)
        folder = hub_client.build_tables_path(self.repository) / config / split
        if not self._is_offline:
            if (needed := self._find_missing_space(config, split)) is not None:
                raise AuthorError(hub_client.build_disk_full_problem(self.requested_name, needed))
            hub_client.fetch_files(
                self.requested_name, self.repository, self._list_split_files(config, split)
            )
        # The files of other splits are neither downloaded nor read.
        builder.config.data_files = type(builder.config.data_files)({split: files[split]})
        try:
            with self._import_library():
                builder.download_and_prepare(str(folder), verification_mode="no_checks")
        finally:
            builder.config.data_files = files
            del self._builders[config]
        tables = next(_find_prepared_tables(folder.parent, split), None)
        if tables is None or split not in tables.splits:
            what = f"config {config!r}, split {split!r}: `datasets` built no table from its files"
            raise AuthorError(self._problem("HUB-013", what, "check the files of the repository"))
        return tables.files(split)

    def _find_missing_space(self, config: str, split: str) -> int | None:
        """Return the bytes that a split needs if the disk has less; None if it has enough."""
        folder = hub_client.build_tables_path(self.repository)
        folder.mkdir(parents=True, exist_ok=True)
        needed = _DISK_FACTOR * self._size(config, split)
        return None if needed <= shutil.disk_usage(folder).free else needed

    def _size(self, config: str, split: str) -> int:
        return sum(file.size for file in self._list_split_files(config, split))

    def _list_split_files(self, config: str, split: str) -> list[RepositoryFile]:
        """Return the files of a split, as listed by the hub."""
        if (config, split) not in self._files:
            paths = self._paths(config, split)
            self._files[config, split] = hub_client.find_files(self.requested_name, self.repository, paths)
        return self._files[config, split]

    @contextmanager
    def _import_library(self) -> Iterator[Any]:
        """Yield the library; turn its exceptions into errors that say how to fix them."""
        try:
            with hub_client.translating_hub_errors(self.requested_name), quiet_datasets_library() as datasets:
                yield datasets
        except AssayError:
            raise
        except Exception as error:
            raise self._build_load_error(error) from error

    def _build_load_error(self, error: Exception) -> AuthorError:
        cause = _format_root_cause(error)
        scripts = [path for path in self.repository.files if path.endswith(".py")]
        if "scripts are no longer supported" in str(error) or (scripts and not self._data_files):
            script = scripts[0] if scripts else f"{self.name.rpartition('/')[2]}.py"
            what = f"the repository loads its data with a script ({script}), which `datasets` no longer runs"
            fix = "use a copy of the dataset in data files"
            near = [name for name in hub_client.find_nearest_names(self.name) if name != self.name]
            fix += f" ({', '.join(near)})" if near else ""
            fix += "; or export it with `datasets<4` to Parquet, and pass the path of that file"
            return AuthorError(self._problem("HUB-006", what, fix))
        if type(error).__name__ in ("EmptyDatasetError", "DataFilesNotFoundError"):
            present = listing(self.repository.files)
            what = f"the repository has no data files that `datasets` can read; it contains {present}"
            fix = "use another dataset; or download one of its files and pass that path"
            return AuthorError(self._problem("HUB-006", what, fix))
        if (missing := _find_missing_package(error)) is not None:
            return hub_client.build_package_error(missing)
        what = f"the files of the repository cannot be read: {cause}"
        fix = "report it on the dataset's page; or use another config, split or @revision"
        return AuthorError(self._problem("HUB-013", what, fix))

    @property
    def _data_files(self) -> list[str]:
        from assay.sources.files import find_suffix

        return [path for path in self.repository.files if find_suffix(path)]

    def _split_flags(self, names: Sequence[str]) -> str:
        return ", ".join(f"--split {name}" for name in names)

    def _problem(self, code: str, what: str, fix: str) -> Problem:
        return Problem(code, what, fix, Origin(f"hf://{self.name}"))


def _read_facts(file: Path) -> _Facts:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Facts)
    except (FileNotFoundError, msgspec.DecodeError):
        return _Facts()


class _PreparedTables(NamedTuple):
    """A folder of tables made by the library."""

    folder: Path
    config: str
    splits: Mapping[str, int]
    """The number of rows of each split."""

    def files(self, split: str) -> tuple[Path, ...]:
        """Return the files of a split in order."""
        return (
            *self.folder.glob(f"*-{split}.arrow"),
            *sorted(self.folder.glob(f"*-{split}-?????-of-?????.arrow")),
        )


def _find_prepared_tables(root: Path, pattern: str) -> Iterator[_PreparedTables]:
    for file in sorted(root.glob(f"{pattern}/{_INFO}")):
        with quiet_datasets_library() as datasets:
            info = datasets.DatasetInfo.from_directory(str(file.parent))
        splits = {str(name): split.num_examples for name, split in (info.splits or {}).items()}
        tables = _PreparedTables(file.parent, info.config_name or _ONE_CONFIG, splits)
        if all(map(tables.files, splits)):
            yield tables


def _find_newest_prepared(name: HubName) -> DatasetCommit | None:
    """Return the commit of the newest table that `load_dataset` made, if nothing else names a commit."""
    if name.revision is not None:
        return None
    with quiet_datasets_library() as datasets:
        cache = Path(datasets.config.HF_DATASETS_CACHE)
    folders = list(cache.glob(f"{name.repository.replace('/', '___')}/*/*/*/{_INFO}"))
    newest = max(folders, key=lambda path: path.stat().st_mtime, default=None)
    return None if newest is None else DatasetCommit(name.repository, newest.parent.name)


def _split_files(builder: Any) -> Any:
    """Return the files of a config by split."""
    files = builder.config.data_files
    return {} if files is None else files


def _is_whole(builder: Any) -> bool:
    """Return whether all parts of files written in several parts are present."""
    for files in _split_files(builder).values():
        parts = [int(match[1]) for file in files if (match := _PART.search(str(file)))]
        if parts and len(parts) < max(parts):
            return False
    return True


def _find_synonyms(split: str, groups: Sequence[Sequence[str]]) -> Sequence[str]:
    return next((group for group in groups if split in group), ())


def _find_missing_package(error: BaseException | None) -> ModuleNotFoundError | None:
    while error is not None and not isinstance(error, ModuleNotFoundError):
        error = error.__cause__ or error.__context__
    return error


def _format_root_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}".partition("\n")[0]
