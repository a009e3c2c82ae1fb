from __future__ import annotations

from assay.core.model import ModelIdentity
from assay.core.run import Cost, RunManifest
from assay.results.report import Highlights, render_report
from assay.results.rows import format_reuse_line, format_work_line


def manifest(**stats: float) -> RunManifest:
    return RunManifest(
        id="r",
        tasks=(),
        model=ModelIdentity("hf", "hf:x"),
        settings={},
        versions={},
        started="2025-01-01T00:00:00Z",
        costs=(Cost("t", "gen", seconds=1.5), Cost("t", "ppl", seconds=0.5)),
        stats=stats,
    )


COUNTED = {
    "model_prompt_tokens": 5_900.0,
    "model_generated_tokens": 100.0,
    "model_forward_tokens": 2_000.0,
    "model_padding_tokens": 250.0,
}


def test_sharing_padding_and_speed_stand_side_by_side() -> None:
    expected = "2,000 tokens computed for 6,000 requested (3.0 to 1), padding 12.5 %, 1,000 tokens/s"
    assert format_work_line(manifest(**COUNTED)) == expected
    assert f"Model: {expected}." in render_report(manifest(**COUNTED), (), Highlights(()))


def test_what_was_not_counted_is_not_claimed() -> None:
    older = {name: n for name, n in COUNTED.items() if name != "model_padding_tokens"}
    assert (
        format_work_line(manifest(**older))
        == "2,000 tokens computed for 6,000 requested (3.0 to 1), 1,000 tokens/s"
    )
    assert format_work_line(manifest()) is None
    assert "Model:" not in render_report(manifest(), (), Highlights(()))


def test_answers_that_were_not_asked_for_again_are_named() -> None:
    assert format_reuse_line(manifest(requests=90.0, requests_cached=0.0)) is None
    assert format_reuse_line(manifest(requests=90.0, requests_cached=60.0)) == (
        "reused 60 of 90 answers from the cache (disable it with --no-cache)"
    )
    assert format_reuse_line(manifest(requests=90.0, requests_cached=60.0, requests_journaled=30.0)) == (
        "reused 60 of 90 answers from the cache (disable it with --no-cache), "
        "30 from an earlier start of this run"
    )


def test_a_resumed_run_has_no_rate() -> None:
    """Its tokens and seconds may be of two starts."""
    assert "tokens/s" not in str(format_work_line(manifest(**COUNTED, requests_journaled=5.0)))
