"""Runs of several kinds to export, and to import again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.app.export_run import export_run
from assay.app.import_log import import_log
from assay.results.read import StoredRun

_QUESTIONS = "id,question,A,B,C,D,answer,category\n" + "".join(
    f'q{n},"which letter is number {n}, please?",ay {n},bee,sea,dee {n},{"ABCD"[n % 4]},g{n % 3}\n'
    for n in range(24)
)
_SUMS = "question,answer\n" + "".join(f"what is {n} plus {n}?,{n + n}\n" for n in range(12))
_TEXTS = "".join(json.dumps({"text": f"A short text number {n} about nothing."}) + "\n" for n in range(6))
_TRANSLATIONS = "question,answer\n" + "".join(f"das ist Satz {n},this is sentence {n}\n" for n in range(8))


def _run(folder: Path, name: str, content: str, **settings: Any) -> StoredRun:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    out = folder / path.stem
    return StoredRun(assay.run(path, model="mock", out=str(out), cache=False, **settings).folder)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredRun]:
    """Runs by kind: three methods with failures and groups, repeats, perplexity, and corpus metrics."""
    folder = tmp_path_factory.mktemp("exchanged")
    corpus = _run(folder, "translations.csv", _TRANSLATIONS)
    assay.score(corpus.path, metric="bleu")
    corpus = StoredRun(corpus.path)
    return {
        "choices": _run(
            folder, "letters.csv", _QUESTIONS, method=("ppl", "prob", "gen"), model_args={"fail_every": "20"}
        ),
        "repeats": _run(folder, "sums.csv", _SUMS, samples=3, temperature=0.7),
        "texts": _run(folder, "texts.jsonl", _TEXTS),
        "corpus": corpus,
    }


@pytest.fixture
def exchange(tmp_path: Path) -> Callable[[StoredRun, str], StoredRun]:
    """Exports a run to a format and imports the result."""

    def exchange_run(run: StoredRun, format_name: str) -> StoredRun:
        _, files = export_run(run, format_name, tmp_path / "exported")
        path = files[0] if len(files) == 1 else tmp_path / "exported"
        done = import_log(path, format_name=format_name, out=None, runs_dir=tmp_path / "runs")
        assert done.is_new
        return done.run

    return exchange_run
