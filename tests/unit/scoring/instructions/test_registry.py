from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.scoring.instructions.instruction import Instruction
from assay.scoring.instructions.kinds import KeywordsExist, NoComma, WordCount
from assay.scoring.instructions.registry import INSTRUCTIONS, read_rows


def row(*instructions: tuple[Any, Any]) -> dict[str, Any]:
    return {
        "prompt": "Write.",
        "instruction_id_list": [name for name, _ in instructions],
        "kwargs": [arguments for _, arguments in instructions],
    }


def test_all_kinds_are_there() -> None:
    assert len(INSTRUCTIONS) == 25
    assert set(INSTRUCTIONS.values()) == set(Instruction.__subclasses__())


def test_a_row_is_read_in_order() -> None:
    [read] = read_rows(
        [
            row(
                ("punctuation:no_comma", {}),
                ("length_constraints:number_words", {"relation": "at least", "num_words": 300}),
                ("keywords:existence", {"keywords": ["cat", "dog"]}),
            )
        ]
    )
    assert read == (NoComma(), WordCount(300, "at least"), KeywordsExist(("cat", "dog")))


def test_arguments_that_are_none_are_not_given() -> None:
    wide = {"num_highlights": None, "relation": "less than", "num_words": 5, "keywords": None}
    assert read_rows([row(("length_constraints:number_words", wide))]) == [(WordCount(5, "less than"),)]


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"instruction_id_list": ["punctuation:no_comma"]},
        {"instruction_id_list": ["punctuation:no_comma"], "kwargs": []},
        {"instruction_id_list": [], "kwargs": []},
        {"instruction_id_list": "punctuation:no_comma", "kwargs": [{}]},
    ],
)
def test_a_row_without_its_two_lists(broken: dict[str, Any]) -> None:
    with pytest.raises(AuthorError, match="IFEVAL-001 row 1: 'instruction_id_list' and 'kwargs'"):
        read_rows([broken])


@pytest.mark.parametrize("name", ["punctuation:no_commas", None, ["punctuation:no_comma"]])
def test_an_unknown_instruction(name: Any) -> None:
    with pytest.raises(AuthorError, match="IFEVAL-002") as caught:
        read_rows([row((name, {}))])
    assert repr(name) in str(caught.value)
    assert "'punctuation:no_comma'" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("length_constraints:number_words", {"num_words": 300}, "`relation`"),
        ("length_constraints:number_words", {"num_words": 300, "relation": None}, "`relation`"),
        ("length_constraints:number_words", {"num_words": "many", "relation": "at least"}, "num_words"),
        ("length_constraints:number_words", {"num_words": 3, "relation": "at most"}, "'at most'"),
        ("length_constraints:number_words", None, "expected a mapping"),
        ("punctuation:no_comma", {"num_words": 3}, "this instruction accepts: none"),
        ("detectable_format:multiple_sections", {"num_sections": 3}, "`section_spliter`"),
        ("keywords:existence", {"keywords": []}, "keywords"),
        ("keywords:existence", {"keywords": "cat"}, "keywords"),
        (
            "keywords:letter_frequency",
            {"letter": "ab", "let_frequency": 1, "let_relation": "at least"},
            "letter",
        ),
        ("startend:end_checker", {"end_phrase": ""}, "end_phrase"),
        (
            "length_constraints:nth_paragraph_first_word",
            {"num_paragraphs": 2, "nth_paragraph": 0, "first_word": "a"},
            "nth_paragraph",
        ),
        ("language:response_language", {"language": "german"}, "'german'"),
    ],
)
def test_arguments_that_do_not_fit(name: str, arguments: Any, message: str) -> None:
    with pytest.raises(AuthorError, match="IFEVAL-003 row 1: ") as caught:
        read_rows([row((name, arguments))])
    assert repr(name) in str(caught.value)
    assert message in str(caught.value)


def test_problems_of_all_rows_come_together() -> None:
    fine = row(("punctuation:no_comma", {}))
    rows = [fine, row(("a:b", {}), ("startend:end_checker", {})), fine, row(("c:d", {}))]
    with pytest.raises(AuthorError) as caught:
        read_rows(rows)
    assert [(problem.code, problem.what.partition(":")[0]) for problem in caught.value.problems] == [
        ("IFEVAL-002", "row 2"),
        ("IFEVAL-003", "row 2"),
        ("IFEVAL-002", "row 4"),
    ]
