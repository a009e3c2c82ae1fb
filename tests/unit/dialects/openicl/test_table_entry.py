"""The entry that OpenCompass makes of a table. The versions are those that OpenCompass 0.5.4 printed."""

from __future__ import annotations

from typing import Any

import pytest

from assay.dialects.openicl.table_entry import build_original_entry, compute_table_version

MCQ = ("question", "A", "B", "C", "answer")
TEXT = "Question: {my_question}\nX. {X}\nY. {Y}\nZ. {Z}\nW. {W}\nAnswer:"
QA_ROUND = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]


@pytest.mark.parametrize(
    ("columns", "message", "version"),
    [
        (MCQ, {}, "e44e8c"),
        ((*MCQ[:4], "D", "answer"), {}, "d890be"),
        (MCQ, {"infer_method": "ppl"}, "bdbfca"),
        (("question", "answer"), {}, "359d58"),
        (
            MCQ,
            {
                "human_prompt": "Question: {question}\nA. {A}\nB. {B}\nC. {C}\nAnswer: ",
                "bot_prompt": "{answer}",
            },
            "962c58",
        ),
        (
            ("my_question", "X", "Y", "Z", "W", "my_answer"),
            {"template": TEXT, "output_column": "my_answer"},
            "65d1d0",
        ),
        (("question", "answer"), {"template": {"begin": "Add the numbers.\n", "round": QA_ROUND}}, "81a5d4"),
    ],
)
def test_versions_are_the_originals(columns: tuple[str, ...], message: dict[str, Any], version: str) -> None:
    assert compute_table_version(columns, message) == version


def test_what_decides_between_mcq_and_qa_is_a_run_of_letters_from_a_on() -> None:
    for columns, is_mcq in (
        (("question", "A", "B", "answer"), True),
        (("question", "A", "answer"), False),
        (("question", "X", "Y", "answer"), False),
    ):
        entry = build_original_entry("t.csv", columns, {"abbr": "t"})
        assert entry is not None
        assert ("options" in entry["eval_cfg"]["evaluator"]) is is_mcq


def test_what_the_original_cannot_make() -> None:
    assert build_original_entry("t.csv", ("question", "answer"), {"abbr": "t", "infer_method": "ppl"}) is None
    message = {"abbr": "t", "infer_method": "ppl", "bot_prompt": "{other}"}
    assert build_original_entry("t.csv", MCQ, message) is None


def test_a_table_without_answers_is_not_evaluated() -> None:
    entry = build_original_entry("t.jsonl", ("question",), {"abbr": "t"})
    assert entry is not None
    assert "eval_cfg" not in entry
    template = entry["infer_cfg"]["prompt_template"]["template"]
    assert template == {"round": [{"role": "HUMAN", "prompt": "{question}"}]}
