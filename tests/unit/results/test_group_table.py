"""The table of a group of runs."""

from __future__ import annotations

from pathlib import Path

from assay.results.group_table import GroupRow, build_group_table, describe_counts
from assay.results.read import StoredRun
from cli import assay


def row(folder: str, model: str, prompt: str | None = None) -> GroupRow:
    run = StoredRun(Path(folder))
    return GroupRow(model, prompt, run.manifest, run.metrics())


def make_run(workdir: Path, name: str, *arguments: str) -> None:
    for number in range(4):
        (workdir / f"d{number}.csv").write_text("question,A,B,answer\n1+1=,2,3,A\n", encoding="utf-8")
    assert assay("run", *arguments, "-m", "mock", "--out", name).status == 0


def test_models_are_rows_and_what_has_no_score_says_why(workdir: Path) -> None:
    make_run(workdir, "one", "d0.csv")
    rows = [row("one", "a"), GroupRow("b", None, None, (), "failed"), row("one", "c")]
    table = build_group_table(rows, ["A", "", "B"])
    assert table.headings == ["", "model", "d0\ngen"]
    value = table.rows[0][2]
    assert value.endswith(")")
    assert "–" in value
    assert table.rows == [["A", "a", value], ["", "b", "failed"], ["B", "c", value]]


def test_a_single_model_with_several_prompts_is_not_repeated(workdir: Path) -> None:
    make_run(workdir, "one", "d0.csv")
    table = build_group_table([row("one", "a", "x"), row("one", "a", "y")], ["", ""])
    assert table.headings == ["prompt", "d0\ngen"]
    grid = build_group_table([row("one", "a", "x"), row("one", "b", "x")], ["", ""])
    assert grid.headings == ["model", "prompt", "d0\ngen"]


def test_many_columns_become_rows(workdir: Path) -> None:
    make_run(workdir, "many", "d0.csv", "d1.csv", "d2.csv", "d3.csv", "--method", "ppl,gen")
    table = build_group_table([row("many", "a"), row("many", "b")], ["A", "B"])
    assert table.headings == ["task", "method", "A\na", "B\nb"]
    assert [one[:2] for one in table.rows][:2] == [["d0", "ppl"], ["d0", "gen"]]
    assert len(table.rows) == 8


def test_each_score_has_its_counts(workdir: Path) -> None:
    make_run(workdir, "all", "d0.csv", "--method", "gen,ppl")
    (workdir / "d9.csv").write_text("question,A,B,answer\n1+1=,2,3,A\n2+2=,4,5,A\n", encoding="utf-8")
    odd = ("--model-arg", "answer=no idea", "--method", "gen")
    assert assay("run", "d9.csv", "-m", "mock", *odd, "--out", "none").status == 0
    assert describe_counts([row("all", "a")]) == ["n = 1 in each score"]
    lines = describe_counts([row("all", "a"), row("none", "b", "p")])
    assert lines == [
        "a, d0 gen: 1 of 1 counted",
        "a, d0 ppl: 1 of 1 counted",
        "b · p, d9 gen: 2 of 2 counted, 100.0 % unanswered",
    ]
