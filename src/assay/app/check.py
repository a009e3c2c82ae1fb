"""Everything that can be known about a dataset before a model is loaded."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from assay.app.datasets import compile_datasets
from assay.app.run import task_settings
from assay.app.settings import Settings
from assay.backends.registry import open_backend
from assay.core.ports import Backend
from assay.core.prompt import Prompt
from assay.core.request import Generate, Kind, Sampling
from assay.core.sample import Sample
from assay.dialects.table.compile import CompiledTable
from assay.dialects.table.task import TableTask
from assay.dialects.table.texts import TextTask
from assay.engine.plan import check_plan

_MAJORITY = 0.6
"""A share of one label above which a model that always says it would look good."""


class Finding(msgspec.Struct, frozen=True):
    """Something a person should know about a dataset."""

    is_warning: bool
    text: str


class Checked(msgspec.Struct, frozen=True):
    """A dataset that compiles, and what was found in it."""

    compiled: CompiledTable
    findings: tuple[Finding, ...]


def check(datasets: tuple[str, ...], settings: Settings, *, with_model: bool) -> list[Checked]:
    """Compile datasets and look at every row. Errors are raised; what is only odd is returned.

    With a model, its capabilities are checked and its tokenizer measures the longest rows.
    """
    values = settings.values
    backend = open_backend(values.model, values.model_args) if with_model else None
    try:
        compiled = compile_datasets(
            datasets,
            task_settings(values, backend.card if backend else None),
            said=values.table,
            meta=values.meta,
            data_root=values.data_root,
            split=values.split,
        )
        if backend is not None:
            check_plan([one.task for one in compiled], backend.card)
        return [Checked(one, tuple(_findings(one, backend))) for one in compiled]
    finally:
        if backend is not None:
            backend.close()


def _findings(one: CompiledTable, backend: Backend | None) -> Iterator[Finding]:
    survey = one.survey
    if survey.twins:
        rows = next(iter(survey.twins.values()))
        extra = sum(len(twins) - 1 for twins in survey.twins.values())
        yield Finding(True, f"{extra:,} rows repeat an earlier one, for example rows {rows[0]} and {rows[1]}")
    if survey.n_without_answer:
        yield Finding(
            True, f"{survey.n_without_answer:,} of {survey.n_rows:,} rows have no answer and cannot be scored"
        )
    yield from _balance(one)
    if len(survey.option_counts) > 1:
        counts = ", ".join(f"{n:,} rows with {k}" for k, n in sorted(survey.option_counts.items()))
        yield Finding(False, f"the number of options differs: {counts}")
    if survey.group_counts:
        small = min(survey.group_counts.items(), key=lambda item: item[1])
        yield Finding(
            False, f"{len(survey.group_counts):,} groups; the smallest is {small[0]!r} with {small[1]:,} rows"
        )
    if isinstance(one.task, TextTask):
        yield from _text_findings(one.task, backend)
    else:
        yield from _sample_findings(one, one.task, backend)
    length, row = survey.longest
    yield Finding(False, f"the longest row is row {row} with {length:,} characters")


def _balance(one: CompiledTable) -> Iterator[Finding]:
    counts = one.survey.label_counts
    total = sum(counts.values())
    if not total:
        return
    shares = sorted(((n / total, label) for label, n in counts.items()), reverse=True)
    # Answers given as texts are all different and have no balance to speak of.
    if len(shares) > 30:
        return
    listed = ", ".join(f"{label} {100 * share:.0f} %" for share, label in shares)
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
        yield Finding(True, f"{n_empty:,} texts are too short for such windows and would fail")
    yield Finding(False, f"{n_tokens:,} tokens, of which {n_scored:,} are scored")


def _sample_findings(one: CompiledTable, task: TableTask, backend: Backend | None) -> Iterator[Finding]:
    context = backend.card.context_length if backend else None
    n_leaks = n_padded = n_twin_options = n_empty = 0
    over_long: list[tuple[str, int]] = []
    for sample in task.samples():
        n_leaks += one.pool is not None and one.pool.leaks(sample)
        n_padded += any(choice != choice.strip() for choice in sample.choices)
        n_twin_options += len(set(sample.choices)) < len(sample.choices)
        n_empty += not one.survey.layout.question_of(sample.fields).strip()
        if backend is not None and context is not None:
            n_tokens = _n_tokens(task, sample, backend, context)
            if n_tokens > context:
                over_long.append((sample.id, n_tokens))
    if n_empty:
        yield Finding(True, f"{n_empty:,} rows have an empty question")
    if n_twin_options:
        yield Finding(True, f"{n_twin_options:,} rows have two options with the same text")
    if n_padded:
        yield Finding(
            True, f"{n_padded:,} rows have options with white space at an end, which changes tokens"
        )
    if n_leaks and task.spec.settings["shots_from"]:
        yield Finding(
            True, f"{n_leaks:,} questions also stand among the shots; they are kept out of their own prompt"
        )
    if over_long:
        worst = max(over_long, key=lambda item: item[1])
        yield Finding(
            True,
            f"{len(over_long):,} prompts are longer than the model's {context:,} tokens and would fail; "
            f"the longest is {worst[0]} with {worst[1]:,}",
        )


def _n_tokens(task: TableTask, sample: Sample, backend: Backend, context: int) -> int:
    prompt = task.opening(sample, task.spec.methods[0]).generation
    # A token has at least one byte, so a short text needs no tokenizer; a template adds some.
    if _n_bytes(prompt) + 512 < context:
        return 0
    room = 1 if Kind.GENERATE in task.kinds else 0
    return len(backend.tokens(Generate(prompt, Sampling()))) + room


def _n_bytes(prompt: Prompt) -> int:
    if isinstance(prompt, str):
        return len(prompt.encode())
    return sum(len(message.content.encode()) for message in prompt)
