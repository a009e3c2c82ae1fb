from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import assay
from assay.app.api.result import RunResult
from fakes.leap_tasks import CHOICE, questions

DATA = "question,A,B,answer,category\n1+1=,1,2,B,x\n2+2=,4,5,A,y\n3+3=,7,6,B,y\n"


@pytest.fixture
def data(workdir: Path) -> Path:
    path = workdir / "data.csv"
    path.write_text(DATA, encoding="utf-8")
    return path


def test_a_run_comes_back_as_plain_data(data: Path) -> None:
    result = assay.run(data, model="mock", method=["ppl", "gen"])
    assert result.folder.parent == Path("runs")
    assert {row["method"] for row in result.metrics} == {"ppl", "gen"}
    assert len(result.scores) == 6
    assert all(isinstance(score, dict) for score in result.scores)
    first = result.rows[0]
    assert (first["question"], first["category"]) == ("1+1=", "x")
    assert first["gen_answer"] in ("A", "B")
    assert first["ppl_accuracy"] in (0.0, 1.0)
    assert result.score("gen") == sum(row["gen_accuracy"] for row in result.rows) / 3
    assert "gen" in repr(result)
    with pytest.raises(assay.AssayError, match="USAGE-007"):
        result.score()


def test_it_works_inside_a_running_event_loop(data: Path) -> None:
    async def notebook() -> RunResult:
        return assay.run(str(data), model="mock", model_args={"answer": "B"}, limit=2)

    result = asyncio.run(notebook())
    assert len(result.rows) == 2
    assert {row["gen_answer"] for row in result.rows} == {"B"}


def test_frames(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    result = assay.run(data, model="mock")
    for what, length in (("rows", 3), ("scores", 3)):
        frame = result.frame(what)  # type: ignore[arg-type]
        assert isinstance(frame, pandas.DataFrame)
        assert len(frame) == length
    assert set(result.frame()["metric"]) >= {"accuracy"}
    monkeypatch.setattr("assay.app.api.result.find_spec", lambda name: None)
    with pytest.raises(assay.AssayError, match="USAGE-007"):
        result.frame()


def test_wrong_calls_are_errors_a_person_can_read(data: Path) -> None:
    with pytest.raises(assay.AssayError, match="USAGE-004"):
        assay.run([])
    with pytest.raises(TypeError, match="methods"):
        assay.run(data, model="mock", methods=["gen"])  # type: ignore[call-arg]
    with pytest.raises(assay.AssayError, match="USAGE-001"):
        assay.run(data, model="mock", shots="many")  # type: ignore[arg-type]


def test_what_a_meta_file_says_can_be_said_in_the_call(data: Path) -> None:
    result = assay.run(data, model="mock", table={"abbr": "mine", "category_column": "answer"})
    assert {row["task"] for row in result.metrics} == {"mine"}
    assert {row["group"] for row in result.metrics} >= {"A", "B"}


def test_public_names() -> None:
    assert sorted(assay.__all__) == assay.__all__
    assert all(getattr(assay, name) is not None for name in assay.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        assay.nope  # noqa: B018


def test_secrets_do_not_enter_the_manifest(data: Path) -> None:
    from assay.app.settings import resolve_settings

    settings = resolve_settings({"model_args": {"api_key": "sk-123", "dtype": "float32"}}, {}, Path("."))
    assert "sk-123" not in str(settings.to_manifest())
    assert settings.to_manifest()["model_args"].value["dtype"] == "float32"


def test_of_several_metrics_the_one_that_decides_is_the_score(tmp_path: Path) -> None:
    text = CHOICE.replace('{"acc": mean}', '{"acc": mean, "wrong": mean}')
    text = text.replace('== doc["a"]}', '== doc["a"], "wrong": 0.25}')
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    (tmp_path / "rows.json").write_text(json.dumps({"validation": questions(4)}), encoding="utf-8")
    result = assay.run(tmp_path / "mine.py", model="mock", runs_dir=str(tmp_path / "runs"))
    values = {metric["metric"]: metric["value"] for metric in result.metrics}
    assert result.score() == values["acc"]
    assert result.score(metric="wrong") == 0.25
    assert repr(result).count("mine ppl") == 1
    with pytest.raises(assay.AssayError, match=r"0 scores match.*'acc', 'wrong'"):
        result.score(metric="f1")
