"""lm-eval's tasks, groups and tags as benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.benchmark import Benchmark, DataNeed
from assay.core.method import Method
from assay.dialects.lm_eval.detect import PREFIX
from assay.dialects.lm_eval.task_index import FolderIndex, IndexEntry
from assay.dialects.shared.readme_summary import summarize_readme

_METHODS = {
    "multiple_choice": (Method.PPL, Method.PROB),
    "loglikelihood": (Method.PPL,),
    "loglikelihood_rolling": (Method.PPL,),
    "generate_until": (Method.GEN,),
}
_FILE_FORMATS = frozenset({"json", "csv", "parquet", "text", "arrow"})


def list_task_entries(index: FolderIndex, folder: Path) -> list[Benchmark]:
    """Return everything that can be run by name from an indexed folder of task files."""
    described = {entry.name: _describe(entry, folder) for entry in index.entries}
    return [
        msgspec.structs.replace(one, about=_join_descriptions(one.members, described))
        if not one.about
        else one
        for one in described.values()
    ]


def _join_descriptions(members: Sequence[str], described: Mapping[str, Benchmark]) -> str:
    """Return what all members of a tag have in common; empty if they differ."""
    abouts = {described[name].about for name in members if name in described}
    return abouts.pop() if len(abouts) == 1 else ""


def _describe(entry: IndexEntry, folder: Path) -> Benchmark:
    about = entry.description
    if not about and entry.path:
        about = summarize_readme(Path(entry.path).parent, folder, entry.name)
    return Benchmark(
        entry.name,
        f"{PREFIX}{entry.name}",
        about,
        _METHODS.get(entry.output_type, ()),
        entry.split,
        _describe_data(entry.dataset),
        entry.members,
    )


def _describe_data(dataset: str) -> tuple[DataNeed, ...]:
    name, _, config = dataset.partition(":")
    if not name or name in _FILE_FORMATS or name.startswith("!function"):
        return ()
    return (DataNeed(name, config, on_hub=name),)
