"""A run folder as the program itself writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay

ROWS = 60


@pytest.fixture(scope="session")
def mock_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run of three methods and three groups on the mock, of which some requests failed."""
    folder = tmp_path_factory.mktemp("mock")
    table = folder / "letters.csv"
    lines = ["id,question,A,B,C,D,answer,category"]
    for nth in range(ROWS):
        lines.append(
            f"q{nth},which letter is number {nth}?,ay {nth},bee,sea,dee {nth},{'ABCD'[nth % 4]},g{nth % 3}"
        )
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = assay.run(
        table,
        model="mock",
        model_args={"fail_every": "40"},
        method=("ppl", "prob", "gen"),
        table={"ppl_target": "text"},
        out=str(folder / "run"),
        cache=False,
    )
    assert result.folder == folder / "run"
    return folder / "run"
