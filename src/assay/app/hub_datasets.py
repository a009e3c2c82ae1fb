"""Datasets named as on the Hugging Face hub: which rows they mean, and the notes a person sees about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from assay.core.compilation import CompiledDataset
from assay.core.errors import AuthorError, Problem, UsageError
from assay.core.origin import Origin
from assay.dialects.shared.described_task import DescribedTask
from assay.dialects.table.eval_task import (
    ANY_CONFIG,
    FILE_NAME,
    EvalTask,
    has_field_specs,
    read_task_document,
)
from assay.sources.hub_dataset import PREFERRED_SPLITS, HubDataset
from assay.sources.hub_name import HubName, parse_hub_name
from assay.sources.hub_source import is_streaming
from assay.sources.yaml_file import read_yaml

SHOTS_PREFERRED = ("train", "training", "validation", "valid", "val", "dev", "test")
"""Splits that examples are taken from by default, in order of preference."""
_TRAIN = ("train", "training")


class HubTable(NamedTuple):
    """The rows of one config and split at one commit."""

    address: str
    """The address that opens it, now and later: `hf://NAME:CONFIG@COMMIT#SPLIT`."""
    name: str
    """The name of the task."""
    notes: tuple[str, ...]
    task: EvalTask | None = None
    """The task of the repository's `eval.yaml` that prompts and scores the rows, if one is used."""


def find_hub_tables(
    name: HubName,
    split: str | None,
    *,
    preferred: Sequence[str] = PREFERRED_SPLITS,
    uses_eval_file: bool = False,
) -> list[HubTable]:
    """Find and download the tables of a name: one for each of its comma-separated configs.

    `uses_eval_file`: if the name has neither config nor split, prefer the tasks of the repository's
    `eval.yaml`.
    """
    if split is not None and name.split not in (None, split):
        what = f"the name selects split {name.split!r}, but --split selects {split!r}"
        raise UsageError(Problem("USAGE-004", what, "remove one of the two"))
    dataset = HubDataset.find(name)
    notes: tuple[str, ...] = ()
    if uses_eval_file and name.config is None and (name.split or split) is None:
        tasks, notes = _read_eval_tasks(dataset)
        if tasks:
            return [_task(dataset, one) for one in tasks]
    configs = name.config.split(",") if name.config else [None]
    tables = [_table(dataset, one, name.split or split, preferred) for one in configs]
    return [one._replace(notes=(*one.notes, *notes)) for one in tables]


def _table(dataset: HubDataset, config: str | None, split: str | None, preferred: Sequence[str]) -> HubTable:
    """Find the rows of a config and split, and download them unless they are streamed."""
    chosen = dataset.require_config(config)
    rows = dataset.require_split(chosen, split, preferred=preferred)
    notes = _notes(dataset, chosen, rows, split)
    if dataset.has_table(chosen, rows) or (not is_streaming() and dataset.has_disk_space(chosen, rows)):
        # Download now, so that errors appear before a model is loaded.
        dataset.tables(chosen, rows)
    else:
        why = "streaming is on" if is_streaming() else "there is not enough disk space for the split"
        notes.append(f"rows are streamed from the hub each time they are read: {why}")
    own = f"{dataset.name}:{chosen}" if len(dataset.configs) > 1 else dataset.name
    return HubTable(str(dataset.build_pinned_name(chosen, rows)), own, tuple(notes))


def _read_eval_tasks(dataset: HubDataset) -> tuple[list[EvalTask], tuple[str, ...]]:
    """Return the tasks of the repository's `eval.yaml`, and a note if it has one that is not used."""
    file = dataset.find_file(FILE_NAME)
    if file is None:
        return [], ()
    document = read_yaml(str(file))
    if not has_field_specs(document):
        why = "its tasks do not map columns (field_spec)"
        return [], (f"the repository's {FILE_NAME} is not used: {why}",)
    try:
        return read_task_document(document, Origin(f"hf://{dataset.name}/{FILE_NAME}")), ()
    except AuthorError as error:
        plain = HubName(dataset.name, revision=dataset.requested_name.revision, split="SPLIT").short
        fix = f"read the rows as a plain table: assay run {plain} (docs/guides/table-shapes.md)"
        raise AuthorError([msgspec.structs.replace(one, fix=fix) for one in error.problems]) from None


def _task(dataset: HubDataset, task: EvalTask) -> HubTable:
    # The file says "default" if the repository has a single config, whatever its name.
    is_only = task.config == ANY_CONFIG and task.config not in dataset.configs
    table = _table(dataset, None if is_only else task.config, task.split, PREFERRED_SPLITS)
    address = parse_hub_name(table.address)
    assert address is not None
    plain = address._replace(revision=dataset.requested_name.revision).short
    which = f"task {task.id!r} of " if task.id else ""
    note = (
        f"prompted and scored by {which}the repository's {FILE_NAME}; assay run {plain} reads a plain table"
    )
    name = f"{dataset.name}:{task.id}" if task.id else dataset.name
    return HubTable(table.address, name, (*table.notes, note), task)


def _notes(dataset: HubDataset, config: str, split: str, wanted: str | None) -> list[str]:
    notes = [f"read from the hub: {dataset.name}, config {config}, split {split}, commit {dataset.commit}"]
    if wanted is None and split in _TRAIN:
        notes.append(f"the only split is {split!r}: models may have been trained on it")
    if wanted is not None and wanted != split:
        notes.append(f"split {wanted!r} is called {split!r} in this dataset")
    return notes


def record_reads(compiled: Sequence[CompiledDataset], reads: Iterable[HubName]) -> tuple[str, ...]:
    """Record hub reads in the identity of tasks; return notes about them.

    A table's task records the full address of its rows. A task of another format may read several configs.
    """
    names = list(reads)
    for one in compiled:
        task = one.task
        assert isinstance(task, DescribedTask)
        if names:
            is_table = task.spec.dialect == "table"
            read = (name if is_table else HubName(name.repository, revision=name.revision) for name in names)
            task.record("hub", list(dict.fromkeys(map(str, read))))
    commits = dict.fromkeys((name.repository, name.revision) for name in names)
    return tuple(f"read from the hub: {repository}, commit {commit}" for repository, commit in commits)


class ListedSplit(msgspec.Struct, frozen=True):
    """One split of one config."""

    name: str
    """The name that `assay run` takes."""
    config: str
    split: str
    n_rows: int | None
    """None if neither the hub nor a local table knows it."""
    columns: dict[str, str]
    """The type of each column."""


class ListedHubDataset(msgspec.Struct, frozen=True):
    """A dataset on the hub at one commit."""

    name: str
    commit: str
    splits: tuple[ListedSplit, ...]


def list_hub_dataset(name: HubName) -> ListedHubDataset:
    """Return the configs and splits of a dataset; only the named ones if its name has a config or a split."""
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
