"""Where the original and Assay differ. The page docs/dialects/table.md shows this table with its reasons."""

from __future__ import annotations

from typing import NamedTuple

from assay.core.task import Quirk
from assay.dialects.table.meta import DataType


class _Difference(NamedTuple):
    name: str
    touches: frozenset[str]
    """Methods it can change; with the kind of data behind a slash where only one is meant."""
    original: str
    corrected: str
    is_reproduced: bool
    """Whether `--fidelity faithful` does as the original."""
    needs_shots: bool = False
    """Whether it touches only prompts with examples."""


_DIFFERENCES = (
    _Difference(
        "abstain",
        frozenset({"gen/mcq"}),
        "an output without an answer is given the option with the smallest edit distance, mostly A",
        "it is unanswered, counted as not right and shown as such",
        True,
    ),
    _Difference(
        "whole_text_ppl",
        frozenset({"ppl/mcq"}),
        "options are compared by the mean negative log-likelihood of prompt and option together",
        "options are compared by the log-likelihood of the option given the prompt",
        True,
    ),
    _Difference(
        "exact_qa",
        frozenset({"gen/qa"}),
        "an answer is right when the whole output equals it to the letter",
        "the answer is extracted; numbers are compared by value, text after normalisation",
        True,
    ),
    _Difference(
        "trailing_space",
        frozenset({"gen/mcq", "gen/qa"}),
        "a text prompt ends in the space before the answer, which most tokenizers put into the answer",
        "the space is left to the model",
        True,
    ),
    _Difference(
        "unknown_field",
        frozenset({"gen/mcq", "gen/qa", "ppl/mcq", "prob/mcq"}),
        "a field that no column has stays in the prompt as it is written",
        "it is an error before the model is loaded",
        True,
    ),
    _Difference(
        "empty_option",
        frozenset({"gen/mcq", "ppl/mcq", "prob/mcq"}),
        "an empty cell at a row's end is an option with no text",
        "the row has fewer options",
        True,
    ),
    _Difference(
        "first_record",
        frozenset({"gen/mcq", "gen/qa", "ppl/mcq", "prob/mcq"}),
        "columns, options and kind are taken from the first record",
        "they are found from all records",
        False,
    ),
    _Difference(
        "nearest_shot_first",
        frozenset({"gen/mcq", "gen/qa", "ppl/mcq", "prob/mcq"}),
        "of a prompt that is too long, the examples nearest to the question are left out first",
        "those furthest from the question are left out first",
        True,
        needs_shots=True,
    ),
    _Difference(
        "uneven_shots",
        frozenset({"gen/mcq", "gen/qa", "ppl/mcq"}),
        "options of one question can be left with different numbers of examples; an answer needs no room",
        "all options are shown the same examples; room for the answer counts as needed",
        False,
        needs_shots=True,
    ),
)


def quirks_of(
    methods: tuple[str, ...], data_type: DataType, *, is_faithful: bool, has_shots: bool
) -> tuple[Quirk, ...]:
    """Return the differences that can touch a task."""
    touched = {f"{method}/{data_type}" for method in methods}
    return tuple(
        Quirk(
            difference.name,
            difference.original,
            difference.original if is_faithful and difference.is_reproduced else difference.corrected,
        )
        for difference in _DIFFERENCES
        if difference.touches & touched and (has_shots or not difference.needs_shots)
    )
