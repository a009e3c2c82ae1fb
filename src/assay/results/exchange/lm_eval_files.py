"""The result files of lm-evaluation-harness (lm-eval), in its own form.

    OUTPUT/MODEL/results_TIME.json           values of tasks and groups, and how they were computed
    OUTPUT/MODEL/samples_TASK_TIME.jsonl     one line for each document and filter

An OUTPUT that ends in .json is a file beside which the others are written, without the folder MODEL.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

NO_STDERR = "N/A"
"""The standard error of a value that has none."""
UNVERSIONED_TASK = "Yaml"
UNVERSIONED_GROUP = "N/A"
_UNSAFE_IN_FOLDERS = re.compile(r'["<>:/|\\?*\[\]]+')


class LoggedSample(NamedTuple):
    """One document after one filter."""

    doc_id: int
    """Its number in the evaluated split, from 0."""
    doc: Any
    target: Any
    arguments: Sequence[Sequence[Any]]
    """For each request: (context, continuation), (context, generation options) or (text,)."""
    replies: Sequence[Sequence[Any]]
    """For each request its replies: texts, (sum of log-probabilities, is greedy), or sums."""
    filtered: Sequence[Any]
    """For each request what the filter made of its replies."""
    filter: str
    values: Mapping[str, Any]
    """By metric, without the filter."""
    more: Mapping[str, Any] = {}
    """Further keys of the line, which lm-eval does not read."""


class LoggedTask(NamedTuple):
    """The results of a task."""

    name: str
    alias: str
    version: Any
    config: Mapping[str, Any]
    n_shots: int
    n_original: int
    """Documents in the evaluated split."""
    n_evaluated: int
    values: Mapping[str, Any]
    """By metric and filter: `acc,none`."""
    stderrs: Mapping[str, float | str]
    """By the same names; NO_STDERR if there is none."""
    higher_is_better: Mapping[str, bool | None]
    """By metric, without the filter."""


class LoggedGroup(NamedTuple):
    """The results of a group."""

    name: str
    alias: str
    version: Any
    members: Sequence[str]
    """Its direct members: tasks and groups."""
    n_evaluated: int = 0
    values: Mapping[str, Any] = {}
    stderrs: Mapping[str, float | str] = {}
    counts: Mapping[str, int] = {}
    """By metric and filter: documents in the value."""
    is_aggregated: bool = True
    """Whether it has values at all."""


def build_results(
    tasks: Sequence[LoggedTask], groups: Sequence[LoggedGroup], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the content of the results file. `groups`: inner ones first. `facts`: its further keys.

    As in lm-eval, a group takes directions and numbers of examples from its tasks, not from inner groups.
    """
    higher_is_better = {task.name: dict(task.higher_is_better) for task in tasks}
    n_shots = {task.name: task.n_shots for task in tasks}
    for group in reversed(groups):
        if better := _join_directions([higher_is_better.get(member, {}) for member in group.members]):
            higher_is_better[group.name] = better
        counts = {n_shots[member] for member in group.members if member in n_shots}
        if len(counts) == 1:
            n_shots[group.name] = counts.pop()
    results = {
        **{task.name: _build_task_entry(task) for task in tasks},
        **{group.name: _build_group_entry(group) for group in groups},
    }
    aggregated = {group.name: results[group.name] for group in groups if group.is_aggregated}
    versions: dict[str, Any] = {task.name: task.version for task in tasks}
    versions |= {group.name: group.version for group in groups}
    return {
        "results": results,
        **({"groups": aggregated} if aggregated else {}),
        "group_subtasks": {group.name: list(group.members) for group in groups},
        "configs": _sort({task.name: dict(task.config) for task in tasks}),
        "versions": _sort(versions),
        "n-shot": _sort(n_shots),
        "higher_is_better": _sort(higher_is_better),
        "n-samples": {
            task.name: {"original": task.n_original, "effective": task.n_evaluated} for task in tasks
        },
        **facts,
    }


def _build_task_entry(task: LoggedTask) -> dict[str, Any]:
    return {
        "name": task.name,
        "alias": task.alias,
        "sample_len": task.n_evaluated,
        **_interleave(task.values, task.stderrs),
    }


