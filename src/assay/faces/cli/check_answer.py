"""The JSON answer of `assay check --json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from assay.app.benchmarks import resolve_benchmarks
from assay.app.check import CheckedDataset, check
from assay.app.check_files import (
    FileCheckResult,
    NamedDatasets,
    check_files,
    collect_file_findings,
    get_error_state,
)
from assay.app.dataset_state import DatasetState
from assay.app.settings import Settings
from assay.core.errors import AssayError
from assay.core.prompt import strip_media_data
from assay.faces.cli.answers import CheckAnswer, CheckedAnswer, FindingAnswer, PromptAnswer, TaskAnswer


def check_one(
    datasets: tuple[str, ...], settings: Settings, *, with_model: bool, n_prompts: int
) -> CheckAnswer:
    """Check every row of a dataset and return all findings."""
    (name,) = datasets
    try:
        checked = check(datasets, settings, with_model=with_model)
    except AssayError as error:
        failed = CheckedAnswer(name, get_error_state(error), (), 0, error.problems, error.total)
        return CheckAnswer((failed,), (), (), (), 0)
    tasks = tuple(_task(one, n_prompts) for one in checked)
    methods = tuple(dict.fromkeys(method for task in tasks for method in task.methods))
    found = CheckedAnswer(name, DatasetState.OK, methods, sum(task.n_rows for task in tasks), (), 0)
    named = NamedDatasets(resolve_benchmarks(datasets, settings.values).names, ())
    return _answer([found], tasks, named, settings)


def check_several(
    named: NamedDatasets, benchmarks: Mapping[str, str], settings: Settings, *, with_model: bool
) -> CheckAnswer:
    """Check the beginning of each dataset and return the findings."""
    found = [
        _build_file_answer(one, benchmarks.get(one.name, one.name))
        for one in check_files(named.datasets, settings, with_model=with_model)
    ]
    return _answer(found, (), named, settings)


def _answer(
    datasets: Sequence[CheckedAnswer], tasks: Sequence[TaskAnswer], named: NamedDatasets, settings: Settings
) -> CheckAnswer:
    about_files = [
        FindingAnswer(about.finding.is_warning, about.place + about.finding.text)
        for about in collect_file_findings(named.datasets, settings.values)
    ]
    findings = [*about_files, *(finding for task in tasks for finding in task.findings)]
    n_warnings = sum(finding.is_warning for finding in findings)
    return CheckAnswer(tuple(datasets), tuple(tasks), tuple(about_files), named.skipped, n_warnings)


def _build_file_answer(one: FileCheckResult, name: str) -> CheckedAnswer:
    problems = () if one.problem is None else (one.problem,)
    return CheckedAnswer(name, one.state, one.methods, one.n_rows, problems, one.n_problems)


def _task(one: CheckedDataset, n_prompts: int) -> TaskAnswer:
    task = one.compiled.task
    spec = task.spec
    prompts = [
        PromptAnswer(sample.id, method, strip_media_data(task.preview_prompt(sample, method)))
        for sample in islice(task.samples(), n_prompts)
        for method in spec.methods
    ]
    return TaskAnswer(
        spec.name,
        spec.dialect,
        one.compiled.kind,
        spec.methods,
        spec.n_rows,
        spec.n_samples,
        dict(one.compiled.facts),
        one.compiled.notes,
        tuple(FindingAnswer(finding.is_warning, finding.text) for finding in one.findings),
        tuple(prompts),
    )
