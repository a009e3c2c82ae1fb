"""Check datasets before a model is loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from assay.app.benchmarks import ResolvedDatasets, resolve_benchmarks
from assay.app.offline.watch import offline_watch
from assay.app.open_model import open_model
from assay.app.power import describe_detectable_differences
from assay.app.run import compile_with_settings
from assay.app.scorers import build_scorers
from assay.app.settings import Settings
from assay.core.compilation import CompiledDataset
from assay.core.errors import format_count
from assay.core.ports import Backend
from assay.core.request import METHOD_BY_KIND, Ask, Generate, Sampling
from assay.core.rounding import format_percent
from assay.core.sample import Sample
from assay.core.setting_names import naming_settings
from assay.core.task import Task
from assay.dialects.table.compile import CompiledTable
from assay.dialects.table.task import TableTask
from assay.dialects.table.texts import TextTask
from assay.engine.context_fitting import ContextFitter
from assay.engine.plan import check_plan, probe_model_card

_MAJORITY = 0.6
"""Share of one label above which a model that always answers with it would score well."""


class Finding(msgspec.Struct, frozen=True):
    """Something a person should know about a dataset."""

    is_warning: bool
    text: str


class CheckedDataset(msgspec.Struct, frozen=True):
    """A dataset that compiles, and the findings about it."""

    compiled: CompiledDataset
    findings: tuple[Finding, ...]


def check(datasets: tuple[str, ...], settings: Settings, *, with_model: bool) -> list[CheckedDataset]:
    """Compile datasets and check every row. Raise errors; return warnings and remarks.

    With a model, its capabilities are checked and its tokenizer measures the longest rows.
    """
    resolved = resolve_benchmarks(datasets, settings.values)
    with naming_settings(settings.names), offline_watch(resolved.values) as watch:
        watch.seal()
        return _check(resolved, with_model=with_model)


def _check(resolved: ResolvedDatasets, *, with_model: bool) -> list[CheckedDataset]:
    datasets, values, benchmarks = resolved
    backend = open_model(values) if with_model else None
    try:
        compiled = compile_with_settings(datasets, values, backend, benchmarks)
        for one in compiled:
            # Wrong metric names in a config raise here.
            build_scorers(one.task)
        if backend is not None:
            tasks = [one.task for one in compiled]
            check_plan(tasks, probe_model_card(backend, tasks))
        return [CheckedDataset(one, (*_findings(one, backend), *_describe_power(one))) for one in compiled]
    finally:
        if backend is not None:
            backend.close()


def _describe_power(one: CompiledDataset) -> Iterator[Finding]:
    for line in describe_detectable_differences([one], [one.task]):
        yield Finding(False, line)


def _findings(one: CompiledDataset, backend: Backend | None) -> Iterator[Finding]:
    if backend is not None:
        for kind, way in backend.card.ways.items():
            if kind in one.task.kinds:
                yield Finding(False, f"{METHOD_BY_KIND[kind]} is computed from {way}")
    if isinstance(one, CompiledTable):
        yield from _table_findings(one, backend)
    elif backend is not None:
        lengths = _PromptLengths(backend)
        for sample in one.task.samples():
            lengths.add(one.task, sample)
        yield from lengths.findings()


def _table_findings(one: CompiledTable, backend: Backend | None) -> Iterator[Finding]:
    survey = one.survey
    if survey.twins.first is not None:
        earlier, later = survey.twins.first
        example = f"for example rows {earlier + 1} and {later + 1}"
        yield Finding(True, f"{format_count(survey.twins.n_more, 'repeated row')}, {example}")
    if survey.n_without_answer:
        yield Finding(
            True, f"{survey.n_without_answer:,} of {survey.n_rows:,} rows have no answer and cannot be scored"
        )
    yield from _describe_label_balance(one)
    if len(survey.option_counts) > 1:
        counts = ", ".join(
            f"{format_count(n, 'row')} with {k}" for k, n in sorted(survey.option_counts.items())
        )
        yield Finding(False, f"the number of options differs: {counts}")
    if survey.group_counts:
        small = min(survey.group_counts.items(), key=lambda item: item[1])
        yield Finding(
            False,
            f"{format_count(len(survey.group_counts), 'group')}; the smallest is {small[0]!r} with "
            f"{format_count(small[1], 'row')}",
        )
    if isinstance(one.task, TextTask):
        yield from _text_findings(one.task, backend)
    else:
        yield from _sample_findings(one, one.task, backend)
    length, row = survey.longest
    yield Finding(False, f"the longest row is row {row} with {format_count(length, 'character')}")


def _describe_label_balance(one: CompiledTable) -> Iterator[Finding]:
    counts = one.survey.label_counts
    total = sum(counts.values())
    if not total:
        return
    shares = sorted(((n / total, label) for label, n in counts.items()), reverse=True)
    # Free-text answers are all different: their balance says nothing.
    if len(shares) > 30:
        return
    listed = ", ".join(f"{label} {format_percent(share, 0)} %" for share, label in shares)
    is_uneven = shares[0][0] > _MAJORITY and total >= 10
    yield Finding(is_uneven, f"right answers: {listed}")


def _text_findings(task: TextTask, backend: Backend | None) -> Iterator[Finding]:
    if backend is None:
        return
    n_tokens = n_scored = n_empty = 0
    for sample in task.samples():
        tokens = backend.tokens(task.requests(sample)[0].ask)
        scored = sum(token.is_scored for token in tokens)
        n_tokens, n_scored, n_empty = n_tokens + len(tokens), n_scored + scored, n_empty + (not scored)
    if n_empty:
        yield Finding(True, f"{n_empty:,} texts are too short for these windows and would fail")
    yield Finding(False, f"{n_tokens:,} tokens, of which {n_scored:,} are scored")


def _sample_findings(one: CompiledTable, task: TableTask, backend: Backend | None) -> Iterator[Finding]:
    lengths = None if backend is None else _PromptLengths(backend)
    n_leaks = n_padded = n_twin_options = n_empty = 0
    for sample in task.samples():
        n_leaks += one.pool is not None and one.pool.has_same_question(sample)
        n_padded += any(choice != choice.strip() for choice in sample.choices)
        n_twin_options += len(set(sample.choices)) < len(sample.choices)
        n_empty += not one.survey.layout.get_question(sample.fields).strip()
        if lengths is not None:
            lengths.add(task, sample)
    if n_empty:
        yield Finding(True, f"{format_count(n_empty, 'row')} with an empty question")
    if n_twin_options:
        yield Finding(True, f"{format_count(n_twin_options, 'row')} with two options of the same text")
    if n_padded:
        yield Finding(
            True,
            f"{format_count(n_padded, 'row')} with leading or trailing white space in an option, which "
            "changes tokens",
        )
    if n_leaks and task.spec.settings["shots_from"]:
        yield Finding(
            True, f"{n_leaks:,} questions are also among the shots; each is left out of its own prompt"
        )
    if lengths is not None:
        yield from lengths.findings()


class _PromptLengths:
    """Counts the prompts that must be shortened for the model or do not fit at all."""

    def __init__(self, backend: Backend) -> None:
        self._context_length = backend.card.context_length
        self._fitting = ContextFitter(backend)
        self._n_shortened: Counter[str] = Counter()
        self._too_long: dict[str, int] = {}

    def add(self, task: Task, sample: Sample) -> None:
        """Add one sample."""
        if self._context_length is None:
            return
        requests = self._fitting.requests(task, sample)
        self._n_shortened.update(dict.fromkeys((r.track for r in requests if r.n_shots_left_out), 1))
        # A prompt that still has examples was made to fit. Without examples, one answer token must fit.
        excess = max((self._fitting.excess(_shrink_ask(r.ask)) for r in requests if not r.n_shots), default=0)
        if excess:
            self._too_long[sample.id] = self._context_length + excess

    def findings(self) -> Iterator[Finding]:
        """Yield the findings over all samples."""
        for track, n in self._n_shortened.items():
            yield Finding(
                True,
                f"{n:,} samples by {track} would get fewer examples than requested: the model's context "
                f"is {self._context_length:,} tokens, answer included",
            )
        if self._too_long:
            longest = max(self._too_long, key=lambda sample_id: self._too_long[sample_id])
            yield Finding(
                True,
                f"{len(self._too_long):,} prompts are longer than the model's context of "
                f"{self._context_length:,} tokens and would fail; the longest is {longest} with "
                f"{self._too_long[longest]:,}",
            )


def _shrink_ask(ask: Ask) -> Ask:
    """Return a request with the minimum that makes it answerable."""
    return msgspec.structs.replace(ask, sampling=Sampling(max_tokens=1)) if isinstance(ask, Generate) else ask
