"""Run folders that a test writes by hand: any text in any place, complete or under way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.origin import Origin
from assay.core.request import Generate, Request, Sampling, make_request
from assay.core.response import Completion, Finish, Output, Response
from assay.core.run import RunManifest, RunStatus, Setting
from assay.core.sample import Sample
from assay.core.score import Metric, Score, Verdict
from assay.core.task import TaskSpec
from assay.results.records import build_sample_record
from assay.results.store import JOURNAL, SAMPLES, SCORES, RunFolder


def write_run(
    folder: Path,
    outputs: Sequence[str],
    *,
    ids: Sequence[str] = (),
    task: str = "quiz",
    model: str = "mock",
    status: RunStatus = RunStatus.COMPLETE,
    started: str = "2026-01-01T00:00:00+00:00",
    n_planned: int | None = None,
    question: str = "What is said?",
    is_right: bool = True,
) -> Path:
    """Write a run in which a model gave these outputs, one to each sample; return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    n = len(outputs) if n_planned is None else n_planned
    manifest = RunManifest(
        id=folder.name,
        tasks=(TaskSpec(task, "table", f"{task}.csv", "0", (Method.GEN,), n, n),),
        model=ModelIdentity("mock", model),
        settings={"model": Setting(model, "flag")},
        versions={"assay": "0"},
        started=started,
        status=status,
        finished=started if status is RunStatus.COMPLETE else None,
        seconds=1.5 if status is RunStatus.COMPLETE else None,
    )
    for name in (JOURNAL, SAMPLES, SCORES):
        (folder / name).write_bytes(b"")
    append_samples(folder, outputs, ids=ids, task=task, question=question, is_right=is_right)
    written = RunFolder(folder)
    if status is RunStatus.COMPLETE:
        written.write_summary([_metric(task, len(outputs), is_right=is_right)])
    written.write_manifest(manifest)
    return folder


def append_samples(
    folder: Path,
    outputs: Sequence[str],
    *,
    ids: Sequence[str] = (),
    first: int = 0,
    task: str = "quiz",
    question: str = "What is said?",
    is_right: bool = True,
) -> None:
    """Add further samples to a run, as the program does while it goes on."""
    encode = msgspec.json.encode
    names = ids or [f"s{first + nth}" for nth in range(len(outputs))]
    with (
        open(folder / JOURNAL, "ab") as journal,
        open(folder / SAMPLES, "ab") as samples,
        open(folder / SCORES, "ab") as scores,
    ):
        for nth, (name, output) in enumerate(zip(names, outputs, strict=True)):
            sample = Sample(
                name, {"question": question}, Origin(f"{task}.csv", first + nth + 1), targets=("yes",)
            )
            requests = _make_request(task, name, question)
            answer = Completion((Output(output, Finish.END, 3),), 7)
            journal.write(encode(Response(requests.id, requests.key, answer, seconds=0.25)) + b"\n")
            samples.write(encode(build_sample_record(task, sample, (requests,))) + b"\n")
            score = Score(
                task,
                name,
                Method.GEN,
                "accuracy",
                Verdict.SCORED,
                value=float(is_right),
                answer=output,
                target="yes",
                rule="the whole output",
                span=(0, min(len(output), 3)),
            )
            scores.write(encode(score) + b"\n")


def _make_request(task: str, name: str, question: str) -> Request:
    return make_request(task, name, "gen", "answer", 0, Generate(question, Sampling()))


def _metric(task: str, n: int, *, is_right: bool) -> Metric:
    return Metric(
        task,
        "gen",
        "accuracy",
        None,
        float(is_right),
        0.5 if is_right else 0.0,
        1.0 if is_right else 0.5,
        n,
        n,
        0,
        0,
        0,
        is_headline=True,
    )
