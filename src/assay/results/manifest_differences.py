"""Differences between two runs in model, data, settings and versions, from their manifests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.difference import AS_ORIGINAL
from assay.core.model import ModelIdentity
from assay.core.run import RunManifest
from assay.core.score import Metric
from assay.core.task import TaskSpec
from assay.results.rows import format_metric_value, is_perplexity

_NEUTRAL_SETTINGS = frozenset(
    {
        "out",
        "runs_dir",
        "label",
        "prompt_label",
        "cache",
        "fresh",
        "retry_failed",
        "keep_going",
        "concurrency",
        "workers",
        "on",
        "worker_timeout",
        "allow_failures",
    }
)
"""Settings that do not change any answer."""
_SHOWN_CHARS = 200


class FactDifference(msgspec.Struct, frozen=True):
    """A fact that differs between two runs."""

    what: str
    a: str
    b: str


def find_result_differences(
    a: Sequence[Metric], b: Sequence[Metric], names: Mapping[str, str]
) -> Iterator[FactDifference]:
    """Yield headline metrics that differ; `names` maps the second run's task names to the first run's."""
    others = {(names.get(one.task, one.task), one.method, one.metric, one.group): one for one in b}
    for one in a:
        other = others.get((one.task, one.method, one.metric, one.group))
        if other is None or one.group is not None or not one.is_headline:
            continue
        if (one.value, one.n_scored, one.n_unanswered) != (other.value, other.n_scored, other.n_unanswered):
            yield FactDifference(
                f"{one.task} {one.method} {one.metric}", *(_result(metric) for metric in (one, other))
            )


def _result(metric: Metric) -> str:
    counts = {"unanswered": metric.n_unanswered, "failed": metric.n_failed}
    suffix = "".join(f", {n:,} {what}" for what, n in counts.items() if n)
    unit = " %" if metric.is_share and metric.value is not None and not is_perplexity(metric) else ""
    return f"{format_metric_value(metric)}{unit} (n = {metric.n:,}{suffix})"


def find_manifest_differences(
    a: RunManifest, b: RunManifest, names: Mapping[str, str]
) -> Iterator[FactDifference]:
    """Yield facts that differ; `names` maps the second run's task names to the first run's."""
    yield from find_model_differences("model", a.model, b.model)
    yield from find_model_differences("judge", a.judge, b.judge)
    mine = {task.name: task for task in a.tasks}
    programs = ["Assay" if one.imported is None else one.imported.format for one in (a, b)]
    if programs[0] != programs[1]:
        # Their settings have no common names.
        yield FactDifference("program", *programs)
        for task in b.tasks:
            if task.name in names:
                yield from _find_data_differences(mine[names[task.name]], task)
        return
    for task in b.tasks:
        if task.name in names:
            yield from _find_task_differences(mine[names[task.name]], task)
    for name in sorted({*a.settings, *b.settings} - _NEUTRAL_SETTINGS):
        before, after = (one.settings.get(name) for one in (a, b))
        if (None if before is None else before.value) != (None if after is None else after.value):
            yield FactDifference(
                f"setting {name}",
                *(
                    "not set" if one is None else f"{_format_value(one.value)} (from {one.source})"
                    for one in (before, after)
                ),
            )
    yield from find_mapping_differences("version of ", a.versions, b.versions)


def find_model_differences(
    what: str, a: ModelIdentity | None, b: ModelIdentity | None
) -> Iterator[FactDifference]:
    """Yield what differs between two models, of which one can be missing."""
    if a is None or b is None:
        if a is not b:
            yield FactDifference(what, *("none" if one is None else one.name for one in (a, b)))
        return
    for name in ("backend", "name", "weights", "dtype", "template"):
        if getattr(a, name) != getattr(b, name):
            yield FactDifference(f"{what} {name}", *(getattr(one, name) or "none" for one in (a, b)))
    yield from find_mapping_differences(f"{what} argument ", a.args, b.args)


def _find_task_differences(a: TaskSpec, b: TaskSpec) -> Iterator[FactDifference]:
    for name in ("name", "dialect", "data_hash", "methods", "n_samples", "n_rows", "chosen"):
        before, after = getattr(a, name), getattr(b, name)
        if before != after:
            yield FactDifference(f"{a.name}: {name}", _format_value(before), _format_value(after))
    if a.data_hash != b.data_hash and a.source != b.source:
        yield FactDifference(f"{a.name}: source", a.source, b.source)
    yield from find_mapping_differences(f"{a.name}: ", a.settings, b.settings)
    known = [
        {one.name: AS_ORIGINAL if one.is_reproduced else "corrected" for one in task.differences}
        for task in (a, b)
    ]
    yield from find_mapping_differences(f"{a.name}: difference ", *known)


def _find_data_differences(a: TaskSpec, b: TaskSpec) -> Iterator[FactDifference]:
    """Yield differences of a task between programs: how much data, and how many examples."""
    facts = {"name": (a.name, b.name), "n_samples": (a.n_samples, b.n_samples)}
    facts["shots"] = (a.settings.get("shots"), b.settings.get("shots"))
    for name, (before, after) in facts.items():
        if before != after:
            yield FactDifference(f"{a.name}: {name}", _format_value(before), _format_value(after))


def find_mapping_differences(
    prefix: str, a: Mapping[str, Any], b: Mapping[str, Any]
) -> Iterator[FactDifference]:
    """Yield entries that differ; nested mappings are compared entry by entry."""
    for name in dict.fromkeys((*a, *b)):
        before, after = a.get(name), b.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            # What the user wrote about a table is one group of its settings; its names are known without it.
            inner = prefix if name == "said" else f"{prefix}{name}."
            yield from find_mapping_differences(inner, before, after)
        elif before != after:
            yield FactDifference(f"{prefix}{name}", _format_value(before), _format_value(after))


def _format_value(value: Any) -> str:
    if isinstance(value, list | tuple) and value and all(isinstance(one, str) for one in value):
        value = ", ".join(value)
    text = "none" if value is None else value if isinstance(value, str) and value else repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
