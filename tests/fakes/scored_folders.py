"""Run folders of given scores, for tests of what is read from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.origin import Origin
from assay.core.request import Request
from assay.core.response import Outcome, Response
from assay.core.run import RunManifest, RunStatus
from assay.core.sample import Sample
from assay.core.score import Metric, Score, Verdict
from assay.core.task import TaskSpec
from assay.results.read import StoredRun
from assay.results.records import build_sample_record
from assay.results.store import RunFolder
from assay.scoring.aggregate import MeanAggregator


def spec(name: str, methods: Sequence[str] = ("gen",), **more: Any) -> TaskSpec:
    given: dict[str, Any] = {"data_hash": "d", "source": f"{name}.csv", "n_samples": 0, "n_rows": 0, **more}
    return TaskSpec(name=name, dialect="table", methods=tuple(map(Method, methods)), **given)


def sample(id_: str, row: int | None = None, **more: Any) -> Sample:
    fields = more.pop("fields", {"question": f"what is {id_}?"})
    return Sample(id=id_, fields=fields, origin=Origin("data.csv", row), **more)


def score(id_: str, value: float | None, task: str = "t", track: str = "gen", **more: Any) -> Score:
    """A score; without a value the sample was not answered, unless another verdict is named."""
    verdict = more.pop("verdict", Verdict.UNANSWERED if value is None else Verdict.SCORED)
    metric = more.pop("metric", "accuracy")
    return Score(
        task=task, sample_id=id_, track=Method(track), metric=metric, verdict=verdict, value=value, **more
    )


def manifest(model: str, tasks: Sequence[TaskSpec], **more: Any) -> RunManifest:
    given: dict[str, Any] = {"settings": {}, "versions": {}, "status": RunStatus.COMPLETE, **more}
    return RunManifest(
        id=f"run-{model}",
        tasks=tuple(tasks),
        model=ModelIdentity("mock", model),
        started="2026-01-01T00:00:00Z",
        **given,
    )


def written(
    folder: Path,
    head: RunManifest,
    scores: Sequence[Score],
    samples: Sequence[tuple[str, Sample, Sequence[tuple[Request, Outcome]]]] = (),
    metrics: Sequence[Metric] | None = None,
) -> StoredRun:
    """Write a complete run; its numbers are those of its scores unless they are given."""
    aggregator = MeanAggregator()
    for one in scores:
        aggregator.add(one)
    folder.mkdir(parents=True)
    store = RunFolder(folder)
    store.write_manifest(head)
    store.write_summary(aggregator.metrics() if metrics is None else metrics)
    records = [
        build_sample_record(task, one, [request for request, _ in asked]) for task, one, asked in samples
    ]
    responses = [
        Response(request.id, request.key, outcome) for _, _, asked in samples for request, outcome in asked
    ]
    for name, lines in (("scores", scores), ("samples", records), ("responses", responses)):
        content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        (folder / f"{name}.jsonl").write_bytes(content)
    return StoredRun(folder)
