"""vLLM's outputs: cached rows contain arbitrary memory and must not count."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from assay.backends.vllm.engine import convert_read_output, convert_write_output
from assay.backends.vllm.token_engine import ReadAsk, WriteAsk


@dataclass
class Flat:
    """Stands in for vLLM's FlatLogprobs."""

    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)


@dataclass
class Written:
    token_ids: list[int]
    text: str = ""
    finish_reason: str = "length"
    stop_reason: int | str | None = None
    logprobs: Flat | None = None


@dataclass
class Output:
    outputs: list[Written]
    num_cached_tokens: int | None = 0
    prompt_logprobs: Flat | None = None


PROMPT = (5, 6, 7, 8, 9)
NEXT = Flat([3, 1, 2], [-0.1, -2.0, -3.0], [1, 1, 2])
ALL_ROWS = Flat([6, 7, 8, 9], [-1.0, -2.0, -3.0, -4.0], [4, 1, 2, 1])


def test_next_tokens_are_reported_by_their_ids() -> None:
    answer = convert_read_output(Output([Written([3], logprobs=NEXT)], 4), ReadAsk(PROMPT, (1, 2)))
    assert answer.next_logprobs == {1: -2.0, 2: -3.0}
    assert (answer.first_choice, answer.own_logprobs, answer.n_cached) == (3, (), 4)


def test_the_first_choice_may_be_one_of_them() -> None:
    flat = Flat([1, 1, 2], [-0.5, -0.5, -3.0], [1, 1, 2])
    answer = convert_read_output(Output([Written([1], logprobs=flat)]), ReadAsk(PROMPT, (1, 2)))
    assert (answer.next_logprobs, answer.first_choice) == ({1: -0.5, 2: -3.0}, 1)


@pytest.mark.parametrize(
    ("rows", "n_cached"),
    [
        (ALL_ROWS, 0),
        (Flat([0, 71, 8, 9], [7.7, -9.9, -3.0, -4.0], [0, 1, 2, 1]), 2),
        (Flat([8, 9], [-3.0, -4.0], [2, 1]), 2),
    ],
    ids=["all rows", "cached rows unwritten", "computed rows alone"],
)
def test_rows_of_the_prompt_are_counted_from_its_end(rows: Flat, n_cached: int) -> None:
    output = Output([Written([3], logprobs=NEXT)], n_cached, rows)
    answer = convert_read_output(output, ReadAsk(PROMPT, (1,), 2))
    assert answer.own_logprobs == [-3.0, -4.0]
    assert answer.own_is_top == [False, True]


@pytest.mark.parametrize(
    ("rows", "n_cached"),
    [
        (ALL_ROWS, 3),
        (Flat([0, 7, 8, 9], [0.0, -2.0, -3.0, -4.0], [0, 1, 2, 1]), 4),
        (Flat([9], [-4.0], [1]), 3),
        (Flat([6, 7, 8, 1], [-1.0, -2.0, -3.0, -4.0], [4, 1, 2, 1]), 0),
    ],
    ids=["one too many cached", "all cached", "rows missing", "rows of other tokens"],
)
def test_rows_that_were_not_computed_are_no_answer(rows: Flat, n_cached: int) -> None:
    output = Output([Written([3], logprobs=NEXT)], n_cached, rows)
    assert convert_read_output(output, ReadAsk(PROMPT, (1,), 2)).own_logprobs is None


@pytest.mark.parametrize(
    ("finish", "reason", "is_stopped"),
    [("length", None, False), ("stop", None, False), ("stop", 2, False), ("stop", "\n\n", True)],
)
def test_a_stop_string_is_reported_from_an_end(
    finish: str, reason: int | str | None, is_stopped: bool
) -> None:
    output = Output([Written([4, 2], "text", finish, reason)], 3)
    answer = convert_write_output(output, WriteAsk(PROMPT, 2, frozenset({2})))
    assert (answer.ids, answer.text, answer.is_stopped, answer.n_cached) == ((4, 2), "text", is_stopped, 3)
