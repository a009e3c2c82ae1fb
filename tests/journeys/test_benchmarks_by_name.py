"""`assay ls benchmarks`, and `assay run SOURCE:NAME` with packages that are read, never imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import assay
from fakes.benchmark_packages import write_packages, write_rows


@pytest.fixture(autouse=True)
def _packages(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(workdir / "cache"))
    monkeypatch.syspath_prepend(str(write_packages(workdir / "site")))


def test_the_list_names_method_data_and_title() -> None:
    result = assay("ls", "benchmarks")
    assert result.status == 0, result.err
    lines = [line.split(maxsplit=3) for line in result.out.splitlines() if ":" in line.split(" ")[0]]
    assert ["opencompass:sums_gen", "gen", "missing", "Sums of two numbers."] in lines
    assert ["lm_eval:capitals", "1", "part", "hub      Do Models Know Capitals?"] in lines
    assert "OpenCompass 9.1.0: 4 benchmarks in " in result.out
    assert "lm_eval:capitals_easy" not in result.out, "a member that is named after its group is left out"
    assert "lm_eval:capitals_easy" in assay("ls", "benchmarks", "--all").out


def test_the_list_as_json() -> None:
    answer = json.loads(assay("ls", "benchmarks", "opencompass:sums_gen", "--json").out)
    assert answer["kind"] == "benchmarks"
    assert [one["name"] for one in answer["benchmarks"]] == [
        "opencompass:sums_gen",
        "opencompass:sums_gen_abc123",
    ]
    assert answer["benchmarks"][0]["datasets"] == ["opencompass/sums"]


def test_a_word_that_matches_nothing_says_where_it_was_looked_for() -> None:
    out = assay("ls", "benchmarks", "hums").out
    assert "'hums' matches nothing in lm_eval, opencompass, aisbench" in out


def test_a_folder_called_benchmarks_is_still_listed(workdir: Path) -> None:
    (workdir / "benchmarks").mkdir()
    (workdir / "benchmarks" / "data.csv").write_text("question,answer\n1,2\n")
    assert "benchmarks/data.csv" in assay("ls", "datasets", "benchmarks").out
    assert "no runs under benchmarks/" in assay("ls", "--runs-dir", "benchmarks").out


def test_a_benchmark_runs_once_its_data_is_there(workdir: Path) -> None:
    missing = assay("run", "opencompass:sums_gen", "-m", "mock")
    assert missing.status == 2
    assert "'opencompass/sums', which OpenCompass keeps in './data/sums/'" in missing.err
    assert "--data-root DIR" in missing.err
    write_rows(workdir / "mine" / "sums")
    result = assay(
        "run",
        "opencompass:sums_gen",
        "-m",
        "mock",
        "--model-arg",
        "answer=2",
        "--data-root",
        "mine",
        "--json",
    )
    assert result.status == 0, result.err
    answer = json.loads(result.out)
    assert answer["tasks"] == ["sums"]
    assert answer["n_samples"] == 2
    checked = assay("check", "opencompass:sums_gen", "--data-root", "mine")
    assert checked.status == 0, checked.err
    assert "SumsDataset" in checked.out


def test_data_in_the_originals_own_cache_folder_is_found(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(workdir / "home"))
    write_rows(workdir / "home" / ".cache" / "opencompass" / "data" / "sums")
    result = assay("run", "opencompass:sums_gen", "-m", "mock")
    assert result.status == 0, result.err


def test_a_misspelt_name_and_a_missing_source_are_reported_before_anything_starts() -> None:
    typo = assay("run", "opencompass:sums_gne", "-m", "mock")
    assert (typo.status, "did you mean 'sums_gen'?" in typo.err) == (2, True)
    missing = assay("check", "llmbox:mmlu")
    assert "name the folder of a checkout: --benchmarks-from DIR" in missing.err
    assert "there is no source 'opencompas' (did you mean 'opencompass'?)" in (
        assay("ls", "benchmarks", "--source", "opencompas").err
    )


def test_configs_of_one_dataset_run_together_under_their_own_names(workdir: Path) -> None:
    write_rows(workdir / "mine" / "sums")
    flags = ("-m", "mock", "--model-arg", "answer=2", "--data-root", "mine")
    named = ("opencompass:sums_gen", "opencompass:sums_gen_abc123")
    alone = json.loads(assay("run", named[0], *flags, "--json").out)
    result = assay("run", *named, *flags, "--json")
    assert result.status == 0, result.err
    assert json.loads(result.out)["tasks"] == list(named)
    manifest = json.loads((workdir / json.loads(result.out)["folder"] / "manifest.json").read_text())
    assert [task["benchmark"] for task in manifest["tasks"]] == list(named)
    assert [Path(task["source"]).name for task in manifest["tasks"]] == ["sums_gen.py", "sums_gen_abc123.py"]
    values = [one["value"] for one in json.loads(result.out)["metrics"]]
    assert values == [alone["metrics"][0]["value"]] * 2
    again = assay("run", *named, *flags, "--stage", "score")
    assert again.status == 0, again.err
    (workdir / "sums.csv").write_text("question,answer\n1+1,2\n")
    beside = json.loads(assay("run", named[0], "sums.csv", *flags, "--json").out)
    assert beside["tasks"] == [named[0], "sums"]
    checked = assay("check", *named, "--data-root", "mine").out
    assert "opencompass:sums_gen_abc123  2 rows" in checked
