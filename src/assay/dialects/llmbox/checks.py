"""Checks of an author's class and rows before any request is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assay.core.errors import AuthorError, PlanError, Problems
from assay.core.method import Method
from assay.dialects.llmbox.authoring import Dataset
from assay.dialects.llmbox.calling import DatasetAuthor
from assay.dialects.llmbox.formatted_dataset import FormattedDataset
from assay.dialects.llmbox.samples import is_index

METHODS = {"get_ppl": Method.PPL, "get_prob": Method.PROB, "generation": Method.GEN}
"""The original's evaluation methods, mapped to Assay's names."""


def build_method_error(author: DatasetAuthor, what: str, method: Method) -> PlanError:
    """Return the error for a method that a dataset does not support, with one that it does."""
    return PlanError(author.problem("LLMBOX-009", what, f"use --method {method}"))


def require_rows(author: DatasetAuthor, rows: Any, name: str) -> list[dict[str, Any]]:
    """Return an author's rows as a list of dicts; raise if they are not."""
    listed = list(rows)
    for number, row in enumerate(listed):
        if not isinstance(row, dict):
            raise AuthorError(
                author.problem(
                    "LLMBOX-003",
                    f"{name} contains {type(row).__name__}, expected a dict for each row",
                    f"set self.{name} to a list of dicts in load_raw_dataset",
                    rows=(number + 1,),
                )
            )
    return listed


def check_pool(author: DatasetAuthor, dataset: Dataset, notes: list[str]) -> None:
    """Reject shots if there are no examples."""
    if not dataset.max_num_shots or type(dataset).construct_examples is not Dataset.construct_examples:
        return
    n = len(dataset.example_data)
    if not n:
        raise AuthorError(
            author.problem(
                "LLMBOX-007",
                f"{dataset.max_num_shots} shots were requested, but there are no examples",
                "set example_set, or self.example_data in load_raw_dataset; or use --shots 0",
            )
        )
    if n < dataset.max_num_shots:
        notes.append(f"{dataset.max_num_shots} shots were requested, but there are only {n} examples")


def check_method(prepared: FormattedDataset, method: Method) -> None:
    """Reject a method that the class or its rows do not support."""
    author, dataset = prepared.author, prepared.dataset
    if METHODS[dataset.model_evaluation_method] != method:
        own = METHODS[dataset.model_evaluation_method]
        what = f"method {method!r} was requested, but the class itself switches to {own!r}"
        raise build_method_error(author, what, own)
    contexts = next((at for at, row in enumerate(prepared.instances) if row.has_contexts), None)
    if contexts is not None and method != Method.PPL:
        number = prepared.numbers[contexts] + 1
        raise build_method_error(
            author, f"row {number} has several contexts, which only method 'ppl' can compare", Method.PPL
        )
    if dataset.evaluation_type == "ranking" and contexts is None:
        for at, row in enumerate(prepared.instances):
            if not row.options:
                raise AuthorError(
                    author.problem(
                        "LLMBOX-004",
                        "format_instance returned no options",
                        "return options=[...] and target_idx, or several sources and source_idx",
                        rows=(prepared.numbers[at] + 1,),
                    )
                )
    if method == Method.PPL and dataset.use_normalization and not hasattr(dataset, "normalization_prompt"):
        raise AuthorError(
            author.problem(
                "LLMBOX-011",
                "use_normalization is set, but there is no normalization_prompt",
                'set normalization_prompt = "Question: \\nAnswer:", the prompt without the question',
            )
        )


def check_references(prepared: FormattedDataset, references: Sequence[Any]) -> None:
    """Reject references that no prediction can equal: the answer to a choice is an option's index."""
    _check_judge_references(prepared, references)
    if prepared.dataset.evaluation_type != "ranking" or any(
        not is_plain_accuracy(m) for m in prepared.dataset.metrics
    ):
        return
    problems = Problems()
    for number, reference in enumerate(references):
        n_options = prepared.dataset.option_nums[number]
        if reference is None or (is_index(reference) and 0 <= int(reference) < n_options):
            continue
        fix = f"return an index from 0 to {n_options - 1}"
        if not is_index(reference):
            fix = 'return indexes, for a letter: ord(letter) - ord("A")'
        what = f"references returns {reference!r:.60}, expected the index of one of the {n_options} options"
        rows = (prepared.numbers[number] + 1,)
        problems.add(prepared.author.problem("LLMBOX-006", what, fix, rows=rows))
    problems.raise_if_any()


def _check_judge_references(prepared: FormattedDataset, references: Sequence[Any]) -> None:
    """Reject references that a judge could not use, before the model answers."""
    problems = Problems()
    for metric in prepared.dataset.metrics:
        why_unusable: Callable[[Any], str | None] = getattr(metric, "why_unusable", lambda _: None)
        for number, reference in enumerate(references):
            if (why := why_unusable(reference)) is not None:
                what = f"references returns {reference!r:.60}, but {type(metric).__name__} needs rows: {why}"
                fix = "return the rows: `return self.evaluation_data` in the property references"
                rows = (prepared.numbers[number] + 1,)
                problems.add(prepared.author.problem("LLMBOX-006", what, fix, rows=rows))
    problems.raise_if_any()


def is_plain_accuracy(metric: Any) -> bool:
    """Return whether a metric compares indexes of options."""
    return type(metric).__name__ == "Accuracy"
