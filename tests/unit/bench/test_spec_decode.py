"""Counters of speculative decoding, from the text that vLLM's server writes."""

from __future__ import annotations

import pytest

from assay.bench.spec_decode import SpecDecode, compute_spec_decode, read_counters

METRICS = """
# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{{engine="0",model_name="m"}} {drafts}.0
vllm:spec_decode_num_drafts_created{{engine="0",model_name="m"}} 1.76e+09
vllm:spec_decode_num_draft_tokens_total{{engine="0",model_name="m"}} {tokens}.0
vllm:spec_decode_num_accepted_tokens_total{{engine="0",model_name="m"}} {accepted}.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",model_name="m",position="0"}} {first}.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",model_name="m",position="1"}} {second}.0
vllm:num_requests_running{{engine="0"}} 3.0
"""


def metrics(drafts: int, tokens: int, accepted: int, first: int, second: int) -> str:
    return METRICS.format(drafts=drafts, tokens=tokens, accepted=accepted, first=first, second=second)


def test_what_was_counted_between_two_readings() -> None:
    before = read_counters(metrics(10, 20, 5, 4, 1))
    after = read_counters(metrics(110, 220, 155, 94, 61))
    assert compute_spec_decode(before, after) == SpecDecode(100, 200, 150, 75.0, 2.5, (90.0, 60.0))


def test_engines_are_added_up() -> None:
    two = metrics(10, 20, 5, 4, 1) + metrics(1, 2, 1, 1, 0).replace('engine="0"', 'engine="1"')
    found = read_counters(two)
    assert found["drafts", None] == 11
    assert found["accepted_tokens_per_pos", 0] == 5


@pytest.mark.parametrize("text", ["", "# nothing", "vllm:num_requests_running 3", "spec_decode_num_drafts x"])
def test_a_server_without_such_counters(text: str) -> None:
    assert read_counters(text) == {}


def test_a_load_in_which_nothing_was_drafted_has_no_rate() -> None:
    same = read_counters(metrics(10, 20, 5, 4, 1))
    assert compute_spec_decode(same, same) is None
