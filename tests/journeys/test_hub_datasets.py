"""`assay` on datasets of the Hugging Face hub: the real clients, real rows, and a hub on the loopback."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from cli import assay, error_of
from fakes.hub_clients import lead_clients
from fakes.hub_datasets import parquet
from fakes.hub_server import HubServer, broken, rate_limited, status, times

pytest.importorskip("datasets")


def _manifest(workdir: Path) -> dict[str, Any]:
    (found,) = workdir.glob("runs/*/manifest.json")
    manifest: dict[str, Any] = json.loads(found.read_text())
    return manifest


def test_a_config_is_read_by_name_and_its_commit_is_the_runs(hub: HubServer, workdir: Path) -> None:
    ran = assay("run", "openai/gsm8k:main", "-m", "mock")
    assert ran.status == 0, ran.err
    commit = hub.repositories["dataset", "openai/gsm8k"].head.sha
    assert f"read from the hub: openai/gsm8k, config main, split test, commit {commit}" in ran.out
    (task,) = _manifest(workdir)["tasks"]
    assert task["n_rows"] == 40, "both shards"
    assert task["source"] == f"hf://openai/gsm8k:main@{commit}#test"
    assert task["settings"]["hub"] == [task["source"]]
    assert hub.find_requests("GET /datasets/openai/gsm8k/resolve/" + commit + "/README.md")
    train = hub.find_requests(f"/resolve/{commit}/main/train-")
    assert train == [], "the files of other splits are not downloaded"


def test_several_configs_are_listed_as_commands(hub: HubServer) -> None:
    code, what, fix = error_of(assay("run", "openai/gsm8k", "-m", "mock"))
    assert code == "HUB-003"
    assert what == "the dataset has 2 configs: 'main', 'socratic'"
    assert fix == "fix: name one: assay run openai/gsm8k:main; assay run openai/gsm8k:socratic"


def test_a_file_of_that_name_comes_first(hub: HubServer, workdir: Path) -> None:
    (workdir / "openai").mkdir()
    (workdir / "openai" / "gsm8k").write_text("x")
    assert error_of(assay("run", "openai/gsm8k", "-m", "mock"))[0] == "SOURCE-002"
    assert hub.log == []


def test_a_path_that_is_not_there_says_so_too(hub: HubServer, workdir: Path) -> None:
    (workdir / "data").mkdir()
    (workdir / "data" / "quiz.csv").write_text("question,answer\n1+1=,2\n")
    code, what, _ = error_of(assay("run", "data/quizz", "-m", "mock"))
    assert code == "HUB-002"
    assert what.startswith("there is no file 'data/quizz' (did you mean 'quiz.csv'?); there is no dataset")


def test_a_data_root_comes_before_the_hub_unless_a_revision_is_named(
    hub: HubServer, workdir: Path, shared_data: Path
) -> None:
    ran = assay("run", "openai/gsm8k", "--data-root", str(shared_data), "--split", "test", "-m", "mock")
    assert ran.status == 0, ran.err
    assert "1,319 rows" in ran.out
    ran = assay("run", "hf://openai/gsm8k#test", "--data-root", str(shared_data), "-m", "mock")
    assert "1,319 rows" in ran.out
    assert hub.log == []
    ran = assay("run", "openai/gsm8k:main@main", "--data-root", str(shared_data), "-m", "mock")
    assert "40 rows" in ran.out
    ran = assay("run", "google/boolq", "--data-root", str(workdir), "-m", "mock")
    assert "read from the hub: google/boolq" in ran.out


def test_a_revision_reproduces_the_rows(hub: HubServer, workdir: Path) -> None:
    rows = [{"question": "1 + 1 =", "answer": "2"}]
    repository = hub.add_dataset("org/growing", {"test.parquet": parquet(rows)})
    repository.tag("v1")
    first = repository.head.sha
    assert assay("run", "org/growing", "-m", "mock").status == 0
    repository.commit({"test.parquet": parquet(rows * 3)})
    assert assay("run", "org/growing", "-m", "mock").status == 0
    manifests = [json.loads(path.read_text()) for path in workdir.glob("runs/*/manifest.json")]
    assert len(manifests) == 2, "another commit is another run"
    again = assay("run", f"hf://org/growing@{first}", "-m", "mock")
    assert again.status == 0, again.err
    assert "is complete" in again.err, "the run of that commit is found again"
    tagged = assay("check", "org/growing@v1")
    assert f"split test, commit {first}" in tagged.out
    into = str(workdir / "one")
    assert assay("run", "org/growing@v1", "-m", "mock", "--out", into).status == 0
    other = assay("run", "org/growing", "-m", "mock", "--out", into)
    assert other.status == 2
    assert f"org/growing:default@{first}#test" in other.err, "the folder holds a run of another commit"
    runs = sorted(str(path.parent) for path in workdir.glob("runs/*/manifest.json"))
    compared = assay("compare", *runs)
    note = "read from the hub at different commits: "
    assert note in compared.out
    assert f"org/growing:default@{first[:12]}#test" in compared.out


def test_shots_come_from_another_split_or_another_dataset(hub: HubServer, workdir: Path) -> None:
    ran = assay("run", "openai/gsm8k:main", "-m", "mock", "--shots", "1", "--shots-from", "train")
    assert ran.status == 0, ran.err
    assert "Natalia sold clips" in ran.out
    (task,) = _manifest(workdir)["tasks"]
    assert [name.rpartition("#")[2] for name in task["settings"]["hub"]] == ["test", "train"]
    (workdir / "own.csv").write_text("question,answer\n1+1=,2\n")
    ran = assay("run", "own.csv", "-m", "mock", "--shots", "1", "--shots-from", "hf://openai/gsm8k:main")
    assert "Natalia sold clips" in ran.out, "the split for examples is train"


def test_the_split_that_is_evaluated(hub: HubServer) -> None:
    ran = assay("run", "stanfordnlp/sst2", "-m", "mock", "--answer-column", "label")
    assert "split validation" in ran.out
    assert "split validation" in assay("check", "stanfordnlp/sst2", "--split", "dev").out
    only = assay("check", "org/only_train")
    assert "the only split is 'train': models may have been trained on it" in only.out
    code, what, fix = error_of(assay("run", "org/halves", "-m", "mock"))
    assert (code, fix) == ("HUB-004", "fix: name one: --split first, --split second")
    code, what, fix = error_of(assay("run", "openai/gsm8k:socratic", "--split", "train", "-m", "mock"))
    assert (code, fix) == ("HUB-004", "fix: use one of: --split test")
    assert what == "config 'socratic' has no split 'train'; it has 'test'"
    code, what, fix = error_of(assay("run", "openai/gsm8k:man", "-m", "mock"))
    assert (code, what) == ("HUB-003", "the dataset has no config 'man' (did you mean 'main'?)")


def test_what_a_dataset_holds(hub: HubServer) -> None:
    listed = assay("ls", "datasets", "openai/gsm8k", "stanfordnlp/sst2")
    assert listed.status == 0, listed.err
    lines = [line.split() for line in listed.out.splitlines()]
    assert ["openai/gsm8k:main#train", "20", "question", "(string),", "answer", "(string)"] in lines
    assert ["openai/gsm8k:main#test", "40", "question", "(string),", "answer", "(string)"] in lines
    assert "label (label (negative, positive))" in listed.out
    answer = json.loads(assay("ls", "datasets", "stanfordnlp/sst2", "--json").out)
    (dataset,) = answer["hub"]
    assert dataset["splits"][1]["name"] == "stanfordnlp/sst2#validation"
    assert dataset["splits"][1]["columns"]["label"] == "label (negative, positive)"


def test_old_names_are_redirected(hub: HubServer) -> None:
    checked = assay("check", "hf://gsm8k:main")
    assert "read from the hub: openai/gsm8k, config main" in checked.out


@pytest.mark.parametrize(
    ("name", "token", "code", "says"),
    [
        ("openai/gsm8kk", None, "HUB-002", "did you mean openai/gsm8k?"),
        ("openai/gsm8k:main@v9", None, "HUB-012", "use a branch, a tag or a commit of it: 'main'"),
        ("org/gated", None, "HUB-005", "then set HF_TOKEN to a token of that account"),
        ("org/gated", "hf_stranger", "HUB-005", "ask for access on"),
        ("org/gated", "hf_typo", "HUB-005", "set HF_TOKEN to a valid token"),
        ("org/scripted", None, "HUB-006", "use a copy of the dataset in data files"),
        ("org/empty", None, "HUB-006", "use another dataset"),
        ("org/broken", None, "HUB-013", "report it on the dataset's page"),
    ],
)
def test_errors_say_how_to_fix_them(
    hub: HubServer,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    token: str | None,
    code: str,
    says: str,
) -> None:
    lead_clients(monkeypatch, hub, home, token=token)
    found, _, fix = error_of(assay("run", name, "-m", "mock"))
    assert found == code
    assert says in fix


def test_a_token_opens_a_gated_dataset(hub: HubServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lead_clients(monkeypatch, hub, home, token="hf_reader")
    ran = assay("run", "org/gated", "-m", "mock")
    assert ran.status == 0, ran.err


def test_a_busy_or_broken_hub_is_reported_and_a_short_failure_is_not(hub: HubServer) -> None:
    hub.faults["GET /api/datasets/google/boolq"] = [rate_limited(240)]
    code, what, fix = error_of(assay("run", "google/boolq", "-m", "mock"))
    assert code == "HUB-007"
    assert "it accepts requests again in 240 s" in what
    assert "HF_TOKEN" in fix
    hub.faults["GET /api/datasets/google/boolq"] = times(5, status(503))
    assert error_of(assay("run", "google/boolq", "-m", "mock"))[0] == "HUB-008"
    hub.faults["GET /api/datasets/google/boolq"] = [status(502)]
    assert assay("run", "google/boolq", "-m", "mock").status == 0


def test_without_a_network_what_is_in_the_cache_loads_offline(
    real_hub: HubServer, workdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    lead_clients(monkeypatch, real_hub, home)
    assert assay("run", "openai/gsm8k:main", "-m", "mock").status == 0
    real_hub.log.clear()
    lead_clients(monkeypatch, real_hub, home, is_offline=True)
    again = assay("run", "openai/gsm8k:main", "-m", "mock")
    assert again.status == 0, again.err
    assert "is complete" in again.err, "offline it is the same run"
    code, what, fix = error_of(assay("run", "openai/gsm8k:main", "--split", "train", "-m", "mock"))
    assert code == "HUB-009"
    assert "does not contain config 'main', split 'train'" in what
    assert "run once without --offline" in fix
    assert error_of(assay("run", "google/boolq", "-m", "mock"))[0] == "HUB-009"
    assert real_hub.log == []
    real_hub.faults["/"] = times(20, broken)
    lead_clients(monkeypatch, real_hub, home)
    code, what, _ = error_of(assay("run", "google/boolq", "-m", "mock"))
    assert code in ("HUB-008", "HUB-011")
    real_hub.faults.clear()
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    code, what, fix = error_of(assay("run", "google/boolq", "-m", "mock"))
    assert code == "HUB-008"
    assert "the hub at http://127.0.0.1:9 cannot be reached" in what
    assert "--offline" in fix


EVAL_FILE = """
evaluation_framework: inspect-ai
tasks:
  - id: open
    field_spec: {input: asked, target: reply}
    solvers: [{name: generate}]
    scorers: [{name: match}]
  - id: quiz
    split: validation
    field_spec: {input: asked, target: index, choices: options}
    solvers: [{name: multiple_choice}]
    scorers: [{name: choice}]
