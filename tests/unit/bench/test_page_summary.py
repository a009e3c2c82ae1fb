from __future__ import annotations

import msgspec

from assay.bench.page_summary import build_search_view, build_sweep_view
from fakes.bench_pages import swept


def test_a_rung_says_what_its_summary_says() -> None:
    ladder, _ = swept(is_search=False)
    for trial, rung in zip(ladder.trials, build_sweep_view(ladder).rungs, strict=True):
        summary = trial.summary
        assert (rung.level, rung.n_calls, rung.n_failed) == (trial.level, summary.n_calls, 0)
        assert rung.requests_per_s == summary.throughput.requests_per_s
        assert rung.output_per_s == summary.throughput.output_tokens_per_s
        assert {one.name: one.stats for one in rung.latencies}["TTFT"] == summary.metrics["ttft"]


def test_a_trial_that_was_cut_short_kept_nothing() -> None:
    search, _ = swept(is_search=True)
    cut = msgspec.structs.replace(search, trials=search.trials[:2], is_partial=True)
    assert [trial.broken for trial in build_search_view(cut).trials] == [(), ("not finished",)]
