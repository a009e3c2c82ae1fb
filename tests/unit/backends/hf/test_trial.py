"""The check of packed rows when a model is loaded covers what it enables."""

from __future__ import annotations

from typing import Any

import pytest

from assay.backends.hf import packed_forward, row_scoring
from assay.backends.hf.batching import Budget
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.packed_forward import SharedPrefixCache
from assay.backends.hf.prefix_tree import plan_lanes
from assay.backends.hf.row_scoring import prepare_packing
from assay.backends.hf.work_counters import Counters
from fakes.tiny_llama import tiny_llama

VOCAB = 97


def test_the_trial_shares_in_every_way_there_is() -> None:
    rows = row_scoring._canary(VOCAB)
    sequences, reads = [row.inputs for row in rows], [row.runs for row in rows]
    (group,) = plan_lanes(sequences, reads, lane_tokens=row_scoring._CANARY_LANE, least_saving=1)
    assert group.prefix
    assert group.prefix_reads
    assert len(group.lanes) == 2
    for lane in group.lanes:
        # A chain would end with its last token everywhere; here options branch off, and some off those.
        assert len(set(lane.ends)) >= 3


def test_a_model_that_takes_a_mask_packs() -> None:
    packs, troubles, _ = prepare_packing(tiny_llama(VOCAB))
    assert (packs, troubles) == (True, ())


@pytest.mark.parametrize(
    "fault", ["lanes see their neighbours", "the prefix is forgotten", "positions go on"]
)
def test_what_packing_gets_wrong_is_found_out(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Each fault gives plausible numbers and no error; only the comparison tells."""
    loaded = tiny_llama(VOCAB)
    monkeypatch.setattr(row_scoring, "_enable_shared", lambda loaded: False)
    side_by_side = packed_forward._build_padded_feed

    def broken(lanes: Any, n_prefix: int, loaded: LoadedModel) -> dict[str, Any]:
        import torch

        feed = side_by_side(lanes, n_prefix, loaded)
        if n_prefix and fault == "lanes see their neighbours":
            width = feed["input_ids"].shape[1]
            causal = torch.ones((width, width), dtype=torch.bool).tril()
            feed["attention_mask"][:, :, :, n_prefix:].masked_fill_(causal, 0.0)
        elif n_prefix and fault == "the prefix is forgotten":
            feed["attention_mask"][:, :, :, : n_prefix // 2] = torch.finfo(torch.float32).min
        elif n_prefix:
            feed["position_ids"] = n_prefix + torch.arange(feed["input_ids"].shape[1]).expand_as(
                feed["input_ids"]
            )
        return feed

    monkeypatch.setattr(packed_forward, "_build_padded_feed", broken)
    packs, troubles, _ = prepare_packing(loaded)
    assert not packs
    assert any("packed rows differ from plain ones" in trouble for trouble in troubles)


def test_numbers_that_are_not_finite_are_a_difference() -> None:
    assert row_scoring._distance([[0.0, 1.0]], [[0.0, 1.5]]) == 0.5
    assert row_scoring._distance([[0.0, 1.0, 2.0]], [[0.0, float("nan"), 2.0]]) == float("inf")


def test_the_devices_time_includes_that_of_shared_prefixes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Span:
        """A span of the device's clock."""

        def __init__(self, _device: Any) -> None: ...

        def end(self) -> None: ...

        def wait(self) -> float:
            return 100.0

    loaded, counters = tiny_llama(VOCAB), Counters()
    assert prepare_packing(loaded).packs
    monkeypatch.setattr(row_scoring, "DeviceSpan", Span)
    scoring = row_scoring.PackedScoring(
        loaded, Budget(256), counters, SharedPrefixCache(1 << 20), row_scoring._CANARY_LANE, least_saving=1
    )
    for _ in scoring.run(row_scoring._canary(VOCAB)):
        pass
    scoring.drain()
    assert 100 < counters.device_seconds < 200
