"""Differences between the original's code and Assay; docs/formats/leap.md lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.core.difference import AppliedDifference, Difference, apply_differences, select_differences
from assay.dialects.leap.author_requests import GREEDY_UNTIL, LOGLIKELIHOOD


class TaskTraits(NamedTuple):
    """The properties of a task that decide which differences affect it."""

    types: frozenset[str]
    """The types of its requests."""
    has_shots: bool = False
    is_classic: bool = False
    """Whether its requests are lm-eval's."""
    has_window: bool = False
    """Whether the model's tokens are known, which the original's window needs."""
    is_chat_model: bool = False
    options_absent: bool = False
    files_absent: bool = False
    found_by_paths: bool = False
    request_type_differs: bool = False


def _has_loglikelihood(traits: TaskTraits) -> bool:
    return LOGLIKELIHOOD in traits.types


def _has_generation(traits: TaskTraits) -> bool:
    return GREEDY_UNTIL in traits.types


DIFFERENCES: Mapping[str, Difference[TaskTraits]] = {
    "row_order": Difference(
        "documents are shuffled with seed 42, and a limit takes the first ones",
        "documents keep their order, and a limit draws by the seed",
    ),
    "shots_draw": Difference(
        "one generator draws the examples of all documents in turn",
        "a draw depends only on seed, task and document",
        lambda traits: traits.has_shots,
    ),
    "own_example": Difference(
        "a training document that equals the evaluated one can be its example; without a training split, "
        "one more example is drawn, and the last is dropped if none is equal",
        "a document is never its own example, and the requested number of examples is shown",
        lambda traits: traits.has_shots,
    ),
    "likelihood_window": Difference(
        "the last tokens are summed: as many as the continuation has when tokenized alone, minus one if all "
        "continuations of the task begin alike",
        "the tokens after the prompt/answer boundary are summed",
        lambda traits: _has_loglikelihood(traits) and not traits.is_classic and traits.has_window,
    ),
    "context_blanks": Difference(
        "spaces at the end of a context stay there",
        "they are part of the continuation, where tokenizers put them",
        lambda traits: _has_loglikelihood(traits) or _has_generation(traits),
    ),
    "greedy_flag": Difference(
        "every index of a loglikelihood returns the number",
        "index 1 returns whether the model would generate the continuation",
        lambda traits: _has_loglikelihood(traits) and not traits.is_classic,
    ),
    "sampled_text": Difference(
        "text is sampled at temperature 1, has at most 16 tokens, and all requests use the stop strings of "
        "the first document",
        "text is greedy, has at most 256 tokens, and each request uses its own stop strings",
        lambda traits: _has_generation(traits) and not traits.is_classic,
    ),
    "chat_template": Difference(
        "a chat model receives plain text",
        "it receives turns in its own chat template",
        lambda traits: traits.is_chat_model,
    ),
    "rounding": Difference(
        "values are rounded to 4 decimals",
        "values are not rounded",
    ),
    "request_type": Difference(
        "request_type() sets the type of all requests of a task",
        "each request has its own type",
        lambda traits: traits.request_type_differs,
        is_reproduced=False,
    ),
    "download_options": Difference(
        "a class with DATA_FILES and without DOWNLOAD_OPTIONS does not load",
        "it loads without options",
        lambda traits: traits.options_absent,
        is_reproduced=False,
    ),
    "absent_files": Difference(
        "all files in DATA_FILES must exist, even unused ones",
        "existing files are loaded; a missing file is an error only if it is used",
        lambda traits: traits.files_absent,
        is_reproduced=False,
    ),
    "config_by_path": Difference(
        "a config of a folder without metadata is not found",
        "its files are found by their paths",
        lambda traits: traits.found_by_paths,
        is_reproduced=False,
    ),
    "long_prompts": Difference(
        "a prompt that is too long makes the whole task fail",
        "whole examples are omitted, those furthest from the question first",
        lambda traits: traits.has_shots,
        is_reproduced=False,
    ),
    "numbers_by_name": Difference(
        "a function of aggregation() that returns a dict, such as bert_score, makes the run fail",
        "each of its numbers is a metric: name.key",
        _has_generation,
        is_reproduced=False,
    ),
    "empty_rouge": Difference(
        "rouge raises an error on an empty prediction",
        "an empty prediction scores 0",
        _has_generation,
        is_reproduced=False,
    ),
}


def find_differences(traits: TaskTraits, *, is_faithful: bool) -> tuple[AppliedDifference, ...]:
    """Return the differences that affect a task, and what this run did about each."""
    return apply_differences(select_differences(DIFFERENCES, traits), is_faithful=is_faithful)
