"""assay compare and assay diff end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay

EXAMPLES = Path(__file__).parents[2] / "examples"
ARITHMETIC = str(EXAMPLES / "arithmetic.csv")


def run(out: str, *arguments: str, data: str = ARITHMETIC) -> None:
    result = assay("run", data, "-m", "mock", "--out", out, *arguments)
    assert result.status in (0, 3), result.err


def scores(folder: str) -> dict[tuple[str, str], dict[str, Any]]:
    lines = (
        json.loads(line) for line in Path(folder, "scores.jsonl").read_text(encoding="utf-8").splitlines()
    )
    return {(one["track"], one["sample_id"]): one for one in lines}


def test_which_is_better_by_three_methods(workdir: Path) -> None:
    run("one", "--method", "ppl,gen", "--model-arg", "fail_every=9")
    run("two", "--method", "ppl,gen", "--model-arg", "answer=B")
    result = assay("compare", "one", "two", "--json")
    assert result.status == 0
    found = json.loads(result.out)
    a, b = scores("one"), scores("two")
    for compared in (one for one in found["comparison"]["metrics"] if one["is_headline"]):
        method = compared["method"]
        pairs = [
            (a[key]["value"], b[key]["value"])
            for key in a
            if key[0] == method and "failed" not in (a[key]["verdict"], b[key]["verdict"])
        ]
        assert compared["result"]["n"] == len(pairs) < 30
        assert compared["n_failed"] == 30 - len(pairs)
        assert compared["result"]["difference"] == pytest.approx(sum(y - x for x, y in pairs) / len(pairs))
    flips = next(one for one in found["flips"] if one["method"] == "gen")
    assert len(flips["only_second"]) == 5
    for flip in flips["only_second"]:
        assert a["gen", flip["sample_id"]]["value"] == 0 == 1 - b["gen", flip["sample_id"]]["value"]
        assert flip["question"].endswith("=")
    names = {one["metric"] for one in found["comparison"]["metrics"] if one["method"] == "ppl"}
    assert {"accuracy", "accuracy_per_token"} <= names
    shown = assay("compare", "one", "two")
    assert "failed on at least one side" in shown.out
    assert "one  mock" in shown.out
    table = assay("compare", "one", "two", "--markdown").out
    assert table.startswith("# one vs two\n")


def test_another_metric_and_methods_across_runs(workdir: Path) -> None:
    run("one", "--method", "ppl,prob,gen")
    result = assay("compare", "one", "--methods", "ppl,prob,gen")
    assert result.status == 0
    assert "A  ppl" in result.out
    assert "ppl / prob / gen" in result.out
    across = assay("compare", "one", "one", "--methods", "ppl,gen")
    assert "ppl / gen" in across.out
    assert assay("compare", "one", "one", "--metric", "brier").out.count("brier") == 2


def test_perplexities_are_compared(workdir: Path) -> None:
    rows = "".join(json.dumps({"text": f"one two three {n} " * (n + 3)}) + "\n" for n in range(8))
    Path("texts.jsonl").write_text(rows, encoding="utf-8")
    run("a", data="texts.jsonl")
    Path("more.jsonl").write_text(rows, encoding="utf-8")
    run("b", "--window-tokens", "8", data="more.jsonl")
    result = assay("compare", "a", "b")
    assert result.status == 0
    assert "% lower (better) than A" in result.out
    assert "windows differs" in result.out
    assert "different names: 'texts' in a, 'more' in b" in result.out


def test_texts_of_models_do_not_steer_the_terminal(workdir: Path) -> None:
    Path("q.jsonl").write_text(
        "".join(json.dumps({"question": f"\x1b[31m[red]{n}", "answer": "x"}) + "\n" for n in range(3)),
        encoding="utf-8",
    )
    run("a", "--model-arg", "answer=x", data="q.jsonl")
    run("b", "--model-arg", "answer=\x1b]0;owned\x07[/bold]", data="q.jsonl")
    for command in (("compare", "a", "b"), ("diff", "a", "b")):
        result = assay(*command)
        assert result.status == 0
        assert "\x1b" not in result.out
        assert "\x07" not in result.out
        assert "[/bold]" in result.out or "[red]" in result.out


def test_why_two_runs_differ(workdir: Path) -> None:
    run("one", "--method", "ppl,gen")
    run("two", "--method", "ppl,gen", "--max-tokens", "7")
    result = assay("diff", "one", "two")
    assert "sampling.max_tokens: A: 256  B: 7" in result.out
    assert "30 differ in the request parameters (first: gen answer 0: max_tokens)" in result.out
    only = assay("diff", "one", "two", "--methods", "ppl")
    assert "30 are the same" in only.out
    assert assay("diff", "one", "two", "--layer", "output").out.count("gen answer 0") == 1
    found = json.loads(assay("diff", "one", "two", "--json", "--examples", "2").out)["diff"]
    counts = {one["layer"]: (one["n"], len(one["examples"])) for one in found["layers"]}
    assert counts["parameters"] == (30, 2)
    assert found["n_same"] == 0
    whole = json.loads(assay("diff", "one", "two", "--json", "--sample", "row:3").out)["sample"]
    assert whole["findings"][0]["layer"] == "parameters"
    assert "this sample is the same in both runs" in assay("diff", "one", "one", "--sample", "row:3").out


def test_one_dataset_in_two_languages_is_matched_by_row(workdir: Path) -> None:
    source = Path(ARITHMETIC).read_text(encoding="utf-8").splitlines()
    named = [f"id,{source[0]}", *(f"n{at},{line}" for at, line in enumerate(source[1:]))]
    Path("arithmetic.csv").write_text("\n".join(named) + "\n", encoding="utf-8")
    run("one")
    run("two", data="arithmetic.csv")
    result = assay("diff", "one", "two")
    assert "matched by row number" in result.out
    assert "30 are the same" in result.out


@pytest.mark.model
@pytest.mark.slow
def test_methods_of_the_real_model(workdir: Path) -> None:
    common = ("-m", "smollm2", "--limit", "3", "--method", "ppl,gen", "--max-tokens", "6")
    for name, more in (("plain", ()), ("shown", ("--shots", "2"))):
        assert assay("run", ARITHMETIC, *common, *more, "--out", name).status == 0
    result = assay("compare", "plain", "shown")
    assert result.status == 0
    assert "shots differs: plain 0, shown 2" in result.out
    assert assay("compare", "plain", "--methods", "ppl,gen").status == 0
    why = assay("diff", "plain", "shown")
    assert "3 differ in the prompt" in why.out
    assert "message 1 (user), character" in why.out
    same = assay("run", ARITHMETIC, *common, "--no-cache", "--out", "again")
    assert same.status == 0
    assert "3 are the same" in assay("diff", "plain", "again").out
