"""The stable stage by hand; benchmarks/conformance_aisbench_perf.py compares it with the original's."""

from __future__ import annotations

from assay.bench.aisbench_profile import StableStage, find_stable_stage


def found(spans: list[tuple[float, float]], batch_size: int) -> StableStage | None:
    return find_stable_stage([began for began, _ in spans], [ended for _, ended in spans], batch_size)


def closed_load(pause_s: float) -> list[tuple[float, float]]:
    """Return four rounds of two calls, each 1 s long; both places pause between rounds."""
    return [
        (start, start + 1) for n in range(4) for start in (n * (1 + pause_s), n * (1 + pause_s) + pause_s / 4)
    ]


def test_a_batch_that_is_full_once_has_no_stable_stage() -> None:
    assert found([(0, 2), (1, 3)], 2) is None
    assert found([], 2) is None


def test_the_stage_closes_where_the_number_falls_and_does_not_recover() -> None:
    # Between rounds nothing runs for 7.5 ms: the stage ends with the second round.
    stage = found(closed_load(0.01), 2)
    assert stage is not None
    assert stage.end == 2.0125
    assert stage.members == {3}


def test_the_stage_outlasts_a_gap_of_less_than_a_millisecond() -> None:
    stage = found(closed_load(0.0008), 2)
    assert stage is not None
    assert stage.end == closed_load(0.0008)[-2][1]
    assert stage.members == {3, 5, 6, 7}


def test_after_the_third_full_batch_calls_that_find_it_nearly_full_count() -> None:
    # Fifty places; 49 are 98 % of them. From 7.2 on, one place is free, and call 53 makes 49.
    spans = [(n / 1000, 10.0) for n in range(49)]
    spans += [(1, 2), (3, 4), (5, 6), (7, 7.9), (7.9005, 9)]
    spans[0] = (0, 7.2)
    stage = found(spans, 50)
    assert stage is not None
    assert stage.start == 3
    assert stage.members == {50, 51, 52, 53}
