"""Stored runs in the form of lm-evaluation-harness (lm-eval): what the run folder knows, in its result files.

Works for datasets of any format. lm-eval has no methods: of a task with several, each is a task of its own.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.method import Method
from assay.core.prompt import Prompt
from assay.core.request import Kind, Sampling
from assay.core.response import Completion, LabelProbs, Likelihood
from assay.core.run import RunManifest
from assay.core.score import MACRO, Metric, Ratio, Score
from assay.core.task import TaskSpec
from assay.results.exchange.assay_fields import KEY, build_run_fields, build_sample_fields
from assay.results.exchange.lm_eval_files import (
    NO_STDERR,
    UNVERSIONED_GROUP,
    UNVERSIONED_TASK,
    LmEvalFiles,
    LoggedGroup,
    LoggedSample,
    LoggedTask,
    build_results,
)
from assay.results.exchange.stored_samples import iter_stored_samples
from assay.results.read import StoredRun
from assay.results.records import AskRecord, SampleRecord
from assay.results.response_index import ResponseIndex

NO_FILTER = "none"
UNCONDITIONAL = "unconditional"
"""The role of a request for an option without its question; lm-eval sends these last."""
_WHOLE_TARGETS = ("continuation", "text")
"""The roles of requests for the likelihood of the right answer itself."""


class Track(NamedTuple):
    """One method of one task."""

    spec: TaskSpec
    method: str

    @property
    def name(self) -> str:
        """Return its name as a task of lm-eval."""
        return self.spec.name if len(self.spec.methods) == 1 else f"{self.spec.name}_{self.method}"


def write_lm_eval_files(run: StoredRun, output: Path) -> Path:
    """Write the files of a complete run; return the results file."""
    manifest = run.manifest
    started = datetime.fromisoformat(manifest.started)
    files = LmEvalFiles(output, manifest.model.name, started.astimezone().replace(tzinfo=None))
    tracks = list_tracks(manifest)
    for track in tracks:
        files.write_samples(track.name, read_samples(run, track))
    metrics = run.metrics()
    tasks = [build_task(track, metrics) for track in tracks]
    facts = {**build_facts(manifest), KEY: build_run_fields(run)}
    return files.write_results(build_results(tasks, build_groups(manifest, metrics), facts))


def list_tracks(manifest: RunManifest) -> list[Track]:
    """Return the methods of all tasks."""
    return [Track(spec, method) for spec in manifest.tasks for method in spec.methods]


def build_task(track: Track, metrics: Sequence[Metric]) -> LoggedTask:
    """Return the results of a track. `metrics`: all of the run."""
    spec = track.spec
    own = [
        one
        for one in metrics
        if (one.task, one.method, one.group) == (spec.name, track.method, None) and one.value is not None
    ]
    version = spec.settings.get("version")
    shots = spec.settings.get("shots")
    return LoggedTask(
        track.name,
        str(spec.settings.get("alias") or track.name),
        version or UNVERSIONED_TASK,
        {
            "task": track.name,
            "dataset_path": spec.settings.get("data", spec.source),
            **({"output_type": kind} if (kind := spec.settings.get("output_type")) else {}),
            "num_fewshot": shots if isinstance(shots, int) else 0,
            "metadata": {"dialect": spec.dialect, "settings": spec.settings},
        },
        shots if isinstance(shots, int) else 0,
        spec.n_rows,
        max((one.n_counted for one in own), default=0),
        {name_value(one.metric): one.value for one in own},
        {name_value(one.metric): NO_STDERR if one.stderr is None else one.stderr for one in own},
        {one.metric.partition(",")[0]: one.higher_is_better for one in own},
    )


def build_groups(manifest: RunManifest, metrics: Sequence[Metric]) -> list[LoggedGroup]:
    """Return the results of the groups of a run."""
    names = {spec.name for spec in manifest.tasks}
    members: dict[str, list[str]] = {name: list(tasks) for name, tasks in manifest.groups.items()}
    for group in manifest.summary_groups:
        members.setdefault(group.name, [subset.name for subset in group.subsets])
    groups = []
    for name, tasks in members.items():
        own = [one for one in metrics if one.task == name and one.group is None and one.value is not None]
        if name in names:
            continue
        groups.append(
            LoggedGroup(
                name,
                name,
                UNVERSIONED_GROUP,
                list(dict.fromkeys(tasks)),
                max((one.n_counted for one in own), default=0),
                {name_value(one.metric): one.value for one in own},
                {name_value(one.metric): NO_STDERR if one.stderr is None else one.stderr for one in own},
                {name_value(one.metric): one.n_counted for one in own},
                is_aggregated=bool(own),
            )
        )
    return groups


def name_value(metric: str) -> str:
    """Return the name of a metric's value: `acc,none` for `acc`; a filter that it names remains."""
    metric = metric.removesuffix(MACRO)
    return metric if "," in metric else f"{metric},{NO_FILTER}"


def build_facts(manifest: RunManifest) -> dict[str, Any]:
    """Return the further keys of the results file: the model, the settings, versions and times."""
    settings = {name: one.value for name, one in manifest.settings.items()}
    model = manifest.model
    seconds = manifest.seconds
    return {
        "config": {
            "model": model.backend,
            "model_args": {"pretrained": model.name, **model.args},
            "model_dtype": model.dtype,
            "model_revision": model.revision,
            "model_sha": model.commit or "",
            "batch_size": None,
            "batch_sizes": [],
            "device": None,
            "use_cache": None,
            "limit": settings.get("limit"),
            "bootstrap_iters": None,
            "gen_kwargs": {},
            **dict.fromkeys(
                ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed"), settings.get("seed")
            ),
        },
        "git_hash": None,
        "date": datetime.fromisoformat(manifest.started).timestamp(),
        "transformers_version": manifest.versions.get("transformers", "N/A"),
        "lm_eval_version": None,
        "assay_version": manifest.versions.get("assay"),
        "max_length": manifest.card.context_length if manifest.card is not None else None,
        "model_source": model.backend,
        "model_name": model.name,
        "total_evaluation_time_seconds": None if seconds is None else str(seconds),
    }