def _build_group_entry(group: LoggedGroup) -> dict[str, Any]:
    entry: dict[str, Any] = {"alias": group.alias, "name": group.name}
    if group.is_aggregated:
        entry |= {"sample_len": group.n_evaluated, **_interleave(group.values, group.stderrs)}
    return entry | ({"sample_count": dict(group.counts)} if group.counts else {})


def _interleave(values: Mapping[str, Any], stderrs: Mapping[str, float | str]) -> dict[str, Any]:
    """Return each value followed by its standard error."""
    entry: dict[str, Any] = {}
    for name, value in values.items():
        entry[name] = value
        entry[name_stderr(name)] = stderrs.get(name, NO_STDERR)
    return entry


def name_stderr(name: str) -> str:
    """Return the name of a value's standard error: `acc_stderr,none` for `acc,none`."""
    metric, _, chosen = name.partition(",")
    return f"{metric}_stderr,{chosen}"


def _join_directions(several: Sequence[Mapping[str, bool | None]]) -> dict[str, bool | None]:
    """Return the directions of all members; None where they differ."""
    joined: dict[str, bool | None] = {}
    for one in several:
        for metric, is_better in one.items():
            joined[metric] = is_better if joined.get(metric, is_better) == is_better else None
    return joined


def build_sample_line(sample: LoggedSample) -> dict[str, Any]:
    """Return the content of a line of a samples file."""
    first = sample.arguments[0][0] if sample.arguments and sample.arguments[0] else ""
    arguments = {
        f"gen_args_{number}": {f"arg_{at}": one for at, one in enumerate(several)}
        for number, several in enumerate(sample.arguments)
    }
    return {
        "doc_id": sample.doc_id,
        "doc": sample.doc,
        "target": str(sample.target),
        "arguments": arguments,
        "resps": _to_texts(sample.replies),
        "filtered_resps": _to_texts(sample.filtered),
        "filter": sample.filter,
        "metrics": list(sample.values),
        "doc_hash": hash_text(_encode(sample.doc, indent=2)),
        "prompt_hash": hash_text(first if isinstance(first, str) else "".join(map(str, first))),
        "target_hash": hash_text(str(sample.target)),
        **sample.values,
        **sample.more,
    }


def _to_texts(value: Any) -> Any:
    """Return nested lists with every value as a text, because a reply can have any type."""
    return [_to_texts(one) for one in value] if isinstance(value, list | tuple) else str(value)


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sanitize_model_name(name: str) -> str:
    """Return a model's name as the name of a folder."""
    return _UNSAFE_IN_FOLDERS.sub("__", name)


class LmEvalFiles:
    """The files of one run."""

    def __init__(self, output: Path, model_name: str, time: datetime) -> None:
        """`model_name`: as the user named it; `time`: local, part of all names."""
        self._stamp = time.isoformat().replace(":", "-")
        is_file = output.suffix == ".json"
        self.folder = output.parent if is_file else output / sanitize_model_name(model_name)
        stem = output.stem if is_file else "results"
        self.results = self.folder / f"{stem}_{self._stamp}.json"
        self._hashes: dict[str, hashlib._Hash] = {}

    def write_samples(self, task: str, samples: Iterable[LoggedSample]) -> Path:
        """Write samples of a task; further ones are appended."""
        path = self.folder / f"samples_{task}_{self._stamp}.jsonl"
        # A task's name can contain a slash.
        path.parent.mkdir(parents=True, exist_ok=True)
        hashes = self._hashes.setdefault(task, hashlib.sha256())
        with path.open("a", encoding="utf-8", errors="surrogatepass") as file:
            for sample in samples:
                line = build_sample_line(sample)
                for name in ("doc_hash", "prompt_hash", "target_hash"):
                    hashes.update(line[name].encode())
                file.write(_encode(line) + "\n")
        return path

    def write_results(self, results: Mapping[str, Any]) -> Path:
        """Write the results file, with the hashes of the samples written before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        hashes = {task: one.hexdigest() for task, one in self._hashes.items()}
        content = {**results, "task_hashes": hashes}
        self.results.write_text(_encode(content, indent=2), encoding="utf-8", errors="surrogatepass")
        return self.results


def _encode(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, default=_to_plain, ensure_ascii=False)


def _to_plain(value: Any) -> Any:
    """Return a number of an array library as a number, a set as a list, and anything else as a text."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        return value.item()
    return list(value) if isinstance(value, set | frozenset) else str(value)


def _sort(several: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(several.items()))
