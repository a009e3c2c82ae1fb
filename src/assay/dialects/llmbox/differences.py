"""Differences between the original's code, its documentation and Assay; docs/formats/llmbox.md lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from assay.core.task import OriginalDifference, TaskSettings
from assay.dialects.llmbox.authoring import Dataset
from assay.dialects.llmbox.formatted_dataset import FormattedDataset
from assay.dialects.shared.differences import Difference, select_differences, touches_every_task


class ClassTraits(NamedTuple):
    """The properties of a task that decide which differences affect it."""

    prepared: FormattedDataset
    methods: Sequence[str]
    has_shots: bool
    is_chat: bool
    has_stops: bool
    """Whether the user gave stop strings."""

    @property
    def dataset(self) -> Dataset:
        """Return the author's object."""
        return self.prepared.dataset


def _has_method(method: str) -> Callable[[ClassTraits], bool]:
    return lambda traits: method in traits.methods and traits.dataset.evaluation_type == "ranking"


def _has_shots(traits: ClassTraits) -> bool:
    return traits.has_shots


def _has_contexts(traits: ClassTraits) -> bool:
    return any(row.has_contexts for row in traits.prepared.instances)


def _generates(traits: ClassTraits) -> bool:
    return "gen" in traits.methods


def _has_stops(traits: ClassTraits) -> bool:
    return "gen" in traits.methods and bool(traits.dataset.extra_model_args.get("stop") or traits.has_stops)


def _is_chat(traits: ClassTraits) -> bool:
    return traits.is_chat


def _has_random_draws(traits: ClassTraits) -> bool:
    return traits.prepared.author.draws


def _has_instruction_argument(traits: ClassTraits) -> bool:
    return traits.dataset.args.instruction is not None


def _is_grouped(traits: ClassTraits) -> bool:
    return traits.dataset.category_column is not None


def _builds_examples(traits: ClassTraits) -> bool:
    return traits.has_shots and type(traits.dataset).construct_examples is not Dataset.construct_examples


def _has_argument(way: str) -> Callable[[ClassTraits], bool]:
    return lambda traits: bool(getattr(traits.dataset.args, way))


_DIFFERENCES: tuple[Difference[ClassTraits], ...] = (
    Difference(
        "context_instruction",
        _has_contexts,
        "the document puts the instruction around each of several contexts, the code leaves it out",
        "it is put around each, as documented",
    ),
    Difference(
        "turn_keys",
        touches_every_task,
        "the document says num_turns 0 for a single turn and turn_idx -1 in examples; the code says 1 and 0",
        "as documented",
    ),
    Difference(
        "real_num_shots",
        _has_shots,
        "real_num_shots is None in examples and in the first row",
        "it is the number of examples everywhere",
        is_reproduced=False,
    ),
    Difference(
        "undefined_field",
        touches_every_task,
        "a field that a Jinja instruction names and the row lacks prints as nothing",
        "it is an error before the model is loaded; `if field` may ask for it",
    ),
    Difference(
        "shots_draw",
        _has_shots,
        "one numpy generator draws the examples of all subsets in turn; a row may see itself",
        "the draw depends on seed and task; a row never sees itself",
    ),
    Difference(
        "example_tokens",
        _has_shots,
        "examples beyond 1,024 tokens are left out; a prompt too long for the model is cut from the left",
        "whole examples are left out only where the model's context requires it",
    ),
    Difference(
        "kate",
        _has_argument("kate"),
        "the nearest example stands first; a row of the pool may be the row itself; another encoder",
        "the nearest stands next to the question; never the row itself",
    ),
    Difference(
        "globale",
        _has_argument("globale"),
        "it crashes; probes would be 50 rows drawn from the pool, shown examples and all",
        "probes are rows that are neither shown nor evaluated, or are written by the model",
        is_reproduced=False,
    ),
    Difference(
        "ape",
        _has_argument("ape"),
        "it crashes; another model would propose, and the instruction with the worst likelihood would win",
        "the model itself proposes; the instruction with the best score on held-out rows wins",
        is_reproduced=False,
    ),
    Difference(
        "examples_as_text",
        _builds_examples,
        "examples that construct_examples returns as a text are dropped in silence",
        "the text stands before the question",
        is_reproduced=False,
    ),
    Difference(
        "last_letter",
        _has_method("gen"),
        "the last capital letter that stands alone is the answer",
        "the answer is extracted by rules that are tried in order; without any it is unanswered",
    ),
    Difference(
        "label_spellings",
        _has_method("prob"),
        "`A` with a space before it and without are two candidates; the likeliest of all decides",
        "the probabilities of a letter's two spellings add up",
    ),
    Difference(
        "option_room",
        _has_method("gen"),
        "an answer to a choice may have 1,024 tokens",
        "256 tokens, unless the class or a flag says otherwise",
    ),
    Difference(
        "default_sampling",
        _generates,
        "without a temperature, text is generated as the model's own configuration says, often sampled",
        "without a temperature, the likeliest token is taken",
        is_reproduced=False,
    ),
    Difference(
        "stop_tokens",
        _has_stops,
        "a stop string is tokenized behind the text `text ` and compared with the answer's tokens, so with "
        "many tokenizers a line break never ends an answer; one text counts as its single characters",
        "an answer ends where the text of a stop string begins",
    ),
    Difference(
        "chat_template",
        _is_chat,
        "a chat is written by one of eight templates chosen by the model's name, else as plain text",
        "by the model's own template",
        is_reproduced=False,
    ),
    Difference(
        "row_draws",
        _has_random_draws,
        "what a class draws at random depends on all that was drawn before",
        "on the seed and the row alone",
        is_reproduced=False,
    ),
    Difference(
        "instruction_flag",
        _has_instruction_argument,
        "an instruction that the class sets while it loads wins over the command line's",
        "the command line's wins",
        is_reproduced=False,
    ),
    Difference(
        "group_values",
        _is_grouped,
        "a category's value is the mean over its rows, also of a metric over whole lists such as BLEU",
        "such a metric is computed over the category's rows",
        is_reproduced=False,
    ),
    Difference(
        "prefix_token",
        _has_method("ppl"),
        "no beginning-of-text token; with an empty source the first token is scored against padding",
        "one beginning-of-text token where the tokenizer has one",
        is_reproduced=False,
    ),
)


DIFFERENCE_NAMES = tuple(difference.name for difference in _DIFFERENCES)
"""The names of all differences."""


def find_differences(
    prepared: FormattedDataset, methods: Sequence[str], settings: TaskSettings
) -> tuple[OriginalDifference, ...]:
    """Return the differences that affect a task, and what this run did about each."""
    traits = ClassTraits(prepared, methods, bool(settings.shots), settings.is_chat, bool(settings.stop))
    return select_differences(_DIFFERENCES, traits, is_faithful=settings.is_faithful)
