from __future__ import annotations

from pathlib import Path

import pytest

from assay.dialects.shared.readme_summary import summarize_readme


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("# A\n\n### Paper\n\nTitle: `A: Is it [one](https://x)?`\n\nAbstract: ...\n", "A: Is it one?"),
        ("# A\n\n```bash\npython run.py\n```\n\nA tests **logic**. It has rows.\n", "A tests logic."),
        ("# A\n[中文](README.md) | English\n## Introduction\nA is new.\n", "A is new."),
        ("# A\n\n| model | score |\n", ""),
        (f"# A\n\nWords {'word ' * 60}\n", "Words " + "word " * 29 + "word…"),
    ],
)
def test_the_title_of_the_paper_or_the_first_sentence(tmp_path: Path, text: str, summary: str) -> None:
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    assert summarize_readme(tmp_path, tmp_path) == summary


def test_english_is_preferred_and_a_folder_above_is_used(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("测试。\n", encoding="utf-8")
    (tmp_path / "README_en.md").write_text("A test.\n", encoding="utf-8")
    assert summarize_readme(tmp_path / "inside", tmp_path) == "A test."


SEVERAL = """# Leaderboard

Our goal with this group is a version
of evaluations. More follows.

## First

Title: The First Paper

- `board_first`
- `board_first_easy`

## Second

Title: The Second Paper

- `board_second`
"""


@pytest.mark.parametrize(
    ("name", "summary"),
    [
        ("board", "Our goal with this group is a version of evaluations."),
        ("board_first", "The First Paper"),
        ("board_second", "The Second Paper"),
        ("board_sec", "Our goal with this group is a version of evaluations."),
    ],
)
def test_a_page_about_several_papers_has_a_title_for_each_name(
    tmp_path: Path, name: str, summary: str
) -> None:
    (tmp_path / "README.md").write_text(SEVERAL, encoding="utf-8")
    assert summarize_readme(tmp_path, tmp_path, name) == summary
