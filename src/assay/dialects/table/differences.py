"""The differences between the original and Assay. docs/formats/table.md lists them with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from assay.core.difference import AppliedDifference, Difference, apply_differences, select_differences
from assay.core.method import Method
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


DIFFERENCES: Mapping[str, Difference[TableTraits]] = {
    "abstain": Difference(
        "an output without an answer counts as the option with the smallest edit distance, usually A",
        "it is unanswered, and counts as not right",
        _build_method_check("gen/mcq"),
    ),
    "whole_text_ppl": Difference(
        "options are compared by the mean negative log-likelihood of prompt and option together",
        "options are compared by the log-likelihood of the option given the prompt",
        _build_method_check("ppl/mcq"),
    ),
    "exact_qa": Difference(
        "an answer is right only if the whole output equals it exactly",
        "the reply must state the answer; numbers are compared by value, texts as whole phrases",
        _build_method_check("gen/qa"),
    ),
    "trailing_space": Difference(
        "a text prompt ends in the space before the answer, which most tokenizers make part of the answer",
        "the space is removed",
        lambda traits: _build_method_check("gen/mcq", "gen/qa")(traits) and not traits.keeps_end,
    ),
    "unknown_field": Difference(
        "a field that is not a column stays in the prompt unchanged",
        "it is an error before the model is loaded",
        _build_method_check("gen/mcq", "gen/qa", "ppl/mcq", "prob/mcq"),
    ),
    "empty_option": Difference(
        "an empty cell at the end of a row is an option without text",
        "the row has fewer options",
        _build_method_check("gen/mcq", "ppl/mcq", "prob/mcq"),
    ),
    "first_record": Difference(
        "columns, options and data type are taken from the first record",
        "they are inferred from all records",
        _build_method_check("gen/mcq", "gen/qa", "ppl/mcq", "prob/mcq"),
        is_reproduced=False,
    ),
    "nearest_shot_first": Difference(
        "if a prompt is too long, the examples nearest to the question are omitted first",
        "those furthest from the question are omitted first",
        _build_method_check("gen/mcq", "gen/qa", "ppl/mcq", "prob/mcq", needs_shots=True),
    ),
    "uneven_shots": Difference(
        "the options of one question can have different numbers of examples; no space is reserved for the "
        "answer",
        "all options have the same examples; space for the answer is reserved",
        _build_method_check("gen/mcq", "gen/qa", "ppl/mcq", needs_shots=True),
        is_reproduced=False,
    ),
    "bare_text": Difference(
        "texts outside the turns of a template are omitted from a chat",
        "they are user turns",
        lambda traits: traits.has_bare_text,
    ),
    "unseeded_draw": Difference(
        "AISBench draws rows and lengths again each time it reads the file: for inference and for scoring",
        "they are drawn once, by the seed",
        lambda traits: traits.draws,
        is_reproduced=False,
    ),
    "rounded_shares": Difference(
        "AISBench loses a row to rounding: 0.29 of 100 rows is 28",
        "it is 29",
        lambda traits: traits.has_shares,
    ),
}


def find_differences(
    methods: tuple[Method, ...],
    data_type: DataType,
    meta: TableMeta,
    *,
    is_faithful: bool,
    has_shots: bool,
    has_bare_text: bool = False,
) -> tuple[AppliedDifference, ...]:
    """Return the differences that can affect a task, and what was done about each."""
    traits = TableTraits(
        frozenset(f"{method}/{data_type}" for method in methods),
        has_shots,
        draws=meta.sampling_mode in ("random", "shuffle") or isinstance(meta.output_config, UniformLengths),
        has_shares=isinstance(meta.output_config, SharedLengths),
        keeps_end=meta.uses_one_text,
        has_bare_text=has_bare_text,
    )
    return apply_differences(select_differences(DIFFERENCES, traits), is_faithful=is_faithful)
