"""One rule for the values of sampling parameters, whoever writes them."""

from __future__ import annotations

import math

import pytest

from assay.core.sampling_bounds import describe_expected_value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", 0),
        ("max_tokens", -5),
        ("max_tokens", 1.5),
        ("max_tokens", True),
        ("max_new_tokens", "many"),
        ("max_gen_toks", 0),
        ("max_out_len", 0),
        ("temperature", -1),
        ("temperature", "-0.1"),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("temperature", "hot"),
        ("top_p", 0),
        ("top_p", 1.01),
        ("top_p", math.nan),
        ("n", 0),
        ("num_return_sequences", 0),
        ("sampling_num", -1),
        ("best_of", 0),
        ("top_k", -2),
        ("min_p", 2),
        ("repetition_penalty", 0),
    ],
)
def test_a_value_that_cannot_be(name: str, value: object) -> None:
    assert describe_expected_value(name, value) is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", 1),
        ("max_tokens", "64"),
        ("max_tokens", None),
        ("temperature", 0),
        ("temperature", 2.5),
        ("top_p", 1),
        ("top_p", "0.9"),
        ("top_k", -1),
        ("top_k", 0),
        ("presence_penalty", -1.5),
        ("unknown", -1),
    ],
)
def test_a_value_that_can_be(name: str, value: object) -> None:
    assert describe_expected_value(name, value) is None
