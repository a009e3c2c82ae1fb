"""Subsets reported as one dataset, and datasets grouped by ability."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.core.method import Method
from assay.core.score import Metric
from assay.core.task import TaskSpec
from assay.results.leaderboard.abilities import read_abilities
from assay.results.leaderboard.board import Board
from assay.results.leaderboard.build import make_board
from assay.scoring.summary_groups import roll_up_subsets
from fakes.board_runs import Shelf, mean_of, task

GOOD = [1.0] * 90 + [0.0] * 10
FAIR = [1.0] * 60 + [0.0] * 40
CATEGORIES = {
    "exam:physics": ("STEM",),
    "exam:chemistry": ("STEM",),
    "exam:history": ("Humanities",),
    "exam:animals": ("Zoology",),
}


def exam(shelf: Shelf, model: str, seed: int, share: float) -> dict[str, list[float]]:
    """Add a run over a dataset of four subsets in three categories, with the means that a run has."""
    rng = np.random.default_rng(seed)
    found = {
        name: (rng.random(40 + 10 * at) < share).astype(float).tolist() for at, name in enumerate(CATEGORIES)
    }
    specs = [
        TaskSpec(name, "x", "exam", "h", (Method.GEN,), 1, 1, family="exam", categories=CATEGORIES[name])
        for name in found
    ]
    own = [mean_of(name, "gen", "accuracy", values) for name, values in found.items()]
    described = {name: task(name, family="exam", categories=CATEGORIES[name]) for name in found}
    shelf.add(model, found, specs=described, more=roll_up_subsets(own, specs))
    return found


def cell_of(board: Board, model: str, mean: str) -> float | None:
    row = [one.name for one in board.models].index(model)
    cell = board.mean_cells[row][[one.name for one in board.means].index(mean)]
    return None if cell is None else cell.value


def test_subsets_are_one_dataset_and_its_categories_are_abilities() -> None:
    shelf = Shelf()
    found = exam(shelf, "one", 1, 0.9)
    exam(shelf, "two", 2, 0.4)
    board = make_board(shelf.runs, shelf.values_of)
    assert [(one.dataset, one.part) for one in board.columns] == [
        ("exam", None),
        ("exam", "Humanities"),
        ("exam", "STEM"),
        ("exam", "Zoology"),
    ]
    assert {one.n_duels for one in board.standings} == {1}, "categories are no datasets"
    assert {one.n_paired for one in board.columns} == {1}, "compared subset by subset, sample by sample"
    whole = board.cells[0][0]
    assert whole is not None
    assert whole.value == pytest.approx(np.mean([np.mean(values) for values in found.values()]))
    assert str(whole.rank) == "1"
    assert cell_of(board, "one", "STEM") == pytest.approx(
        np.mean([np.mean(found["exam:physics"]), np.mean(found["exam:chemistry"])])
    )
    assert cell_of(board, "one", "Humanities") == pytest.approx(np.mean(found["exam:history"]))


def test_datasets_of_a_registry_stay_apart_though_one_file_defines_them() -> None:
    shelf = Shelf()
    specs = {
        "klue_ynat": task("klue_ynat", family="klue", about="topics", headline="accuracy"),
        "klue_sts": task("klue_sts", family="klue", about="similarity", headline="accuracy"),
    }
    together = mean_of("klue", "gen", "accuracy_macro", GOOD)
    shelf.add("one", {"klue_ynat": GOOD, "klue_sts": FAIR}, specs=specs, more=[together])
    board = make_board(shelf.runs, shelf.values_of)
    assert [one.dataset for one in board.columns] == ["klue_sts", "klue_ynat"]


def test_a_run_of_other_subsets_is_in_another_column() -> None:
    shelf = Shelf()
    exam(shelf, "one", 1, 0.9)
    shelf.add("two", {"exam:physics": GOOD}, specs={"exam:physics": task("exam:physics", family="exam")})
    board = make_board(shelf.runs, shelf.values_of)
    whole = [one for one in board.columns if one.part is None]
    assert [one.dataset for one in whole] == ["exam", "exam:physics"]
    assert [one.n_models for one in whole] == [1, 1]


def test_registries_groups_and_categories_name_abilities() -> None:
    shelf = Shelf()
    specs = {
        "topics": task("topics", about="주제 분류"),
        "nli": task("nli", about="추론"),
        "math": task("math", categories=("추론",)),
    }
    for model in ("one", "two"):
        tasks = {"topics": GOOD, "nli": FAIR, "math": GOOD}
        shelf.add(model, tasks, specs=specs, groups={"korean": ("topics", "nli")})
    board = make_board(shelf.runs, shelf.values_of)
    abilities = {
        mean.name: [board.columns[at].dataset for at in mean.columns]
        for mean in board.means
        if mean.kind == "ability"
    }
    assert abilities == {"추론": ["math", "nli"], "korean": ["nli", "topics"], "주제 분류": ["topics"]}
    assert cell_of(board, "one", "추론") == pytest.approx(0.75)


def test_a_file_takes_the_place_of_what_datasets_say(tmp_path: Path) -> None:
    shelf = Shelf()
    exam(shelf, "one", 1, 0.9)
    shelf.add("one", {"math": FAIR}, specs={"math": task("math", about="arithmetic")})
    file = tmp_path / "abilities.toml"
    file.write_text('reasoning = ["math", "exam:[STEM]", "mth"]\n"말하기" = ["talk"]\n', encoding="utf-8")
    board = make_board(shelf.runs, shelf.values_of, abilities=read_abilities(file))
    assert [mean.name for mean in board.means if mean.kind == "ability"] == ["reasoning"]
    stem = next(at for at, one in enumerate(board.columns) if one.part == "STEM")
    cell = board.cells[0][stem]
    assert cell is not None
    assert cell_of(board, "one", "reasoning") == pytest.approx((0.6 + cell.value) / 2)
    assert any(
        "'reasoning' names datasets without runs: 'mth' (did you mean 'math'?)" in n for n in board.notes
    )
    assert any("'말하기' names datasets without runs: 'talk'" in note for note in board.notes)


@pytest.mark.parametrize("text", ["reasoning = [", "reasoning = 'math'", "[reasoning]\nx = 1", b"\xff\xfe"])
def test_a_wrong_file_is_rejected(tmp_path: Path, text: str | bytes) -> None:
    file = tmp_path / "abilities.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError, match="BOARD-004"):
        read_abilities(file)


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"BOARD-004.*cannot be read"):
        read_abilities(tmp_path / "none.toml")


def test_a_dataset_of_mixed_scale_is_in_no_ability() -> None:
    shelf = Shelf()
    off_scale = Metric(
        "texts", "gen", "perplexity_token", None, 8.0, 7.0, 9.0, 5, 5, 0, 0, 0, 0.5, False, True
    )
    run = shelf.add("one", {"texts": [8.0, 8.5]}, specs={"texts": task("texts", about="texts")})
    shelf.runs[-1] = run._replace(metrics=[off_scale])
    assert make_board(shelf.runs, shelf.values_of).means == ()
