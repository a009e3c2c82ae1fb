"""A broken file of judge prompts: every error has its line and appears before a judge is queried."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import AuthorError
from assay.scoring.judges.prompts import load_prompts

BROKEN = Path(__file__).parent / "broken"

EXPECTED = [
    (1, "{qestion} (did you mean 'question'?)"),
    (2, "does not include 'answer_b'"),
    (3, "'[[rating_a,rating_b]]'; expected '[[rating]]'"),
    (4, "2 turns, without reference answers; {question} has no value there"),
    (5, "Single '}'"),
    (6, "{answer} has a format or conversion"),
    (7, "unknown field `sytem_prompt`"),
    (8, "'triple'"),
    (10, "prompts 'fine' and 'again' are both for type 'single', 1 turn"),
]


def test_every_wrong_entry_is_named() -> None:
    with pytest.raises(AuthorError) as caught:
        load_prompts(BROKEN / "judge_prompts.jsonl")
    problems = caught.value.problems
    assert {problem.code for problem in problems} == {"JUDGE-003"}
    assert [problem.where and problem.where.line for problem in problems] == [line for line, _ in EXPECTED]
    for problem, (_, part) in zip(problems, EXPECTED, strict=True):
        assert part in problem.what


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("empty.jsonl", "", "contains no prompts"),
        ("empty.toml", "", "contains no prompts"),
        ("broken.jsonl", "{", "cannot be read"),
        ("broken.toml", "[[prompt]\n", "cannot be read"),
        ("misspelt.toml", "[[promt]]\nname='x'\n", "`promt`"),
        ("missing.toml", "[[prompt]]\nname='x'\n", "`type`"),
    ],
)
def test_files_that_hold_no_prompts(tmp_path: Path, name: str, text: str, part: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(AuthorError) as caught:
        load_prompts(tmp_path / name)
    assert caught.value.problems[0].code == "JUDGE-003"
    assert part in str(caught.value)
    with pytest.raises(AuthorError, match="cannot be read"):
        load_prompts(tmp_path / "no_such_file.jsonl")
