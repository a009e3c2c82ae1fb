"""What an author's class and rows must be before a model is asked anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assay.core.errors import AuthorError, PlanError, Problems
from assay.dialects.llmbox.authoring import Dataset
from assay.dialects.llmbox.calling import DatasetAuthor
from assay.dialects.llmbox.formatted_dataset import FormattedDataset
from assay.dialects.llmbox.samples import is_index

METHODS = {"get_ppl": "ppl", "get_prob": "prob", "generation": "gen"}
"""The original's evaluation methods by our names."""


def build_method_error(author: DatasetAuthor, what: str, method: str) -> PlanError:
    """Return the error for a method that does not go with a dataset, and the one that does."""
    return PlanError(author.problem("LLMBOX-009", what, f"use --method {method}"))


def require_rows(author: DatasetAuthor, rows: Any, name: str) -> list[dict[str, Any]]:
    """Return an author's rows as a list of dicts, which they must be."""
    listed = list(rows)
    for number, row in enumerate(listed):
        if not isinstance(row, dict):
            raise AuthorError(
                author.problem(
                    "LLMBOX-003",
                    f"{name} holds {type(row).__name__}, expected a dict for each row",
                    f"set self.{name} to a list of dicts in load_raw_dataset",
                    rows=(number + 1,),
                )
            )
    return listed


def check_pool(author: DatasetAuthor, dataset: Dataset, notes: list[str]) -> None:
    """Refuse shots where there are no examples."""
    if not dataset.max_num_shots or type(dataset).construct_examples is not Dataset.construct_examples:
        return
    n = len(dataset.example_data)
    if not n:
        raise AuthorError(
            author.problem(
                "LLMBOX-007",
                f"{dataset.max_num_shots} shots were asked for, but there are no examples",
                "set example_set, or self.example_data in load_raw_dataset; or ask for --shots 0",
            )
        )
    if n < dataset.max_num_shots:
        notes.append(f"{dataset.max_num_shots} shots were asked for; there are {n} examples")


def check_method(one: FormattedDataset, method: str) -> None:
    """Refuse a method that the class or its rows do not go with."""
    author, dataset = one.author, one.dataset
    if METHODS[dataset.model_evaluation_method] != method:
        does = METHODS[dataset.model_evaluation_method]
        what = f"method {method!r} was asked for, but the class itself changes to {does!r}"
        raise build_method_error(author, what, does)
    contexts = next((at for at, row in enumerate(one.instances) if row.has_contexts), None)
    if contexts is not None and method != "ppl":
        number = one.numbers[contexts] + 1
        raise build_method_error(
            author, f"row {number} has several contexts, which only method 'ppl' compares", "ppl"
        )
    if dataset.evaluation_type == "ranking" and contexts is None:
        for at, row in enumerate(one.instances):
            if not row.options:
                raise AuthorError(
                    author.problem(
                        "LLMBOX-004",
                        "format_instance returned no options",
                        "return options=[...] and target_idx, or several sources and source_idx",
                        rows=(one.numbers[at] + 1,),
                    )
                )
    if method == "ppl" and dataset.use_normalization and not hasattr(dataset, "normalization_prompt"):
        raise AuthorError(
            author.problem(
                "LLMBOX-011",
                "use_normalization is set, but there is no normalization_prompt",
                'set normalization_prompt = "Question: \\nAnswer:", the prompt without the question',
            )
        )


def check_references(one: FormattedDataset, references: Sequence[Any]) -> None:
    """Find references that no prediction could equal: the answer to a choice is an option's index."""
    _check_judge_references(one, references)
    if one.dataset.evaluation_type != "ranking" or any(not is_plain_accuracy(m) for m in one.dataset.metrics):
        return
    problems = Problems()
    for number, reference in enumerate(references):
        n_options = one.dataset.option_nums[number]
        if reference is None or (is_index(reference) and 0 <= int(reference) < n_options):
            continue
        fix = f"return an index from 0 to {n_options - 1}"
        if not is_index(reference):
            fix = 'return indexes, for a letter: ord(letter) - ord("A")'
        what = f"references gives {reference!r:.60}, expected the index of one of the {n_options} options"
        rows = (one.numbers[number] + 1,)
        problems.add(one.author.problem("LLMBOX-006", what, fix, rows=rows))
    problems.raise_if_any()


def _check_judge_references(one: FormattedDataset, references: Sequence[Any]) -> None:
    """Find references beside which a judge could not be asked; it is asked when the model has answered."""
    problems = Problems()
    for metric in one.dataset.metrics:
        why_unusable: Callable[[Any], str | None] = getattr(metric, "why_unusable", lambda _: None)
        for number, reference in enumerate(references):
            if (why := why_unusable(reference)) is not None:
                what = (
                    f"references gives {reference!r:.60} to {type(metric).__name__}, which needs rows: {why}"
                )
                fix = "return the rows: `return self.evaluation_data` in the property references"
                rows = (one.numbers[number] + 1,)
                problems.add(one.author.problem("LLMBOX-006", what, fix, rows=rows))
    problems.raise_if_any()


def is_plain_accuracy(metric: Any) -> bool:
    """Whether a metric compares indexes of options."""
    return type(metric).__name__ == "Accuracy"
