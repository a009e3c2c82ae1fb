"""Reading a run folder for the index: its facts, its metrics and the values of all samples.

Knows run folders, not databases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.core.errors import Problem, StoreError
from assay.core.ids import digest
from assay.core.origin import Origin
from assay.core.run import RunManifest, RunStatus
from assay.core.run_index import (
    Digests,
    IndexedRun,
    IndexedTask,
    MetricValues,
    Numbers,
    RunIndexEntry,
    TaskSamples,
)
from assay.core.score import Metric
from assay.core.task import ComponentSpec, TaskSpec
from assay.results.charges import compute_total_usd
from assay.results.damaged_files import DECODE_ERRORS
from assay.results.read import StoredRun
from assay.results.score_columns import RunColumns, ScoreColumns
from assay.results.store import MANIFEST, SUMMARY

_LONGEST = 80
"""Maximum characters of a stored setting; a longer one is stored as a hash."""
_ROUNDED = 1e-4
"""Tolerance for metrics that are rounded to four decimals, as in LEAP."""


_FORM = "3"
"""Version of the index content; changing it makes every run be read again."""


def read_stamp(folder: Path) -> str:
    """Return a text that changes whenever the manifest or the summary is written."""
    parts = [_FORM]
    for name in (MANIFEST, SUMMARY):
        try:
            status = (folder / name).stat()
        except FileNotFoundError:
            parts.append("-")
        else:
            parts.append(f"{status.st_mtime_ns}:{status.st_size}")
    return " ".join(parts)


def read_run(folder: Path, *, host: str, root: str) -> RunIndexEntry:
    """Read a run folder; of an incomplete run, only the facts."""
    # Read the stamp first, so that a write in the meantime makes the entry outdated.
    stamp = read_stamp(folder)
    stored = StoredRun(folder)
    run = _build_indexed_run(stored.manifest, host=host, root=root, name=folder.name, stamp=stamp)
    if run.status is not RunStatus.COMPLETE:
        return RunIndexEntry(run)
    try:
        metrics = stored.metrics()
        columns = RunColumns(folder).by_method
    except (OSError, StoreError, *DECODE_ERRORS) as error:
        why: object = error
        if isinstance(error, OSError | StoreError):
            why = error.strerror if isinstance(error, OSError) else error.problems[0].what
        raise StoreError(
            Problem(
                "BOARD-001",
                f"the run cannot be read and is not on the leaderboard: {why}",
                "repeat the `assay run` command to write its files again, or remove the folder",
                Origin(str(folder)),
            )
        ) from error
    samples = _samples(columns)
    return RunIndexEntry(run, tuple(metrics), samples, _values(columns, metrics, samples))


def _build_indexed_run(manifest: RunManifest, *, host: str, root: str, name: str, stamp: str) -> IndexedRun:
    return IndexedRun(
        host=host,
        root=root,
        name=name,
        stamp=stamp,
        id=manifest.id,
        fingerprint=manifest.fingerprint,
        status=manifest.status,
        started=manifest.started,
        finished=manifest.finished,
        model=manifest.model,
        judge=manifest.judge,
        tasks=tuple(_task(spec, manifest.scorers.get(spec.name, ())) for spec in manifest.tasks),
        groups=manifest.groups,
        usd=compute_total_usd(manifest),
        label=manifest.label,
        prompt=manifest.prompt,
    )


def _task(spec: TaskSpec, scorers: Sequence[ComponentSpec]) -> IndexedTask:
    settings = dict(spec.settings)
    shots = settings.pop("shots", None)
    return IndexedTask(
        spec.name,
        spec.data_hash,
        spec.n_samples,
        spec.n_rows,
        family=spec.family,
        categories=spec.categories,
        about=str(settings.pop("explain", "")),
        headline=settings.pop("headline", None),
        shots={method: _get_shots(shots, method) for method in spec.methods},
        settings={name: _encode_setting(value) for name, value in settings.items()},
        scorers={one.args["track"]: _encode_setting(one) for one in scorers if "track" in one.args},
    )


def _get_shots(shots: Any, method: str) -> str:
    """Return a method's number of solved examples; a dataset format may have one for each method."""
    own = shots.get(method) if isinstance(shots, Mapping) else shots
    return "0" if own is None else str(own)


def _encode_setting(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"#{digest(value)}"


def _samples(columns: Mapping[tuple[str, str], ScoreColumns]) -> dict[str, TaskSamples]:
    """Return the samples of each task, over all its methods."""
    found: dict[str, list[ScoreColumns]] = {}
    for (task, _), of_method in columns.items():
        found.setdefault(task, []).append(of_method)
    samples = {}
    for task, parts in found.items():
        ids, first = np.unique(np.concatenate([one.keys.digests() for one in parts]), return_index=True)
        clusters = np.concatenate([np.array(one.clusters, dtype=np.int64) for one in parts])[first]
        is_alone = clusters < 0
        # A sample without a cluster is its own cluster.
        named = None if is_alone.all() else np.where(is_alone, ids, clusters.astype(np.uint64))
        samples[task] = TaskSamples(ids, named)
    return samples


def _values(
    columns: Mapping[tuple[str, str], ScoreColumns],
    metrics: list[Metric],
    samples: Mapping[str, TaskSamples],
) -> dict[tuple[str, str, str], MetricValues]:
    """Return the sample values of metrics that are means or ratios of sums over samples.

    A metric over the whole list, such as macro F1, may have sample values too, but is not their mean. A test
    on them would test something else, so they are omitted.
    """
    whole = {(one.task, one.method, one.metric): one.value for one in metrics if one.group is None}
    found = {}
    for (task, method), one in columns.items():
        order = np.searchsorted(samples[task].ids, one.keys.digests())

        def align(numbers: Any, order: Any = order, ids: Digests = samples[task].ids) -> Numbers:
            aligned = np.full(len(ids), np.nan)
            aligned[order] = np.array(numbers, dtype=np.float64)
            return aligned

        for name, values in one.means.items():
            found[task, method, name] = MetricValues(align(values))
        for name, ratio in one.ratios.items():
            found[task, method, name] = MetricValues(
                align(ratio.numerators), align(ratio.denominators), ratio.is_exponential
            )
    return {key: values for key, values in found.items() if _is_sample_aggregate(values, whole.get(key))}


def _is_sample_aggregate(metric: MetricValues, value: float | None) -> bool:
    """Whether a metric's value is the aggregate of its sample values."""
    has_value = ~np.isnan(metric.values)
    if value is None or not has_value.any():
        return False
    total = float(metric.values[has_value].sum())
    if metric.weights is None:
        aggregate = total / int(has_value.sum())
    else:
        by = float(metric.weights[has_value].sum())
        if by <= 0:
            return False
        aggregate = total / by
        if metric.is_exponential:
            aggregate = math.exp(min(aggregate, 700.0))
    return math.isclose(aggregate, value, rel_tol=_ROUNDED, abs_tol=_ROUNDED)
