"""Gains and losses after rescoring."""

from __future__ import annotations

from pathlib import Path

from assay.core.score import Score
from assay.results.read import StoredRun
from assay.results.scoring_changes import compare_scorings
from fakes.scored_folders import manifest, score, spec, written


def test_a_change_of_any_metric_counts(tmp_path: Path) -> None:
    def stored(name: str, norm: float) -> StoredRun:
        scores = [score(f"s{at}", 1.0, also={"acc_norm": norm if at else 1.0}) for at in range(3)]
        return written(tmp_path / name, manifest(name, [spec("t")]), scores)

    found = compare_scorings(stored("a", 1.0), stored("b", 0.0))
    assert (found.n, found.n_changed, found.n_gained, found.n_lost) == (3, 2, 0, 0)


def test_what_is_worth_as_little_as_before_is_neither_gained_nor_lost(tmp_path: Path) -> None:
    def stored(name: str, *scores: Score) -> StoredRun:
        return written(tmp_path / name, manifest(name, [spec("t")]), scores)

    before = stored("a", score("s0", None), score("s1", 0.0), score("s2", 1.0), score("s3", 1.0))
    after = stored("b", score("s0", 0.0), score("s1", 1.0), score("s2", None), score("s3", 1.0))
    found = compare_scorings(before, after)
    assert (found.n, found.n_changed, found.n_gained, found.n_lost) == (4, 3, 1, 1)
    assert [one.sample_id for one in found.first] == ["s0", "s1", "s2"]
