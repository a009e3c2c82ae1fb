"""The documents of a task: its data, changed by the author's `process_docs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.origin import Origin
from assay.dialects.lm_eval.calling import calling_function
from assay.dialects.lm_eval.config import TaskKeys
from assay.dialects.lm_eval.rendering import Document
from assay.dialects.shared.author_draws import read_generators
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


class DatasetLoader:
    """Loads the data of one task: from the user's folder of datasets, else by its name or files."""

    def __init__(self, task: str, where: Origin, places: DataPlaces) -> None:
        self._task = task
        self._where = where
        self._places = places
        self.notes: tuple[str, ...] = ()

    def load(self, path: str | None, name: str | None, arguments: Mapping[str, Any]) -> Any:
        """Return the splits of a dataset; raise AuthorError if it cannot be loaded."""
        try:
            with quiet_datasets_library() as datasets:
                return self._load_named(str(path), name, arguments, datasets)
        except ModuleNotFoundError as error:
            what = f"loading its data needs the package {error.name!r}, which is not installed"
            raise AuthorError(self.build_problem(what, "pip install 'assay-eval[datasets]'")) from error

    def build_problem(self, what: str, fix: str) -> Problem:
        """Return a problem with the data of the task."""
        return Problem(CODE, f"task {self._task!r}: {what}", fix, Origin(self._where.path))

    def _load_named(self, path: str, name: str | None, given: Mapping[str, Any], datasets: Any) -> Any:
        hub = self._places.hub
        if hub is not None and hub.has_dataset(path, name):
            loaded = load_folder_splits(
                hub.folder(path, name),
                name,
                self._places.cache,
                key="dataset_name",
                make_problem=self.build_problem,
            )
            self.notes = loaded.notes
            return loaded.dataset
        arguments = {key: value for key, value in given.items() if key != "trust_remote_code"}
        known = parse_hub_name(f"hf://{path}")
        if arguments or known is None or Path(path).exists() or path in _list_formats(datasets):
            return self._load_by_arguments(path, name, arguments, datasets)
        return load_splits(known._replace(config=name))

    def _load_by_arguments(
        self, path: str, name: str | None, arguments: dict[str, Any], datasets: Any
    ) -> Any:
        """Return data that the task file describes in the terms of the `datasets` library."""
        arguments = self._find_data_files(arguments)
        try:
            with noting_loads():
                return datasets.load_dataset(path, name, **arguments)
        except AuthorError:
            raise
        except Exception as error:
            what = f"dataset_path {path!r} could not be loaded: {find_root_cause(error)}"
            raise DatasetMissing(
                self.build_problem(what, "correct dataset_path and dataset_kwargs")
            ) from error

    def _find_data_files(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with files found in the working folder, or else beside the task file."""
        folder = Path(self._where.path).parent

        def find(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {key: find(one) for key, one in value.items()}
            if isinstance(value, list):
                return [find(one) for one in value]
            is_beside = isinstance(value, str) and not Path(value).exists() and (folder / value).exists()
            return str(folder / value) if is_beside else value

        files = arguments.get("data_files")
        return arguments if files is None else {**arguments, "data_files": find(files)}


class TaskSplits:
    """The splits of one task, each read once."""

    def __init__(self, keys: TaskKeys, loader: DatasetLoader) -> None:
        self._keys = keys
        self._loader = loader
        self._read: dict[tuple[str, bool], Sequence[Document]] = {}
        self._examples: Sequence[Document] | None = None
        self._dataset = self._load()

    def replay_calls(self) -> None:
        """Call `process_docs` as often as the original does: what it draws depends on it.

        The original calls it for the examples, for its checks, and again for the requests.
        """
        if self._keys.process_docs is None:
            return
        before = read_generators()
        with suppress(AuthorError):
            examples = self.examples()
            if read_generators() != before:
                self._examples = examples
                self._read.clear()
        self.load_evaluated_split()
        if read_generators() != before:
            self._read.clear()

    def load_evaluated_split(self) -> tuple[str, Sequence[Document]]:
        """Return the split to evaluate, and its documents."""
        split = self._keys.eval_split
        assert split is not None  # Checked when the keys were read.
        docs = self._documents(split, self._keys.process_docs)
        if not docs:
            raise AuthorError(
                self._loader.build_problem(
                    f"the split {split!r} has no documents", "add data, or another split"
                )
            )
        return split, docs

    def examples(self) -> Sequence[Document]:
        """Return the documents that examples are drawn from."""
        keys, fewshot = self._keys, self._keys.fewshot
        if self._examples is not None:
            return self._examples
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
            self._read[known] = _list_documents(rows)
        return self._read[known]

    def _split(self, split: str) -> Any:
        try:
            return self._dataset[split]
        except (KeyError, TypeError) as error:
            names = [str(name) for name in self._dataset] if isinstance(self._dataset, Mapping) else []
            what = f"there is no split {split!r}{suggest_name(split, names)}; the data has {listing(names)}"
            problem = self._loader.build_problem(what, "correct the split, or add its data")
            raise DatasetMissing(problem) from error

    def _load(self) -> Any:
        keys = self._keys
        if keys.custom_dataset is not None:
            with calling_function(keys.custom_dataset, "custom_dataset", keys), noting_loads():
                return keys.custom_dataset(**{**keys.metadata, **keys.dataset_arguments})
        return self._loader.load(keys.dataset_path, keys.dataset_name, keys.dataset_arguments)


class ClassSplits:
    """The documents of a task that a Python class defines."""

    def __init__(self, task: Any, keys: TaskKeys, loader: DatasetLoader) -> None:
        self._task = task
        self._keys = keys
        self._loader = loader

    def load_evaluated_split(self) -> tuple[str, Sequence[Document]]:
        """Return the split to evaluate, and its documents."""
        with calling_function(self._task.test_docs, "the class", self._keys), quiet_datasets_library():
            docs = _list_documents(self._task.eval_docs)
        if not docs:
            raise AuthorError(self._loader.build_problem("the class has no documents", "add data"))
        return str(self._keys.eval_split), docs

    def examples(self) -> Sequence[Document]:
        """Return the documents that examples are drawn from."""
        with calling_function(self._task.fewshot_docs, "fewshot_docs", self._keys), quiet_datasets_library():
            return _list_documents(self._task.fewshot_docs())


def _list_documents(rows: Any) -> Sequence[Document]:
    return [dict(row) if isinstance(row, Mapping) else row for row in rows or ()]


def _list_formats(datasets: Any) -> frozenset[str]:
    return frozenset(getattr(datasets.packaged_modules, "_PACKAGED_DATASETS_MODULES", ()))
