"""Pieces of a prompt joined as the original joins them: one space unless white space parts them already."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.core.prompt import Message
from assay.dialects.llmbox.prompts import PromptExamples, Shot, build_opening, gap

texts = st.text(alphabet="ab \n\t:", max_size=6)
shots = st.lists(st.builds(Shot, texts.filter(bool), texts.filter(bool)), max_size=4).map(tuple)


def joined(*pieces: str) -> str:
    """An oracle: add pieces one by one, with a space where both sides are black."""
    text = ""
    for piece in pieces:
        if text and piece and not text[-1].isspace() and not piece[0].isspace():
            text += " "
        text += piece
    return text


@given(texts, texts)
def test_the_gap(left: str, right: str) -> None:
    assert left + gap(left, right) + right == joined(left, right)


@given(shots, texts, texts.filter(str.strip))
def test_a_text_is_its_pieces_joined(few: tuple[Shot, ...], source: str, target: str) -> None:
    before = build_opening(PromptExamples(few), source, is_chat=False)
    examples = "".join(joined(shot.source, shot.target) + "\n\n" for shot in few)
    assert before.before == examples + source
    prompt, start = before.followed_by(target)
    assert isinstance(prompt, str)
    assert prompt == joined(examples + source, target.rstrip())
    assert prompt[:start] == examples + source
    questions = before.question_prompt
    assert questions == ((examples + source).rstrip() or examples + source)


@given(shots, texts.filter(bool), texts.filter(str.strip))
def test_a_chat_is_its_messages(few: tuple[Shot, ...], source: str, target: str) -> None:
    before = build_opening(PromptExamples(few), source, is_chat=True, system="Be brief.")
    expected = [Message("system", "Be brief.")]
    for shot in few:
        expected += [Message("user", shot.source), Message("assistant", shot.target)]
    expected.append(Message("user", source))
    assert before.question_prompt == tuple(expected)
    assert before.followed_by(target) == ((*expected, Message("assistant", target)), 0)


def test_known_shapes() -> None:
    """The original's, as they were seen: spec 2.3."""
    nq = PromptExamples((Shot("Q: when?\nA:", "1972"), Shot("Q: who?\nA:", "bob")))
    assert build_opening(nq, "Q: when?\nA:", is_chat=False).question_prompt == (
        "Q: when?\nA: 1972\n\nQ: who?\nA: bob\n\nQ: when?\nA:"
    )
    arc = build_opening(PromptExamples(), "Question: Q1?\nAnswer:", is_chat=False)
    assert arc.followed_by("b c") == ("Question: Q1?\nAnswer: b c", len("Question: Q1?\nAnswer:"))
    # A space at the end of the instruction stays for an option and is left to the model otherwise.
    mrpc = build_opening(PromptExamples(), "Answer: ", is_chat=False)
    assert mrpc.followed_by("yes") == ("Answer: yes", len("Answer: "))
    assert mrpc.question_prompt == "Answer:"
    # Without a source the whole text is scored.
    assert build_opening(PromptExamples(), "", is_chat=False).followed_by("A sentence.") == ("A sentence.", 0)
    assert build_opening(PromptExamples(), "", is_chat=True).followed_by("A.") == (
        (Message("assistant", "A."),),
        0,
    )
    assert build_opening(PromptExamples(), "Q", is_chat=False, system="S").before == "S\n\nQ"


@given(st.integers(0, 5), st.booleans())
def test_examples_are_left_out_whole(n: int, drops_last: bool) -> None:
    every = tuple(Shot(f"q{i}", f"a{i}") for i in range(4))
    left = PromptExamples(every).at_most(n, drops_last=drops_last)
    kept = min(n, 4)
    assert len(left.shots) == kept
    assert left.n_left_out == 4 - kept
    assert left.shots == (every[:kept] if drops_last else every[4 - kept :])
    assert PromptExamples(every, "preface").at_most(0, drops_last=drops_last).preface == ""
    assert PromptExamples(every).at_most(None, drops_last=drops_last).shots == every
