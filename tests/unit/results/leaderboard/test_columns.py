"""The columns of a leaderboard: which values share one, and which value represents a model."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.core.model import ModelIdentity
from assay.core.run import RunStatus
from assay.core.run_index import IndexedTask
from assay.core.score import Metric
from assay.results.leaderboard.board import Board
from assay.results.leaderboard.build import make_board
from fakes.board_runs import Shelf, mean_of, task

GOOD = [1.0] * 90 + [0.0] * 10
FAIR = [1.0] * 60 + [0.0] * 40
POOR = [1.0] * 20 + [0.0] * 80


def board_of(shelf: Shelf, **asked: dict[str, str]) -> Board:
    return make_board(shelf.runs, shelf.values_of, headlines=asked.get("headlines"))


def labels(board: Board) -> list[str]:
    return [column.label for column in board.columns if column.part is None]


def value(board: Board, model: str, label: str) -> float | None:
    row = [one.name for one in board.models].index(model)
    cell = board.cells[row][[one.label for one in board.columns].index(label)]
    return None if cell is None else cell.value


def test_the_latest_complete_run_is_for_a_model() -> None:
    shelf = Shelf()
    shelf.add("m", {"a": POOR}, day=1)
    shelf.add("m", {"a": GOOD}, day=3)
    shelf.add("m", {"a": FAIR}, day=2)
    shelf.add("m", {"a": POOR}, day=4, status=RunStatus.RUNNING)
    board = board_of(shelf)
    assert value(board, "m", "a") == 0.9
    cell = board.cells[0][0]
    assert cell is not None
    assert (cell.run, cell.n_earlier) == ("run-1", 2)
    assert any("run-3 has status running" in note for note in board.notes)


def test_copies_of_one_run_on_several_machines_are_one_run() -> None:
    shelf = Shelf()
    one = shelf.add("m", {"a": GOOD})
    shelf.runs.append(one._replace(run=msgspec.structs.replace(one.run, host="other")))
    board = board_of(shelf)
    cell = board.cells[0][0]
    assert cell is not None
    assert cell.n_earlier == 0


@pytest.mark.parametrize(
    ("changed", "label"),
    [
        ({"shots": {"gen": "5"}}, "a (5-shot)"),
        ({"data_hash": "other!"}, "a (data other!)"),
        (
            {"n_samples": 50, "settings": {"limit": '{"n":50,"which":"drawn"}', "limit_seed": "7"}},
            "a (50 of 100 drawn with seed 7)",
        ),
        ({"n_samples": 50, "settings": {"limit": '{"n":50,"which":"first"}'}}, "a (50 of 100 first)"),
        ({"settings": {"fidelity": '"faithful"'}}, "a (faithful)"),
        ({"settings": {"windows": '{"scheme":"gptq"}'}}, 'a ({"scheme":"gptq"})'),
    ],
)
def test_values_under_other_conditions_have_a_column_of_their_own(
    changed: dict[str, object], label: str
) -> None:
    shelf = Shelf()
    shelf.add("one", {"a": GOOD})
    shelf.add("two", {"a": FAIR})
    shelf.add("three", {"a": FAIR}, specs={"a": task("a", **changed)})
    for model in ("one", "two", "three"):
        shelf.add(model, {"b": FAIR})
    board = board_of(shelf)
    assert len(labels(board)) == 3
    assert label in labels(board)
    assert value(board, "three", label) == 0.6
    assert next(one for one in board.columns if one.counts).n_models == 2, "most models: it counts"
    assert value(board, "three", next(one for one in board.columns if one.counts).label) is None
    assert any("another column represents the dataset" in note and label in note for note in board.notes)


def test_another_judge_is_another_column() -> None:
    shelf = Shelf()
    shelf.add("one", {"a": GOOD}, judge=ModelIdentity("mock", "strict"))
    shelf.add("two", {"a": FAIR}, judge=ModelIdentity("mock", "mild"))
    assert sorted(one.split("judge ")[1].split()[0] for one in labels(board_of(shelf))) == ["mild", "strict"]


def test_settings_that_set_no_column_apart_are_reported_when_they_differ() -> None:
    shelf = Shelf()
    for model, form in (("one", '"chat"'), ("two", '"text"')):
        shelf.add(model, {"a": GOOD}, specs={"a": task("a", settings={"form": form, "seed": "0"})})
    board = board_of(shelf)
    assert labels(board) == ["a"]
    assert board.columns[0].notes == ('runs with different settings: form ("chat", "text")',)


def test_what_is_the_same_for_several_columns_is_said_once() -> None:
    shelf = Shelf()
    for model, form in (("one", '"chat"'), ("two", '"text"')):
        names = ("a", "b", "c")
        specs = {name: task(name, settings={"form": form}) for name in names}
        shelf.add(model, dict.fromkeys(names, GOOD), specs=specs)
    assert board_of(shelf).notes == (
        """runs with different settings: form ("chat", "text"): 'a', 'b', 'c'""",
    )


def test_a_note_on_many_columns_names_the_first_of_them() -> None:
    shelf = Shelf()
    for model, form in (("one", '"chat"'), ("two", '"text"')):
        specs = {name: task(name, settings={"form": form}) for name in "abcdefg"}
        shelf.add(model, dict.fromkeys("abcdefg", GOOD), specs=specs)
    (note,) = board_of(shelf).notes
    assert note.endswith(": 'a', 'b', 'c', 'd', 'e' and 2 more")


def test_a_dataset_counts_once_in_a_mean_however_many_methods_it_has() -> None:
    shelf = Shelf()
    for model in ("one", "two"):
        shelf.add(model, {"a": GOOD, "b": FAIR}, method="gen")
        shelf.add(model, {"a": POOR}, method="ppl")
    board = board_of(shelf)
    assert sorted(labels(board)) == ["a (gen)", "a (ppl)", "b"]
    (mean,) = board.means
    assert [board.columns[at].label for at in mean.columns] == ["a (gen)", "b"]
    cell = board.mean_cells[0][0]
    assert cell is not None
    assert cell.value == pytest.approx(0.75)


def test_a_registered_headline_decides_then_what_is_asked_for() -> None:
    def f1(share: float) -> Metric:
        return mean_of("a", "gen", "macro_f1", FAIR, value=share, stderr=None, low=None, high=None)

    shelf = Shelf()
    spec = {"a": task("a", headline="macro_f1")}
    shelf.add("one", {"a": GOOD}, specs=spec, more=[f1(0.5)])
    shelf.add("two", {"a": POOR}, specs=spec, more=[f1(0.7)])
    board = board_of(shelf)
    assert board.columns[0].metric == "macro_f1"
    assert board.models[0].name == "two"
    assert (board.columns[0].n_untested, board.columns[0].n_paired) == (1, 0)
    assert "cannot be compared" in board.columns[0].notes[0]
    cell = board.cells[0][0]
    assert cell is not None
    assert str(cell.rank) == "1–2", "nothing says that the difference is real"
    asked = board_of(shelf, headlines={"a": "accuracy"})
    assert asked.columns[0].metric == "accuracy"
    assert asked.models[0].name == "one"


def test_a_registered_headline_that_no_run_has_is_reported() -> None:
    shelf = Shelf()
    for model in ("one", "two"):
        shelf.add(model, {"a": GOOD}, specs={"a": task("a", headline="acuracy")})
    board = board_of(shelf)
    assert board.columns[0].metric == "accuracy"
    (note,) = board.notes
    assert "'acuracy', which none of its runs has" in note
    assert "did you mean 'accuracy'?" in note
    assert not board_of(shelf, headlines={"a": "accuracy"}).notes


def test_an_interval_without_an_error_gives_one_by_its_width() -> None:
    """Twice 1.96 errors wide: with an error of 0.05 each, 0.9 and 0.2 are really apart, 0.9 and 0.8 not."""

    def f1(share: float) -> Metric:
        half = 1.96 * 0.05
        return mean_of("a", "gen", "f1", FAIR, value=share, stderr=None, low=share - half, high=share + half)

    shelf = Shelf()
    for model, share in (("good", 0.9), ("near", 0.8), ("poor", 0.2)):
        run = shelf.add(model, {"a": GOOD, "b": FAIR})
        shelf.runs[-1] = run._replace(metrics=[f1(share), run.metrics[1]])
    board = make_board(shelf.runs, lambda *_: None)
    cells = [row[0] for row in board.cells]
    assert [None if cell is None else str(cell.rank) for cell in cells] == ["1–2", "1–2", "3"]
    mean = board.mean_cells[0][0]
    assert mean is not None
    error = np.std(FAIR, ddof=1) / 10
    assert mean.stderr == pytest.approx(math.hypot(0.05, error) / 2, rel=1e-3)


def test_a_metric_that_nobody_has_is_rejected_with_those_that_there_are() -> None:
    shelf = Shelf()
    shelf.add("one", {"a": GOOD})
    with pytest.raises(UsageError, match=r"BOARD-003.*no metric 'acuracy' \(did you mean 'accuracy'"):
        board_of(shelf, headlines={"a": "acuracy"})
    with pytest.raises(UsageError, match=r"BOARD-003.*no run has the dataset 'b'"):
        board_of(shelf, headlines={"b": "accuracy"})


def test_less_is_better_where_the_metric_says_so_and_is_in_no_mean() -> None:
    shelf = Shelf()
    for model, level in (("low", 2.0), ("high", 5.0)):
        rng = np.random.default_rng(3)
        values = (level + rng.random(50)).tolist()
        run = shelf.add(model, {"texts": values, "a": GOOD, "b": FAIR}, metric="toxicity")
        flipped = [
            msgspec.structs.replace(one, higher_is_better=False, is_share=False)
            if one.task == "texts"
            else one
            for one in run.metrics
        ]
        shelf.runs[-1] = run._replace(metrics=flipped)
    board = board_of(shelf)
    at = labels(board).index("texts")
    cells = {model.name: row[at] for model, row in zip(board.models, board.cells, strict=True)}
    assert cells["low"] is not None
    assert str(cells["low"].rank) == "1"
    assert board.models[0].name == "low", "the duel on texts decides, as the means are the same"
    assert [len(mean.columns) for mean in board.means] == [2]
    assert any("not a higher-is-better share: 'texts'" in note for note in board.notes)


def test_models_that_share_no_samples_are_compared_by_their_errors_and_it_is_said() -> None:
    shelf = Shelf()
    shelf.add("one", {"a": GOOD})
    shelf.add("two", {"a": POOR})
    board = make_board(shelf.runs, lambda *_: None)
    assert board.columns[0].n_unpaired == 1
    assert "by an unpaired test" in board.columns[0].notes[0]
    first = board.cells[0][0]
    assert first is not None
    assert first.beats == (1,)


def test_models_that_are_called_alike_are_distinguished() -> None:
    shelf = Shelf()
    shelf.add(ModelIdentity("hf", "qwen", dtype="bf16"), {"a": GOOD})
    shelf.add(ModelIdentity("hf", "qwen", dtype="fp32"), {"a": FAIR})
    shelf.add(ModelIdentity("hf", "other", dtype="fp32"), {"a": POOR})
    assert [one.name for one in board_of(shelf).models] == ["qwen (dtype=bf16)", "qwen (dtype=fp32)", "other"]


def test_what_could_not_be_scored_is_reported_and_no_zero() -> None:
    shelf = Shelf()
    shelf.add("one", {"a": GOOD})
    nothing = mean_of("b", "gen", "accuracy", [], n=5, value=None)
    run = shelf.add("two", {"b": [1.0]})
    shelf.runs[-1] = run._replace(metrics=[nothing])
    board = board_of(shelf)
    assert [one.name for one in board.models] == ["one"]
    assert any("no sample of b could be scored" in note for note in board.notes)


def test_no_runs_make_an_empty_board() -> None:
    board = make_board([], lambda *_: None)
    assert (board.models, board.columns, board.means) == ((), (), ())


def test_a_mean_that_lacks_a_dataset_says_so_and_is_not_ranked() -> None:
    shelf = Shelf()
    shelf.add("whole", {"a": FAIR, "b": POOR})
    shelf.add("part", {"a": GOOD})
    board = board_of(shelf)
    kinds = [mean.kind for mean in board.means]
    assert kinds == ["shared", "all"]
    row = [one.name for one in board.models].index("part")
    cell = board.mean_cells[row][1]
    assert cell is not None
    assert (cell.n_columns, len(cell.lacks), cell.rank) == (1, 1, None)
    assert cell.value == 0.9
    assert any("a mean ranks only models with all of its datasets" in note for note in board.notes)


def test_ranks_of_a_mean_are_by_the_mean_of_paired_differences() -> None:
    """The oracle: mean difference over its error by hand, each dataset's error from its own pairs."""
    rng = np.random.default_rng(5)
    found = {
        model: {name: (rng.random(80) < p).astype(float).tolist() for name in ("a", "b", "c")}
        for model, p in (("x", 0.75), ("y", 0.6))
    }
    shelf = Shelf()
    for model, tasks in found.items():
        shelf.add(model, tasks)
    board = board_of(shelf)
    gaps, variances = [], []
    for name in ("a", "b", "c"):
        d = np.array(found["x"][name]) - np.array(found["y"][name])
        gaps.append(d.mean())
        variances.append(d.var(ddof=1) / len(d))
    z = sum(gaps) / math.sqrt(sum(variances))
    is_real = math.erfc(abs(z) / math.sqrt(2)) < 0.05
    cell = board.mean_cells[0][0]
    assert cell is not None
    assert cell.rank is not None
    assert is_real
    assert (cell.rank.best, cell.rank.worst) == (1, 1)
    assert not board.cells[0][0].beats, "no dataset alone shows it"  # type: ignore[union-attr]


