"""Code of authors that names datasets of the hub, in each dialect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import assay, error_of
from fakes.hub_classes import CONFIG, LEAP, LLMBOX, LOADER
from fakes.hub_server import HubServer

pytest.importorskip("datasets")


def _hub_of(run: Path) -> list[str]:
    (task,) = json.loads((run / "manifest.json").read_text())["tasks"]
    assert task["n_rows"] == 40
    read: list[str] = task["settings"]["hub"]
    return read


def test_a_class_of_llmbox(hub: HubServer, workdir: Path) -> None:
    (workdir / "sums.py").write_text(LLMBOX.replace("LOAD_ARGS", '("openai/gsm8k", "main")'))
    ran = assay("run", "sums.py", "-m", "mock", "--shots", "1", "--out", "run")
    assert ran.status == 0, ran.err
    commit = hub.repositories["dataset", "openai/gsm8k"].head.sha
    assert f"read from the hub: openai/gsm8k, commit {commit}" in ran.out
    assert _hub_of(workdir / "run") == [f"hf://openai/gsm8k@{commit}"]
    (workdir / "all.py").write_text(LLMBOX.replace("LOAD_ARGS", '("gsm8k",)'))
    checked = assay("check", "all.py")
    assert "subsets   main, socratic" in checked.out, "without a subset, all configs"
    (workdir / "gsm8k.py").write_text(LLMBOX.replace("LOAD_ARGS", "()"))
    checked = assay("check", "gsm8k.py:main")
    assert "read from the hub: openai/gsm8k" in checked.out, "without a name, the file's own"
    (workdir / "boolqq.py").write_text(LLMBOX.replace("LOAD_ARGS", "()"))
    code, what, fix = error_of(assay("run", "boolqq.py", "-m", "mock"))
    assert code == "DATA-001"
    assert "there is no dataset 'boolqq' on the hub" in what
    assert fix.startswith("fix: did you mean google/boolq?")
    assert "--data-root" in fix


@pytest.mark.parametrize(
    "entry",
    [
        'type=OwnDataset, path="gsm8k", name="main"',
        'type=CustomDataset, path="openai/gsm8k:main"',
        'type=HFDataset, path="openai/gsm8k", name="main"',
    ],
)
def test_an_entry_of_a_config(hub: HubServer, workdir: Path, entry: str) -> None:
    commit = hub.repositories["dataset", "openai/gsm8k"].head.sha
    (workdir / "own.py").write_text(LOADER)
    (workdir / "sums_gen.py").write_text(CONFIG.replace("ENTRY", entry))
    ran = assay("run", "sums_gen.py", "-m", "mock", "--out", "run")
    assert ran.status == 0, ran.err
    assert f"read from the hub: openai/gsm8k, commit {commit}" in ran.out
    assert _hub_of(workdir / "run") == [f"hf://openai/gsm8k@{commit}"]
    (workdir / "sums_gen.py").write_text(CONFIG.replace("ENTRY", entry.replace("gsm8k", "gsm8kk")))
    assert "did you mean openai/gsm8k?" in assay("run", "sums_gen.py", "-m", "mock").err


def test_a_table_of_a_config(hub: HubServer, workdir: Path) -> None:
    (workdir / "table.py").write_text('datasets = [dict(path="openai/gsm8k:main", data_type="qa")]')
    ran = assay("run", "table.py", "-m", "mock")
    assert "gsm8k:main  40 rows" in ran.out
    assert "read from the hub: openai/gsm8k, config main, split test" in ran.out


def test_a_place_of_data_is_looked_up_on_the_hub(hub: HubServer, workdir: Path) -> None:
    asking = LOADER.replace("load_dataset(path, name)", "load_dataset(get_data_path(path), name)")
    (workdir / "own.py").write_text("from opencompass.utils import get_data_path\n" + asking)
    entry = 'type=OwnDataset, path="openai/gsm8k", name="main"'
    (workdir / "sums_gen.py").write_text(CONFIG.replace("ENTRY", entry))
    ran = assay("run", "sums_gen.py", "-m", "mock")
    assert ran.status == 0, ran.err
    (workdir / "sums_gen.py").write_text(CONFIG.replace("ENTRY", entry.replace("openai/", "data/")))
    failed = assay("run", "sums_gen.py", "-m", "mock")
    assert "there is no 'data/gsm8k' in" in failed.err
    assert hub.find_requests("/data/gsm8k") == [], "that can only be a folder"


def test_a_task_class(hub: HubServer, workdir: Path) -> None:
    (workdir / "sums.py").write_text(LEAP)
    ran = assay("run", "sums.py", "-m", "mock", "--out", "run")
    assert ran.status == 0, ran.err
    commit = hub.repositories["dataset", "openai/gsm8k"].head.sha
    assert f"read from the hub: openai/gsm8k, commit {commit}" in ran.out
    assert _hub_of(workdir / "run") == [f"hf://openai/gsm8k@{commit}"]
    (workdir / "sums.py").write_text(LEAP.replace("openai/gsm8k", "openai/gsm8kk"))
    code, what, fix = error_of(assay("run", "sums.py", "-m", "mock"))
    assert code == "LEAP-007"
    assert "there is no dataset 'openai/gsm8kk' on the hub" in what
    assert "did you mean openai/gsm8k?" in fix
