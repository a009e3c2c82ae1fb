"""The documents of a task: its data, changed by the author's `process_docs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.origin import Origin
from assay.dialects.lm_eval.calling import calling_function
from assay.dialects.lm_eval.config import TaskKeys
from assay.dialects.lm_eval.rendering import Document
from assay.sources.dataset_folder import DatasetMissing
from assay.sources.datasets_library import quiet_datasets_library
from assay.sources.folder_splits import find_root_cause, load_folder_splits
from assay.sources.hub import LocalHub
from assay.sources.hub_files import load_splits
from assay.sources.hub_name import parse_hub_name
from assay.sources.hub_reads import noting_loads

CODE = "LMEVAL-005"


class DataPlaces(NamedTuple):
    """Where data is looked for before the hub is asked."""

    hub: LocalHub | None
    """The folder of datasets that the user named."""
    cache: Path
    """The cache folder of the `datasets` library."""


class TaskSplits:
    """The splits of one task, each read once."""

    def __init__(self, keys: TaskKeys, places: DataPlaces) -> None:
        self._keys = keys
        self._places = places
        self._read: dict[tuple[str, bool], Sequence[Document]] = {}
        self.notes: tuple[str, ...] = ()
        self._dataset = self._load()

    def evaluated(self) -> tuple[str, Sequence[Document]]:
        """Return the split to evaluate, and its documents."""
        split = self._keys.eval_split
        assert split is not None  # Checked when the keys were read.
        docs = self._documents(split, self._keys.process_docs)
        if not docs:
            raise AuthorError(
                self._problem(f"the split {split!r} has no documents", "add data, or another split")
            )
        return split, docs

    def examples(self) -> Sequence[Document]:
        """Return the documents that examples are drawn from."""
        keys, fewshot = self._keys, self._keys.fewshot
        if fewshot.split is not None:
            return self._documents(fewshot.split, fewshot.process_docs)
        if fewshot.samples is not None:
            with calling_function(fewshot.samples, "fewshot_config.samples", keys):
                samples = fewshot.samples() if callable(fewshot.samples) else fewshot.samples
            return list(samples)
        split = keys.training_split or keys.validation_split or keys.test_split
        assert split is not None
        return self._documents(split, keys.process_docs)

    def _documents(self, split: str, process: Callable[[Any], Any] | None) -> Sequence[Document]:
        known = (split, process is self._keys.process_docs)
        if known not in self._read:
            rows = self._split(split)
            if process is not None:
                with calling_function(process, "process_docs", self._keys), quiet_datasets_library():
                    rows = process(rows)
            self._read[known] = [dict(row) if isinstance(row, Mapping) else row for row in rows or ()]
        return self._read[known]

    def _split(self, split: str) -> Any:
        try:
            return self._dataset[split]
        except (KeyError, TypeError) as error:
            names = [str(name) for name in self._dataset] if isinstance(self._dataset, Mapping) else []
            what = f"there is no split {split!r}{suggest_name(split, names)}; the data has {listing(names)}"
            raise DatasetMissing(self._problem(what, "correct the split, or add its data")) from error

    def _load(self) -> Any:
        keys = self._keys
        if keys.custom_dataset is not None:
            with calling_function(keys.custom_dataset, "custom_dataset", keys), noting_loads():
                return keys.custom_dataset(**{**keys.metadata, **keys.dataset_arguments})
        path = str(keys.dataset_path)
        try:
            with quiet_datasets_library() as datasets:
                return self._load_named(path, datasets)
        except ModuleNotFoundError as error:
            what = f"loading its data needs the package {error.name!r}, which is not installed"
            raise AuthorError(self._problem(what, "pip install 'assay-eval[datasets]'")) from error

    def _load_named(self, path: str, datasets: Any) -> Any:
        keys, hub = self._keys, self._places.hub
        if hub is not None and hub.has_dataset(path, keys.dataset_name):
            loaded = load_folder_splits(
                hub.folder(path, keys.dataset_name),
                keys.dataset_name,
                self._places.cache,
                key="dataset_name",
                make_problem=partial(self._problem),
            )
            self.notes = loaded.notes
            return loaded.dataset
        arguments = {
            key: value for key, value in keys.dataset_arguments.items() if key != "trust_remote_code"
        }
        name = parse_hub_name(f"hf://{path}")
        if arguments or name is None or Path(path).exists() or path in _list_formats(datasets):
            return self._load_by_arguments(path, arguments, datasets)
        return load_splits(name._replace(config=keys.dataset_name))

    def _load_by_arguments(self, path: str, arguments: dict[str, Any], datasets: Any) -> Any:
        """Return data that the task file describes in the terms of the `datasets` library."""
        arguments = self._find_data_files(arguments)
        try:
            with noting_loads():
                return datasets.load_dataset(path, self._keys.dataset_name, **arguments)
        except AuthorError:
            raise
        except Exception as error:
            what = f"dataset_path {path!r} could not be loaded: {find_root_cause(error)}"
            raise DatasetMissing(self._problem(what, "correct dataset_path and dataset_kwargs")) from error

    def _find_data_files(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with files found in the working folder, or else beside the task file."""
        folder = Path(self._keys.where.path).parent

        def find(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {key: find(one) for key, one in value.items()}
            if isinstance(value, list):
                return [find(one) for one in value]
            is_beside = isinstance(value, str) and not Path(value).exists() and (folder / value).exists()
            return str(folder / value) if is_beside else value

        files = arguments.get("data_files")
        return arguments if files is None else {**arguments, "data_files": find(files)}

    def _problem(self, what: str, fix: str) -> Problem:
        return Problem(CODE, f"task {self._keys.name!r}: {what}", fix, Origin(self._keys.where.path))


def _list_formats(datasets: Any) -> frozenset[str]:
    return frozenset(getattr(datasets.packaged_modules, "_PACKAGED_DATASETS_MODULES", ()))