"""
ROW = '{"asked": "Capital of France?", "reply": "Paris", "options": ["Bonn", "Paris"], "index": 1}\n'


def test_the_tasks_of_an_eval_file_are_run_where_the_name_alone_is_given(
    hub: HubServer, home: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead_clients(monkeypatch, hub, home)
    files = {"eval.yaml": EVAL_FILE, "test.jsonl": ROW * 2, "validation.jsonl": ROW}
    commit = hub.add_dataset("org/described", files).head.sha
    command = ("run", "org/described", "-m", "mock", "--model-arg", "answer=Paris")
    ran = assay(*command)
    assert ran.status == 0, ran.err
    assert re.search(r"org/described:open +gen +match +2/2 +100\.0", ran.out)
    assert re.search(r"org/described:quiz +gen +choice +1/1 +100\.0", ran.out)
    note = "prompted and scored by task 'open' of the repository's eval.yaml"
    assert f"{note}; assay run org/described:default#test reads a plain table" in " ".join(ran.out.split())
    lead_clients(monkeypatch, hub, home, is_offline=True)
    assert "is complete" in assay(*command).err, "the cache has the file too"
    plain = assay("run", "org/described:default#test", "-m", "mock", "--question", "asked")
    assert "eval.yaml" not in plain.out + plain.err
    pinned = assay("check", f"org/described@{commit}")
    assert f"assay run org/described:default@{commit}#test" in " ".join(pinned.out.split()), pinned.err


def test_an_eval_file_that_cannot_be_run_stops_or_is_not_used(
    hub: HubServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead_clients(monkeypatch, hub, home)
    hub.add_dataset("org/tools", {"eval.yaml": EVAL_FILE.replace("generate", "use_tools"), "test.jsonl": ROW})
    code, what, fix = error_of(assay("run", "org/tools", "-m", "mock"))
    assert code == "TABLE-036"
    assert "use_tools" in what
    assert "assay run org/tools#SPLIT" in fix
    other = "evaluation_framework: math-arena\ntasks: [{id: sums, config: default, split: test}]\n"
    hub.add_dataset("org/arena", {"eval.yaml": other, "test.csv": "question,answer\n1+1=,2\n"})
    ran = assay("run", "org/arena", "-m", "mock")
    assert ran.status == 0, ran.err
    assert "the repository's eval.yaml is not used" in ran.out


def test_without_the_extra_the_error_says_what_to_install(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    code, what, fix = error_of(assay("run", "google/boolq", "-m", "mock"))
    assert code == "HUB-001"
    assert "needs the package 'huggingface_hub', which is not installed" in what
    assert fix == "fix: pip install 'assay-eval[datasets]'"
