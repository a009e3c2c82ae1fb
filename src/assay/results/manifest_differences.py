"""What sets two runs apart before any sample is looked at: model, data, settings, versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.model import ModelIdentity
from assay.core.run import RunManifest
from assay.core.score import Metric
from assay.core.task import TaskSpec
from assay.results.rows import value

_DECIDES_NOTHING = frozenset(
    {
        "out",
        "runs_dir",
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
"""Settings that change no answer."""
_SHOWN_CHARS = 200


class Fact(msgspec.Struct, frozen=True):
    """Something that two runs have otherwise."""

    what: str
    a: str
    b: str


def result_facts(a: Sequence[Metric], b: Sequence[Metric], names: Mapping[str, str]) -> Iterator[Fact]:
    """Yield the headline numbers that differ; `names` is what the second's tasks are called in the first."""
    others = {(names.get(one.task, one.task), one.method, one.metric, one.group): one for one in b}
    for one in a:
        other = others.get((one.task, one.method, one.metric, one.group))
        if other is None or one.group is not None or not one.is_headline:
            continue
        if (one.value, one.n_scored, one.n_unanswered) != (other.value, other.n_scored, other.n_unanswered):
            yield Fact(f"{one.task} {one.method} {one.metric}", *(_result(metric) for metric in (one, other)))


def _result(metric: Metric) -> str:
    lacking = {"unanswered": metric.n_unanswered, "failed": metric.n_failed}
    told = "".join(f", {n:,} {what}" for what, n in lacking.items() if n)
    return f"{value(metric)} of {metric.n:,}{told}"


def manifest_facts(a: RunManifest, b: RunManifest, names: Mapping[str, str]) -> Iterator[Fact]:
    """Yield what differs between two runs; `names` says what the second's tasks are called in the first."""
    yield from _model_facts("model", a.model, b.model)
    yield from _model_facts("judge", a.judge, b.judge)
    mine = {task.name: task for task in a.tasks}
    for task in b.tasks:
        if task.name in names:
            yield from _task_facts(mine[names[task.name]], task)
    for name in sorted({*a.settings, *b.settings} - _DECIDES_NOTHING):
        before, after = (one.settings.get(name) for one in (a, b))
        if (None if before is None else before.value) != (None if after is None else after.value):
            yield Fact(
                f"setting {name}",
                *(
                    "not set" if one is None else f"{_shown(one.value)} (from {one.source})"
                    for one in (before, after)
                ),
            )
    yield from _mappings("version of ", a.versions, b.versions)


def _model_facts(what: str, a: ModelIdentity | None, b: ModelIdentity | None) -> Iterator[Fact]:
    if a is None or b is None:
        if a is not b:
            yield Fact(what, *("none" if one is None else one.name for one in (a, b)))
        return
    for name in ("backend", "name", "weights", "dtype", "template"):
        if getattr(a, name) != getattr(b, name):
            yield Fact(f"{what} {name}", *(getattr(one, name) or "none" for one in (a, b)))
    yield from _mappings(f"{what} argument ", a.args, b.args)


def _task_facts(a: TaskSpec, b: TaskSpec) -> Iterator[Fact]:
    for name in ("name", "dialect", "data_hash", "methods", "n_samples", "n_rows", "chosen"):
        before, after = getattr(a, name), getattr(b, name)
        if before != after:
            yield Fact(f"{a.name}: {name}", _shown(before), _shown(after))
    if a.data_hash != b.data_hash and a.source != b.source:
        yield Fact(f"{a.name}: source", a.source, b.source)
    yield from _mappings(f"{a.name}: ", a.settings, b.settings)
    quirks = [{quirk.name: quirk.here for quirk in task.quirks} for task in (a, b)]
    yield from _mappings(f"{a.name}: quirk ", *quirks)


def _mappings(prefix: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield the entries that differ, those of mappings in them one by one."""
    for name in dict.fromkeys((*a, *b)):
        before, after = a.get(name), b.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _mappings(f"{prefix}{name}.", before, after)
        elif before != after:
            yield Fact(f"{prefix}{name}", _shown(before), _shown(after))


def _shown(value: Any) -> str:
    text = "none" if value is None else value if isinstance(value, str) and value else repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
