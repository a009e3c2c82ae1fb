"""Where the original's code, its document and Assay differ. docs/dialects/llmbox.md shows this table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from assay.core.task import Quirk
from assay.dialects.llmbox.authoring import Dataset
from assay.dialects.llmbox.prepared import Prepared


class _Difference(NamedTuple):
    name: str
    touches: Callable[[Prepared, Sequence[str], bool], bool]
    """(what was prepared, methods, whether there are shots)"""
    original: str
    corrected: str
    is_reproduced: bool = True
    """Whether `--fidelity faithful` does as the original."""


def _always(*_: object) -> bool:
    return True


def _by(method: str) -> Callable[[Prepared, Sequence[str], bool], bool]:
    return lambda one, methods, _: method in methods and one.dataset.evaluation_type == "ranking"


def _with_shots(_: Prepared, __: Sequence[str], has_shots: bool) -> bool:
    return has_shots


def _has_contexts(one: Prepared, *_: object) -> bool:
    return any(row.has_contexts for row in one.instances)


def _generates(_: Prepared, methods: Sequence[str], __: bool) -> bool:
    return "gen" in methods


def _is_chat(one: Prepared, *_: object) -> bool:
    return one.dataset.model_type == "chat"


def _draws(one: Prepared, *_: object) -> bool:
    return one.author.draws


def _is_told_the_instruction(one: Prepared, *_: object) -> bool:
    return one.dataset.args.instruction is not None


def _is_grouped(one: Prepared, *_: object) -> bool:
    return one.dataset.category_column is not None


def _builds_examples(one: Prepared, _: Sequence[str], has_shots: bool) -> bool:
    return has_shots and type(one.dataset).construct_examples is not Dataset.construct_examples


def _asks_for(way: str) -> Callable[[Prepared, Sequence[str], bool], bool]:
    return lambda one, *_: bool(getattr(one.dataset.args, way))


_DIFFERENCES = (
    _Difference(
        "context_instruction",
        _has_contexts,
        "the document puts the instruction around each of several contexts, the code leaves it out",
        "it is put around each, as documented",
    ),
    _Difference(
        "turn_keys",
        _always,
        "the document says num_turns 0 for a single turn and turn_idx -1 in examples; the code says 1 and 0",
        "as documented",
    ),
    _Difference(
        "real_num_shots",
        _with_shots,
        "real_num_shots is None in examples and in the first row",
        "it is the number of examples everywhere",
        is_reproduced=False,
    ),
    _Difference(
        "undefined_field",
        _always,
        "a field that a Jinja instruction names and the row lacks prints as nothing",
        "it is an error before the model is loaded; `if field` may ask for it",
    ),
    _Difference(
        "shots_draw",
        _with_shots,
        "examples are drawn by numpy's global generator with seed 2023; a row may see itself",
        "the draw depends on seed and task; a row never sees itself",
    ),
    _Difference(
        "example_tokens",
        _with_shots,
        "examples beyond 1,024 tokens are left out; a prompt too long for the model is cut from the left",
        "whole examples are left out only where the model's context requires it",
    ),
    _Difference(
        "kate",
        _asks_for("kate"),
        "the nearest example stands first; a row of the pool may be the row itself; another encoder",
        "the nearest stands next to the question; never the row itself",
    ),
    _Difference(
        "globale",
        _asks_for("globale"),
        "it crashes; probes would be 50 rows drawn from the pool, shown examples and all",
        "probes are rows that are neither shown nor evaluated, or are written by the model",
        is_reproduced=False,
    ),
    _Difference(
        "ape",
        _asks_for("ape"),
        "it crashes; another model would propose, and the instruction with the worst likelihood would win",
        "the model itself proposes; the instruction with the best score on rows set aside wins",
        is_reproduced=False,
    ),
    _Difference(
        "examples_as_text",
        _builds_examples,
        "examples that construct_examples returns as a text are dropped in silence",
        "the text stands before the question",
        is_reproduced=False,
    ),
    _Difference(
        "last_letter",
        _by("gen"),
        "the last capital letter that stands alone is the answer",
        "the answer is extracted by rules that are tried in order; without any it is unanswered",
    ),
    _Difference(
        "label_spellings",
        _by("prob"),
        "`A` with a space before it and without are two candidates; the likeliest of all decides",
        "the probabilities of a letter's two spellings add up",
    ),
    _Difference(
        "option_room",
        _by("gen"),
        "an answer to a choice may have 1,024 tokens",
        "256 tokens, unless the class or a flag says otherwise",
    ),
    _Difference(
        "default_sampling",
        _generates,
        "without a temperature, text is generated as the model's own configuration says, often sampled",
        "without a temperature, the likeliest token is taken",
        is_reproduced=False,
    ),
    _Difference(
        "chat_template",
        _is_chat,
        "a chat is written by one of eight templates chosen by the model's name, else as plain text",
        "by the model's own template",
        is_reproduced=False,
    ),
    _Difference(
        "row_draws",
        _draws,
        "what a class draws at random depends on all that was drawn before",
        "on the seed and the row alone",
        is_reproduced=False,
    ),
    _Difference(
        "instruction_flag",
        _is_told_the_instruction,
        "an instruction that the class sets while it loads wins over the command line's",
        "the command line's wins",
        is_reproduced=False,
    ),
    _Difference(
        "group_values",
        _is_grouped,
        "a category's value is the mean over its rows, also of a metric over whole lists such as BLEU",
        "such a metric is computed over the category's rows",
        is_reproduced=False,
    ),
    _Difference(
        "prefix_token",
        _by("ppl"),
        "no beginning-of-text token; with an empty source the first token is scored against padding",
        "one beginning-of-text token where the tokenizer has one",
        is_reproduced=False,
    ),
)


QUIRKS = tuple(difference.name for difference in _DIFFERENCES)
"""The names of all."""


def quirks_of(
    one: Prepared, methods: Sequence[str], *, is_faithful: bool, has_shots: bool
) -> tuple[Quirk, ...]:
    """Return the differences that can touch a task, and what was done about each."""
    return tuple(
        Quirk(
            difference.name,
            difference.original,
            "as the original" if is_faithful and difference.is_reproduced else difference.corrected,
        )
        for difference in _DIFFERENCES
        if difference.touches(one, methods, has_shots)
    )
