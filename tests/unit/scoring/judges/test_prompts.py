from __future__ import annotations

import string
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import PlanError
from assay.core.prompt import Message
from assay.scoring.judges.prompts import (
    Conversation,
    JudgePrompt,
    PromptBook,
    build_comparison_values,
    build_grading_values,
    load_prompts,
    own_prompts,
)

DOCS = Path(__file__).parents[4] / "docs"
TWO = Conversation(("q1", "q2"), ("a1", "a2"))


def user(prompt: object) -> str:
    assert isinstance(prompt, tuple)
    message = prompt[-1]
    assert isinstance(message, Message)
    return message.text


def test_own_prompts_show_every_turn_and_reference_of_any_conversation() -> None:
    book = own_prompts()
    for n in (1, 2, 3):
        questions = tuple(f"question {turn}" for turn in range(n))
        answers = tuple(f"answer {turn}" for turn in range(n))
        references = (*(None for _ in range(n - 1)), "the truth")
        for known in ((), references):
            conversation = Conversation(questions, answers, known)
            prompt = book.find("single", n, has_reference=conversation.has_reference)
            text = user(prompt.render(build_grading_values(conversation)))
            assert [text.count(part) for part in answers] == [1] * n
            assert all(part in text for part in questions)
            assert ("the truth" in text) == bool(known)
            pairwise = book.find("pairwise", n, has_reference=conversation.has_reference)
            rival = [f"rival {turn}" for turn in range(n)]
            shown = user(pairwise.render(build_comparison_values(conversation, a=rival, b=answers)))
            assert [shown.count(part) for part in (*rival, *answers)] == [1] * (2 * n)
            assert shown.index("rival 0") < shown.index("answer 0")


def test_the_documentation_shows_the_prompts() -> None:
    page = (DOCS / "guides" / "judges.md").read_text(encoding="utf-8")
    for prompt in own_prompts().prompts:
        assert prompt.system_prompt in page
        assert prompt.prompt_template in page


@pytest.mark.parametrize("type", ["single", "pairwise"])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("has_reference", [False, True])
def test_the_prompts_of_mt_bench_are_read_and_filled_as_their_format_says(
    shared_data: Path, type: str, n: int, has_reference: bool
) -> None:
    """An independent oracle: Python's own str.format over the raw file."""
    path = shared_data / "mt_bench" / "judge_prompts.jsonl"
    name = ("single" if type == "single" else "pair") + ("-math-v1" if has_reference else "")
    name += "" if has_reference else "-v1" if type == "single" else "-v2"
    name += "-multi-turn" if n == 2 else ""
    raw = next(
        one
        for one in map(msgspec.json.decode, path.read_text(encoding="utf-8").splitlines())
        if one["name"] == name
    )
    questions, answers, rival = (tuple(f"{kind} {turn}" for turn in range(n)) for kind in "qar")
    references = tuple(f"ref {turn}" for turn in range(n)) if has_reference else ()
    conversation = Conversation(questions, answers, references)
    fields = {"question": questions[0], "answer": answers[0], "answer_a": rival[0], "answer_b": answers[0]}
    for turn in range(n):
        fields |= {
            f"question_{turn + 1}": questions[turn],
            f"answer_{turn + 1}": answers[turn],
            f"answer_a_{turn + 1}": rival[turn],
            f"answer_b_{turn + 1}": answers[turn],
            f"ref_answer_{turn + 1}": f"ref {turn}",
        }
    book = load_prompts(path)
    prompt = book.find("single" if type == "single" else "pairwise", n, has_reference=has_reference)
    values = (
        build_grading_values(conversation)
        if type == "single"
        else build_comparison_values(conversation, a=rival, b=answers)
    )
    expected = (
        Message("system", raw["system_prompt"]),
        Message("user", raw["prompt_template"].format(**fields)),
    )
    assert prompt.render(values) == expected
    # The file has prompts for one and for two turns; a third turn would not be shown.
    with pytest.raises(PlanError) as caught:
        book.find("single", 3, has_reference=has_reference)
    assert caught.value.problems[0].code == "JUDGE-004"


@given(st.text(string.printable, max_size=40))
def test_what_an_answer_contains_is_never_filled_in(answer: str) -> None:
    injected = f"{{question}}{answer}{{conversation}}"
    prompt = JudgePrompt("p", "single", "", "{question}|{answer}", "[[rating]]")
    rendered = prompt.render(build_grading_values(Conversation(("secret",), (injected,))))
    assert rendered == (Message("user", f"secret|{injected}"),)


def test_a_prompt_for_the_number_of_turns_goes_before_one_for_any() -> None:
    exact = JudgePrompt("exact", "single", "", "{answer_1}{answer_2}", "[[rating]]")
    any_number = JudgePrompt("any", "single", "", "{conversation}", "[[rating]]")
    book = PromptBook([any_number, exact], "here")
    assert [book.find("single", n, has_reference=False).name for n in (1, 2, 3)] == ["any", "exact", "any"]
    with pytest.raises(PlanError, match=r"type 'single', 1 turn, with reference answers"):
        book.find("single", 1, has_reference=True)


def test_the_digest_follows_the_words() -> None:
    first = JudgePrompt("p", "single", "", "{answer}", "[[rating]]")
    second = msgspec.structs.replace(first, system_prompt="Be kind.")
    assert PromptBook([first], "a").digest == PromptBook([first], "b").digest
    assert PromptBook([first], "a").digest != PromptBook([second], "a").digest
