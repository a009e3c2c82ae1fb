"""Ranks, means and pairwise wins of a leaderboard against brute force."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.results.leaderboard.board import Board, Rank
from assay.results.leaderboard.build import make_board
from fakes.board_runs import Shelf

Results = dict[str, dict[str, list[float]]]
"""By model and dataset, the samples' values; NaN for one that failed."""


@st.composite
def results(draw: st.DrawFn) -> Results:
    """Models of different strengths on datasets that not all of them have."""
    n = draw(st.integers(2, 40))
    strengths = draw(st.lists(st.sampled_from([0.05, 0.3, 0.5, 0.8, 0.98]), min_size=2, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    found: Results = {}
    for place, strength in enumerate(strengths):
        of_model = {}
        for dataset in ("a", "b", "c"):
            if draw(st.integers(0, 9)) < 8:
                values = (rng.random(n) < strength).astype(float)
                values[rng.random(n) < 0.03] = math.nan
                if not np.isnan(values).all():
                    of_model[dataset] = values.tolist()
        if of_model:
            found[f"m{place}"] = of_model
    return found


def board_of(found: Results) -> Board:
    shelf = Shelf()
    for model, tasks in found.items():
        shelf.add(model, tasks)
    return make_board(shelf.runs, shelf.values_of)


def oracle_p(a: list[float], b: list[float]) -> float | None:
    """McNemar's exact test, by counting every outcome of a fair coin."""
    both = [(x, y) for x, y in zip(a, b, strict=True) if not math.isnan(x) and not math.isnan(y)]
    n_a = sum(1 for one in a if not math.isnan(one))
    n_b = sum(1 for one in b if not math.isnan(one))
    if len(both) < 2 or len(both) < 0.5 * min(n_a, n_b):
        return None
    wins, losses = sum(x > y for x, y in both), sum(x < y for x, y in both)
    n = wins + losses
    extreme = [k for k in range(n + 1) if abs(k - n / 2) >= abs(wins - n / 2)]
    return min(1.0, float(sum(math.comb(n, k) for k in extreme)) / 2.0**n)


def oracle_ranks(found: Results, dataset: str) -> dict[str, Rank] | None:
    """Holm by its definition: go through the p-values from the least, stop at the first that is too large."""
    models = [model for model in found if dataset in found[model]]
    ps = {}
    for first, second in combinations(models, 2):
        p = oracle_p(found[first][dataset], found[second][dataset])
        if p is None:
            return None
        ps[first, second] = p
    real = []
    for step, (pair, p) in enumerate(sorted(ps.items(), key=lambda one: one[1])):
        if p * (len(ps) - step) >= 0.05:
            break
        real.append(pair)

    def mean(model: str) -> float:
        return float(np.nanmean(found[model][dataset]))

    ranks = {}
    for model in models:
        better = sum(model in pair and mean(model) < max(map(mean, pair)) for pair in real)
        worse = sum(model in pair and mean(model) > min(map(mean, pair)) for pair in real)
        ranks[model] = Rank(1 + better, len(models) - worse)
    return ranks


@given(results())
def test_ranks_of_a_column_are_those_of_brute_force(found: Results) -> None:
    board = board_of(found)
    for at, column in enumerate(board.columns):
        expected = oracle_ranks(found, column.dataset)
        if expected is None:
            continue
        seen = {
            model.name: row[at].rank  # type: ignore[union-attr]
            for model, row in zip(board.models, board.cells, strict=True)
            if row[at] is not None
        }
        assert seen == expected


@given(results())
def test_means_are_over_the_datasets_that_a_model_has_and_ranked_only_over_the_same(found: Results) -> None:
    board = board_of(found)
    datasets = [column.dataset for column in board.columns]
    for at, mean in enumerate(board.means):
        over = [datasets[column] for column in mean.columns]
        if mean.kind == "shared":
            assert all(dataset in tasks for tasks in found.values() for dataset in over)
        for model, row in zip(board.models, board.mean_cells, strict=True):
            own = {name: found[model.name][name] for name in over if name in found[model.name]}
            cell = row[at]
            if not own:
                assert cell is None
                continue
            assert cell is not None
            values = [[one for one in some if not math.isnan(one)] for some in own.values()]
            assert cell.value == pytest.approx(np.mean([np.mean(some) for some in values]))
            if all(len(some) > 1 for some in values):
                errors = [float(np.std(some, ddof=1)) / math.sqrt(len(some)) for some in values]
                if any(errors) and len(errors) > 1:
                    # Of one without spread, by the width of Wilson's interval: z^2 / (n + z^2).
                    by_width = [1.959964 / 2 / (len(some) + 1.959964**2) for some in values]
                    errors = [own or other for own, other in zip(errors, by_width, strict=True)]
                assert cell.stderr == pytest.approx(math.sqrt(sum(e * e for e in errors)) / len(errors))
            assert (cell.rank is None) == (len(own) < len(over)), "what lacks a dataset is not ranked"
            assert cell.n_columns + len(cell.lacks) == len(over)


@given(results())
def test_pairwise_comparisons_are_counted_over_what_both_models_have(found: Results) -> None:
    board = board_of(found)
    for model, standing in zip(board.models, board.standings, strict=True):
        won, n = 0.0, 0
        for other in found:
            for dataset, values in found[model.name].items():
                if other != model.name and dataset in found[other]:
                    mine, theirs = np.nanmean(values), np.nanmean(found[other][dataset])
                    won += 1.0 if mine > theirs else 0.5 if mine == theirs else 0.0
                    n += 1
        assert standing.n_duels == n
        if n:
            assert standing.win_rate == pytest.approx(won / n)
    assert sum(one.n_won for one in board.standings) == sum(one.n_lost for one in board.standings)


@given(results())
def test_who_beats_whom_goes_one_way_and_agrees_with_the_ranks(found: Results) -> None:
    board = board_of(found)
    for at, column in enumerate(board.columns):
        cells = {row: cells[at] for row, cells in enumerate(board.cells) if cells[at] is not None}
        for row, cell in cells.items():
            assert cell is not None
            for other in cell.beats:
                beaten = cells[other]
                assert beaten is not None
                assert row not in beaten.beats
                assert cell.value > beaten.value
            assert cell.rank.worst == column.n_models - len(cell.beats)
            assert cell.rank.best == 1 + sum(row in one.beats for one in cells.values() if one is not None)


def test_a_difference_that_pairs_show_is_real_though_intervals_overlap() -> None:
    """The reason to pair: two models that agree on most samples differ on few, all one way."""
    base = [1.0, 0.0] * 50
    better = base.copy()
    for at in range(1, 21, 2):
        better[at] = 1.0
    board = board_of({"better": {"a": better}, "base": {"a": base}})
    first, second = board.cells[0][0], board.cells[1][0]
    assert first is not None
    assert second is not None
    assert first.low is not None
    assert second.high is not None
    assert first.low < second.high
    assert (str(first.rank), str(second.rank)) == ("1", "2")
    assert board.models[0].name == "better"
