"""Changes between two scorings of the same answers, sample by sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from assay.core.score import Score, Verdict
from assay.results.read import StoredRun

_MAX_EXAMPLES = 10


class ScoreChange(msgspec.Struct, frozen=True):
    """One sample that two scorings score differently."""

    task: str
    sample_id: str
    method: str
    before: Score
    after: Score


class ScoringChanges(msgspec.Struct, frozen=True):
    """All changes from one scoring to another."""

    n: int
    """Number of compared scores."""
    n_changed: int
    """Scores with a different verdict, headline metric or value of any metric."""
    n_gained: int
    """Scores with a higher value now; a sample that is not scored counts as 0."""
    n_lost: int
    first: tuple[ScoreChange, ...]
    """The first ten changes, in the dataset's order."""


def compare_scorings(before: StoredRun, after: StoredRun) -> ScoringChanges:
    """Compare two scorings of the same answers, sample by sample."""
    n = n_changed = n_gained = n_lost = 0
    first: list[ScoreChange] = []
    for place, then, now in _pair_scores(before.scores(), after.scores()):
        n += 1
        if _values(then) == _values(now) and then.value == now.value:
            continue
        n_changed += 1
        n_gained += _get_worth(now) > _get_worth(then)
        n_lost += _get_worth(now) < _get_worth(then)
        if len(first) < _MAX_EXAMPLES:
            first.append(ScoreChange(*place, then, now))
    return ScoringChanges(n, n_changed, n_gained, n_lost, tuple(first))


_ScoreKey: TypeAlias = tuple[str, str, str]


def _pair_scores(before: Iterator[Score], after: Iterator[Score]) -> Iterator[tuple[_ScoreKey, Score, Score]]:
    """Yield pairs of scores of the same sample and method, in the order of the later scoring.

    Both are in the dataset's order, so few scores wait in memory. The exception is a method that was scored
    with each sample and is now scored at the end.
    """
    waiting: dict[_ScoreKey, Score] = {}
    for now in after:
        place = (now.task, now.sample_id, now.track)
        then = waiting.pop(place, None)
        while then is None and (earlier := next(before, None)) is not None:
            earlier_place = (earlier.task, earlier.sample_id, earlier.track)
            if earlier_place == place:
                then = earlier
            else:
                waiting[earlier_place] = earlier
        if then is not None:
            yield place, then, now


def _values(score: Score) -> tuple[Verdict, dict[str, object]]:
    """Return the verdict and the value of every metric."""
    return score.verdict, {**score.also, **score.ratios, score.metric: score.value}


def _get_worth(score: Score) -> float:
    return score.value or 0.0 if score.verdict is Verdict.SCORED else 0.0
