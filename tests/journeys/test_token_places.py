"""The scored tokens of a real run match the positions in its folder, with and without a chat template."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.explain import explain
from assay.core.request import Kind
from assay.core.response import Likelihood
from assay.results.read import StoredRun
from cli import assay

ROWS = """question,A,B,answer
What is the capital of France?,a river in Germany,Paris,B
대한민국의 수도는 어디입니까?,부산광역시,서울특별시,B
"""


@pytest.mark.model
@pytest.mark.parametrize("chat", ["on", "off"])
def test_each_scored_token_is_found_in_the_scored_text(workdir: Path, chat: str) -> None:
    (workdir / "capitals.csv").write_text(ROWS, encoding="utf-8")
    result = assay(
        *("run", "capitals.csv", "-m", "smollm2", "--method", "ppl", "--ppl-target", "text"),
        *("--score-by", "pmi", "--chat", chat, "--no-cache", "--out", "run"),
    )
    assert result.status == 0, result.out + result.err
    n_whole = 0
    for row in ("row:1", "row:2"):
        for ask in explain(StoredRun(Path("run")), row, with_tokens=True).asks:
            assert ask.response is not None
            outcome = ask.response.outcome
            assert ask.record.kind is Kind.SPAN
            assert isinstance(outcome, Likelihood)
            assert outcome.token_starts[0] == 0
            text, ends = ask.record.text, [*outcome.token_starts[1:], len(ask.record.text)]
            parts = [text[one:end] for one, end in zip(outcome.token_starts, ends, strict=True)]
            scored = [token.text for token in ask.tokens if token.is_scored]
            for part, shown in zip(parts, scored, strict=True):
                # A part of a character is shown by its bytes, and has the character's place.
                assert part == shown or "<0x" in shown
                n_whole += part == shown
            assert "".join(parts) == text
    assert n_whole > 8