def read_samples(run: StoredRun, track: Track) -> Iterator[LoggedSample]:
    """Yield the samples of a track: one for each filter of its metrics."""
    numbers = count()
    with run.response_index() as responses:
        for stored in iter_stored_samples(run):
            if stored.record.task == track.spec.name:
                score = next((one.score for one in stored.results if one.method == track.method), None)
                more = {KEY: build_sample_fields(stored, Method(track.method))}
                for logged in _build_samples(track, next(numbers), stored.record, score, responses):
                    yield logged._replace(more=more)


def _build_samples(
    track: Track, number: int, record: SampleRecord, score: Score | None, responses: ResponseIndex
) -> Iterator[LoggedSample]:
    asks = [ask for ask in record.asks if ask.track == track.method]
    exchanges = read_exchanges(record, asks, responses)
    sample = record.sample
    row = sample.origin.row
    filtered = [exchange.replies[0] if exchange.replies else None for exchange in exchanges]
    if score is not None and score.answer is not None and asks and asks[0].kind is Kind.GENERATE:
        filtered = [score.answer]
    for name, values in _split_by_filter(score).items():
        yield LoggedSample(
            number if row is None else row - 1,
            sample.fields,
            _find_target(record, score),
            [exchange.arguments for exchange in exchanges],
            [exchange.replies for exchange in exchanges],
            filtered,
            name,
            values,
        )


def _split_by_filter(score: Score | None) -> dict[str, dict[str, Any]]:
    """Return the values of a score by filter; a failed sample has none."""
    by_filter: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    values: dict[str, Any] = {}
    if score is not None and score.value is not None:
        values = {score.metric: score.value, **score.also}
        values |= {name: _describe_ratio(ratio) for name, ratio in score.ratios.items()}
    for metric, value in values.items():
        name, _, chosen = name_value(metric).partition(",")
        by_filter[chosen][name] = value
    return dict(by_filter) or {NO_FILTER: {}}


def _describe_ratio(ratio: Ratio) -> Any:
    """Return a sample's part of a perplexity: its log-likelihood, with its number of units if not 1."""
    total = -ratio.numerator if ratio.is_exponential else ratio.numerator
    return total if ratio.denominator == 1 else [total, ratio.denominator]


def _find_target(record: SampleRecord, score: Score | None) -> Any:
    sample = record.sample
    several: Sequence[Any] = sample.gold if sample.choices else sample.targets
    if several:
        return several[0] if len(several) == 1 else list(several)
    scored = next((ask for ask in record.asks if ask.role in _WHOLE_TARGETS), None)
    if scored is not None:
        return scored.text
    return None if score is None else score.target


class Exchange(NamedTuple):
    """A request and its replies, as lm-eval logs them."""

    arguments: tuple[Any, ...]
    replies: list[Any]


def read_exchanges(
    record: SampleRecord, asks: Sequence[AskRecord], responses: ResponseIndex
) -> list[Exchange]:
    """Return the requests of a sample; a failed one has no replies.

    Repeats are replies to one request, and each label is a request of its own.
    """
    exchanges: list[Exchange] = []
    for ask in sorted(asks, key=lambda one: one.role == UNCONDITIONAL):
        response = responses.get(ask.id)
        outcome = None if response is None else response.outcome
        context = format_prompt(record.contexts[ask.context])
        if ask.kind is Kind.GENERATE:
            texts = [output.text for output in outcome.outputs] if isinstance(outcome, Completion) else []
            if ask.index and exchanges:
                exchanges[-1].replies.extend(texts)
            else:
                exchanges.append(Exchange((context, describe_sampling(ask.sampling or Sampling())), texts))
        elif ask.kind is Kind.LABELS:
            logs = _read_label_logs(outcome) if isinstance(outcome, LabelProbs) else []
            for number, spellings in enumerate(ask.labels):
                replies = [(logs[number], logs[number] == max(logs))] if logs else []
                exchanges.append(Exchange((context, spellings[0]), replies))
        elif ask.windows is not None:
            sums = [outcome.sum_logprob] if isinstance(outcome, Likelihood) else []
            exchanges.append(Exchange((ask.text,), sums))
        else:
            pairs = (
                [(outcome.sum_logprob, bool(outcome.is_greedy))] if isinstance(outcome, Likelihood) else []
            )
            exchanges.append(Exchange((context, ask.text), pairs))
    return exchanges


def _read_label_logs(outcome: LabelProbs) -> list[float]:
    return [math.log(prob) if prob > 0 else -math.inf for prob in outcome.probs]


def format_prompt(prompt: Prompt) -> Any:
    """Return a prompt as lm-eval logs it: a text, or a list with a conversation as JSON."""
    if isinstance(prompt, str):
        return prompt
    return [json.dumps([{"role": one.role, "content": one.text} for one in prompt], ensure_ascii=False)]


def describe_sampling(sampling: Sampling) -> dict[str, Any]:
    """Return sampling parameters under lm-eval's names."""
    described: dict[str, Any] = {
        "until": list(sampling.stop),
        "max_gen_toks": sampling.max_tokens,
        "do_sample": sampling.temperature > 0,
        "temperature": sampling.temperature,
    }
    return described | ({"top_p": sampling.top_p} if sampling.top_p < 1 else {})