def test_runs_that_were_scored_in_two_ways_are_distinguished_below_the_table() -> None:
    def spec(**scorers: str) -> dict[str, IndexedTask]:
        return {"a": task("a", scorers=scorers)}

    shelf = Shelf()
    shelf.add("auto", {"a": GOOD}, specs=spec(gen="auto", ppl="sum"))
    shelf.add("again", {"a": FAIR}, specs=spec(gen="auto", ppl="pmi"))
    assert not any("differ" in note for note in board_of(shelf).notes), "of another method"
    shelf.add("whole", {"a": POOR}, specs=spec(gen="whole"))
    assert "runs with different settings: scorer (auto, whole): 'a'" in board_of(shelf).notes


def test_a_mean_takes_each_difference_the_same_way_round() -> None:
    # The columns have the models in another order, as their runs ended in another order.
    shelf = Shelf()
    shelf.add("one", {"a": GOOD}, day=1)
    shelf.add("other", {"a": POOR}, day=2)
    shelf.add("other", {"b": GOOD}, day=3)
    shelf.add("one", {"b": POOR}, day=4)
    board = board_of(shelf)
    assert [str(cell.rank) for row in board.mean_cells for cell in row if cell and cell.rank] == ["1–2"] * 2
    assert {str(cell.rank) for row in board.cells for cell in row if cell} == {"1", "2"}


