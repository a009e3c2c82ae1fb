"""The benchmarks' own rows and records; what they measure is not measured here."""

import argparse
from pathlib import Path

import pytest

from benchmarks import record
from benchmarks.multiple_choice import DATASETS

SENTENCE = {"sentence": "Ann saw Bea, so _ waved.", "option1": "Ann", "option2": "Bea", "answer": "2"}


def test_hellaswag_is_cleaned_as_the_harness_does() -> None:
    row = {
        "activity_label": "Cooking",
        "ctx_a": "[header] How to boil [title] Take water.",
        "ctx_b": "he",
        "endings": ["stirs [step] it.", " waits."],
        "label": "1",
    }
    (made,) = DATASETS["hellaswag"].prepare(row)
    assert made == {
        "query": "Cooking: How to boil. Take water. He",
        "endings": ["stirs it.", "waits."],
        "label": 1,
    }


def test_winogrande_options_run_to_the_end_of_the_sentence() -> None:
    (made,) = DATASETS["winogrande_options"].prepare(SENTENCE)
    assert made == {"before": "Ann saw Bea, so ", "options": ["Ann waved.", "Bea waved."], "label": "2"}


def test_winogrande_contexts_share_their_completion() -> None:
    first, second = DATASETS["winogrande_contexts"].prepare(SENTENCE)
    assert (first["context"], second["context"]) == ("Ann saw Bea, so Ann", "Ann saw Bea, so Bea")
    assert first["rest"] == second["rest"] == ["waved.", "waved."]


def test_a_section_is_replaced_and_the_rest_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "RESULTS.md"
    file.write_text("above\n<!-- one -->\nold\n<!-- /one -->\nbelow\n", encoding="utf-8")
    monkeypatch.setattr(record, "RESULTS", file)
    record.hand_over("one", "new \\1", argparse.Namespace(write=True, markdown=False))
    assert file.read_text(encoding="utf-8") == "above\n<!-- one -->\nnew \\1\n<!-- /one -->\nbelow\n"


def test_a_section_without_marks_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "RESULTS", tmp_path / "RESULTS.md")
    record.RESULTS.write_text("nothing here", encoding="utf-8")
    with pytest.raises(SystemExit, match="no marks <!-- one -->"):
        record.hand_over("one", "new", argparse.Namespace(write=True, markdown=False))
