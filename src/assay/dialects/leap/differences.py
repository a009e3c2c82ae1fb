"""Differences between the original's code and Assay; docs/formats/leap.md lists them."""

from __future__ import annotations

from typing import NamedTuple

from assay.core.task import OriginalDifference
from assay.dialects.leap.author_requests import GREEDY_UNTIL, LOGLIKELIHOOD
from assay.dialects.shared.differences import Difference, select_differences, touches_every_task


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


_DIFFERENCES: tuple[Difference[TaskTraits], ...] = (
    Difference(
        "row_order",
        touches_every_task,
        "documents are shuffled with seed 42, and a limit takes the first of them",
        "documents keep their order, and a limit draws by the seed",
    ),
    Difference(
        "shots_draw",
        lambda traits: traits.has_shots,
        "one generator draws the examples of all documents, one after the other",
        "a draw depends on seed, task and document alone",
    ),
    Difference(
        "own_example",
        lambda traits: traits.has_shots,
        "a training document that equals the scored one may be its example; without a training split one "
        "more is drawn, and the last is dropped where none equals it",
        "a document never stands among its own examples, and as many as were asked for are shown",
    ),
    Difference(
        "likelihood_window",
        lambda traits: _has_loglikelihood(traits) and not traits.is_classic and traits.has_window,
        "the last tokens are summed up, as many as the continuation has by itself, less one where all of the "
        "task's continuations begin alike",
        "the tokens behind the join are summed up",
    ),
    Difference(
        "context_blanks",
        lambda traits: _has_loglikelihood(traits) or _has_generation(traits),
        "blanks at the end of a context stay there",
        "they belong to the continuation, where tokenizers put them",
    ),
    Difference(
        "greedy_flag",
        lambda traits: _has_loglikelihood(traits) and not traits.is_classic,
        "every part of a loglikelihood gives the number",
        "index 1 gives whether the continuation is what the model would write",
    ),
    Difference(
        "sampled_text",
        lambda traits: _has_generation(traits) and not traits.is_classic,
        "text is sampled at temperature 1, has 16 tokens at most and ends where the first document's does",
        "the likeliest token is taken, up to 256 tokens, and each request has its own ends",
    ),
    Difference(
        "chat_template",
        lambda traits: traits.is_chat_model,
        "a model that chats is given plain text",
        "it is given turns by its own template",
    ),
    Difference(
        "rounding", touches_every_task, "values are rounded to 4 decimals", "values are kept as they are"
    ),
    Difference(
        "request_type",
        lambda traits: traits.request_type_differs,
        "request_type() says how all requests of a task are asked",
        "each request is asked as what it is",
        is_reproduced=False,
    ),
    Difference(
        "download_options",
        lambda traits: traits.options_absent,
        "a class with DATA_FILES and without DOWNLOAD_OPTIONS does not load",
        "there are no options then",
        is_reproduced=False,
    ),
    Difference(
        "absent_files",
        lambda traits: traits.files_absent,
        "all files of DATA_FILES must be there, also those that nobody reads",
        "those that are there are loaded; one that is read and absent is an error",
        is_reproduced=False,
    ),
    Difference(
        "config_by_path",
        lambda traits: traits.found_by_paths,
        "a config of a folder without metadata is not found",
        "its files are found by their paths",
        is_reproduced=False,
    ),
    Difference(
        "long_prompts",
        lambda traits: traits.has_shots,
        "a prompt that is too long makes the whole task an error",
        "whole examples are left out, those furthest from the question first",
        is_reproduced=False,
    ),
    Difference(
        "numbers_by_name",
        _has_generation,
        "a function of aggregation() that returns a dict, such as bert_score, makes the run an error",
        "each of its numbers is a metric: name.key",
        is_reproduced=False,
    ),
    Difference(
        "empty_rouge",
        _has_generation,
        "rouge raises on an empty prediction",
        "nothing of the reference is found in it",
        is_reproduced=False,
    ),
)


DIFFERENCE_NAMES = tuple(difference.name for difference in _DIFFERENCES)
"""The names of all differences."""
REPRODUCED = frozenset(difference.name for difference in _DIFFERENCES if difference.is_reproduced)
"""The names of those that `--fidelity faithful` reproduces."""


def find_differences(traits: TaskTraits, *, is_faithful: bool) -> tuple[OriginalDifference, ...]:
    """Return the differences that affect a task, and what this run did about each."""
    return select_differences(_DIFFERENCES, traits, is_faithful=is_faithful)