def of_share(share: float) -> list[float]:
    return [1.0] * round(100 * share) + [0.0] * round(100 * (1 - share))


def test_models_with_every_dataset_come_before_others_and_by_their_mean() -> None:
    """No dataset is everyone's. The one with the better mean wins fewer duels, and the one that has
    nothing right none: it still has every dataset.
    """
    shelf = Shelf()
    shelf.add("part a", {"a": of_share(0.4)})
    shelf.add("part b", {"b": of_share(0.4)})
    shelf.add("poor", {"a": of_share(0.0), "b": of_share(0.0), "c": of_share(0.0)})
    shelf.add("steady", {"a": of_share(0.5), "b": of_share(0.55), "c": of_share(0.55)})
    shelf.add("best", {"a": of_share(0.95), "b": of_share(0.5), "c": of_share(0.5)})
    board = board_of(shelf)
    assert [one.name for one in board.models] == ["best", "steady", "poor", "part a", "part b"]
    rates = {
        model.name: standing.win_rate for model, standing in zip(board.models, board.standings, strict=True)
    }
    assert rates["steady"] is not None
    assert rates["best"] is not None
    assert rates["part a"] is not None
    assert rates["steady"] > rates["best"]
    assert rates["part a"] > 0
    assert rates["poor"] == 0


