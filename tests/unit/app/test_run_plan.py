"""Names of models and prompts on the command line, and whose argument an argument is."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.run_plan import PromptChoice, divide_model_args, name_models, read_prompts
from assay.core.errors import UsageError
from assay.core.model_names import NamedChoice, split_model_label


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mock", (None, "mock")),
        ("small=smollm2", ("small", "smollm2")),
        ("Qwen 2.5=hf:/models/a=b", ("Qwen 2.5", "hf:/models/a=b")),
        ("hf:/models/a=b", (None, "hf:/models/a=b")),
        ("openai:m@http://host:1/v1?key=value", (None, "openai:m@http://host:1/v1?key=value")),
        ("new=openai:m@http://host:1/v1?k=v", ("new", "openai:m@http://host:1/v1?k=v")),
        ("./models/a=b", (None, "./models/a=b")),
        ("a=", ("a", "")),
    ],
)
def test_a_label_precedes_the_first_equals_sign_unless_a_specification_has_begun(
    text: str, expected: tuple[str | None, str]
) -> None:
    assert split_model_label(text) == expected


def test_labels_of_one_model_and_of_several() -> None:
    assert name_models(["mock"], "mine") == [NamedChoice("mine", "mock")]
    assert name_models(["mine=mock"], "mine") == [NamedChoice("mine", "mock")]
    assert name_models(["a=mock", "smollm2"], None) == [
        NamedChoice("a", "mock"),
        NamedChoice(None, "smollm2"),
    ]


@pytest.mark.parametrize(
    ("models", "label", "codes"),
    [
        (["a=mock", "a=smollm2"], None, ["GROUP-001"]),
        (["mock", "mock"], None, ["GROUP-001"]),
        (["openai:m@http://a:1/v1", "openai:m@http://b:1/v1"], None, ["GROUP-001"]),
        (["smollm2=mock", "smollm2"], None, ["GROUP-001"]),
        (["a=mock", "b=mock"], "c", ["GROUP-002"]),
        (["a=mock"], "b", ["GROUP-002"]),
        (["=mock", "b="], None, ["GROUP-002", "GROUP-002"]),
        (["mock"], "http://host", ["GROUP-002"]),
        (["mock"], "x" * 81, ["GROUP-002"]),
        (["mock"], "two\nlines", ["GROUP-002"]),
    ],
)
def test_names_that_cannot_tell_models_apart(models: list[str], label: str | None, codes: list[str]) -> None:
    with pytest.raises(UsageError) as raised:
        name_models(models, label)
    assert [problem.code for problem in raised.value.problems] == codes


def test_an_argument_is_for_all_models_or_for_the_one_that_it_names() -> None:
    named = [NamedChoice("a", "mock"), NamedChoice("a.b", "mock"), NamedChoice(None, "openai:m@http://h/v1")]
    args = {"x": "1", "a.x": "2", "a.b.y": "3", "openai:m.x": "4"}
    assert divide_model_args(args, named) == [{"x": "2"}, {"x": "1", "y": "3"}, {"x": "4"}]


def test_an_argument_of_a_single_model_without_a_name_is_passed_on() -> None:
    assert divide_model_args({"odd.name": "1"}, [NamedChoice(None, "mock")]) == [{"odd.name": "1"}]


def test_an_argument_for_a_model_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'small'") as raised:
        divide_model_args({"smal.x": "1"}, [NamedChoice("small", "mock"), NamedChoice("b", "mock")])
    assert raised.value.problems[0].code == "GROUP-003"


def test_prompts_from_files_and_texts(workdir: Path) -> None:
    (workdir / "terse.txt").write_bytes("\ufeffQ: {question}\r\nA:\r\n".encode())
    (workdir / "a=b.txt").write_text("{question}", encoding="utf-8")
    assert read_prompts([], []) == [PromptChoice(None, None)]
    assert read_prompts(["terse.txt"], []) == [PromptChoice("terse", "Q: {question}\nA:")]
    assert read_prompts(["x=terse.txt", "a=b.txt"], []) == [
        PromptChoice("x", "Q: {question}\nA:"),
        PromptChoice("a=b", "{question}"),
    ]


def test_a_single_template_is_text_and_several_may_have_names() -> None:
    assert read_prompts([], ["question={question}"]) == [PromptChoice(None, "question={question}")]
    assert read_prompts([], ["short={question}", "Q={a} b", "Say {question} = ?"]) == [
        PromptChoice("short", "{question}"),
        PromptChoice("Q", "{a} b"),
        PromptChoice("template 3", "Say {question} = ?"),
    ]


def test_all_prompt_files_that_cannot_be_used_are_reported_together(workdir: Path) -> None:
    (workdir / "empty.txt").write_text("\n", encoding="utf-8")
    (workdir / "latin.txt").write_bytes(b"\xe9 {question}")
    with pytest.raises(UsageError) as raised:
        read_prompts(["none.txt", "empty.txt", "latin.txt"], [])
    assert [problem.code for problem in raised.value.problems] == ["GROUP-004"] * 3
    with pytest.raises(UsageError, match="have the name 'a'"):
        read_prompts([], ["a={x}", "a={y}"])
