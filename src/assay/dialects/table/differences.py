"""The differences between the original and Assay. docs/formats/table.md lists them with the reasons."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from assay.core.task import OriginalDifference
from assay.dialects.shared.differences import Difference, select_differences
from assay.dialects.shared.request_selection import SharedLengths, UniformLengths
from assay.dialects.table.meta import DataType, TableMeta


class TableTraits(NamedTuple):
    """The traits of a task that determine which differences can affect it."""

    asks: frozenset[str]
    """The methods, each followed by a slash and the data type."""
    has_shots: bool
    draws: bool
    """Whether rows or answer lengths are drawn at random."""
    has_shares: bool
    """Whether percentages of the rows get given lengths."""
    keeps_end: bool
    """Whether prompts keep a trailing space even by default."""
    has_bare_text: bool
    """Whether a chat template has texts outside its turns."""


def _build_method_check(*asks: str, needs_shots: bool = False) -> Callable[[TableTraits], bool]:
    """Return a check for tasks with one of these methods (with `needs_shots`: and with examples)."""
    return lambda traits: not traits.asks.isdisjoint(asks) and (traits.has_shots or not needs_shots)


_DIFFERENCES: tuple[Difference[TableTraits], ...] = (
    Difference(
        "abstain",
        _build_method_check("gen/mcq"),
        "an output without an answer is given the option with the smallest edit distance, mostly A",
        "it is unanswered, counted as not right and shown as such",
    ),
    Difference(
        "whole_text_ppl",
        _build_method_check("ppl/mcq"),
        "options are compared by the mean negative log-likelihood of prompt and option together",
        "options are compared by the log-likelihood of the option given the prompt",
    ),
    Difference(
        "exact_qa",
        _build_method_check("gen/qa"),
        "an answer is right when the whole output equals it to the letter",
        "the reply must state the answer; numbers are compared by value, texts as whole phrases",
    ),
    Difference(
        "trailing_space",
        lambda traits: _build_method_check("gen/mcq", "gen/qa")(traits) and not traits.keeps_end,
        "a text prompt ends in the space before the answer, which most tokenizers put into the answer",
        "the space is left to the model",
    ),
    Difference(
        "unknown_field",
        _build_method_check("gen/mcq", "gen/qa", "ppl/mcq", "prob/mcq"),
        "a field that no column has stays in the prompt as it is written",
        "it is an error before the model is loaded",
    ),
    Difference(
        "empty_option",
        _build_method_check("gen/mcq", "ppl/mcq", "prob/mcq"),
        "an empty cell at a row's end is an option with no text",
        "the row has fewer options",
    ),
    Difference(
        "first_record",
        _build_method_check("gen/mcq", "gen/qa", "ppl/mcq", "prob/mcq"),
        "columns, options and kind are taken from the first record",
        "they are found from all records",
        is_reproduced=False,
    ),
    Difference(
        "nearest_shot_first",
        _build_method_check("gen/mcq", "gen/qa", "ppl/mcq", "prob/mcq", needs_shots=True),
        "of a prompt that is too long, the examples nearest to the question are left out first",
        "those furthest from the question are left out first",
    ),
    Difference(
        "uneven_shots",
        _build_method_check("gen/mcq", "gen/qa", "ppl/mcq", needs_shots=True),
        "options of one question can be left with different numbers of examples; an answer needs no room",
        "all options are shown the same examples; room for the answer counts as needed",
        is_reproduced=False,
    ),
    Difference(
        "bare_text",
        lambda traits: traits.has_bare_text,
        "texts outside the turns of a template are left out of a chat",
        "the user says them",
    ),
    Difference(
        "unseeded_draw",
        lambda traits: traits.draws,
        "AISBench draws rows and lengths anew whenever it reads the file: before the model is asked, and "
        "before its answers are compared",
        "they are drawn once, by the seed",
        is_reproduced=False,
    ),
    Difference(
        "rounded_shares",
        lambda traits: traits.has_shares,
        "AISBench loses a row of a share to rounding: 0.29 of 100 rows are 28",
        "they are 29",
    ),
)


def find_differences(
    methods: tuple[str, ...],
    data_type: DataType,
    meta: TableMeta,
    *,
    is_faithful: bool,
    has_shots: bool,
    has_bare_text: bool = False,
) -> tuple[OriginalDifference, ...]:
    """Return the differences that can affect a task, and what was done about each."""
    traits = TableTraits(
        frozenset(f"{method}/{data_type}" for method in methods),
        has_shots,
        draws=meta.sampling_mode in ("random", "shuffle") or isinstance(meta.output_config, UniformLengths),
        has_shares=isinstance(meta.output_config, SharedLengths),
        keeps_end=meta.uses_one_text,
        has_bare_text=has_bare_text,
    )
    return select_differences(_DIFFERENCES, traits, is_faithful=is_faithful)