def test_of_columns_with_as_many_models_that_with_most_samples_counts() -> None:
    drawn = {"n_samples": 50, "settings": {"limit": '{"n":50,"which":"first"}'}}
    for days in ((1, 2), (2, 1)):
        shelf = Shelf()
        for model in ("one", "two"):
            shelf.add(model, {"a": GOOD}, day=days[0])
            shelf.add(model, {"a": FAIR}, day=days[1], specs={"a": task("a", **drawn)})
        board = board_of(shelf)
        assert [(one.apart, one.counts) for one in board.columns] == [
            (("all 100",), True),
            (("50 of 100 first",), False),
        ]


def test_a_mean_rank_is_over_the_datasets_that_every_model_has() -> None:
    shelf = Shelf()
    shelf.add("one", {"a": GOOD, "b": POOR})
    shelf.add("two", {"a": FAIR, "b": GOOD})
    shelf.add("same", {"a": FAIR})
    board = board_of(shelf)
    ranks = {
        model.name: standing.mean_rank for model, standing in zip(board.models, board.standings, strict=True)
    }
    assert ranks == {"one": 1.0, "two": 2.5, "same": 2.5}


def test_a_duel_is_fought_once_for_each_dataset() -> None:
    shelf = Shelf()
    for model, worse in (("one", FAIR), ("two", POOR)):
        shelf.add(model, {"a": GOOD, "b": worse}, method="gen")
        shelf.add(model, {"a": worse}, method="ppl")
    assert [(one.n_duels, one.n_won, one.n_lost) for one in board_of(shelf).standings] == [
        (2, 1, 0),
        (2, 0, 1),
    ]
