"""Which free answers a reply states: phrases, yes and no, formulas, sets of options."""

from __future__ import annotations

import pytest

from assay.core.prompt import Message
from assay.scoring.extract.formulas import extract_formula, is_formula
from assay.scoring.extract.option_sets import extract_options
from assay.scoring.extract.polarity import extract_polarity, read_target_polarity
from assay.scoring.extract.stated import extract_stated
from assay.scoring.formulas import FormulaComparison
from assay.scoring.scorers.grading import AnswerGrader, choose_reader, extract_question

QUESTIONS = (
    ("Paris", "Lyon", "Nice", "What is the capital of France?"),
    ("Paris", "Lyon", "Nice", ""),
    ("oxygen", "nitrogen", "argon", "Which gas do plants release?"),
    ("positive", "negative", "neutral", "What is the sentiment of this review?"),
    ("William Shakespeare", "Christopher Marlowe", "Ben Jonson", "Who wrote Hamlet?"),
)
NOT_STATED = (
    "{X}, not {T}.",
    "{X} and not {T}",
    "{X}, unlike {T}",
    "{X} rather than {T}",
    "{X} instead of {T}",
    "{X} beats {T}.",
    "{X} is larger than {T}.",
    "{X} is similar to {T}.",
    "{X} is close to {T}.",
    "{X} is different from {T}.",
    "{X} comes after {T}.",
    "{X} follows {T}.",
    "{X} replaced {T}.",
    "{X}, formerly {T}.",
    "{X}, previously known as {T}",
    "{X} (not {T})",
    "{X} ({T} is a common mistake)",
    "It is {X}. {T} is incorrect.",
    "It is {X}. {T} would be wrong.",
    "{T} is close, but the answer is {X}.",
    "{T} is close, but {X} is the one.",
    "{T} came second, {X} first.",
    "{T} was second.",
    "{T} lost to {X}.",
    "{T} was beaten by {X}.",
    "{T} seems plausible, yet it is {X}.",
    "{T} is tempting. It is {X}.",
    "{T} is tempting. The answer: {X}",
    "At first I thought {T}. It's {X}.",
    "One might say {T}. It is actually {X}.",
    "Most would answer {T}, which is wrong.",
    "If it were {T}, we'd see more. It is {X}.",
    "Initially {T}, later {X}.",
    "From {T} to {X}.",
    "{T} -> {X}",
    "{T} → {X}",
    "{T}? No, {X}.",
    "{T}... no, {X}.",
    "{T}. Wait, no, it's {X}.",
    "{T}. Actually, {X}.",
    "{T}.\n\nCorrection: {X}.",
    "The answer isn't {T}.",
    "I doubt it is {T}.",
    "It's definitely not {T}",
    "It can't be {T}.",
    "It is anything but {T}.",
    "It is neither {T} nor {Z}.",
    "There is no evidence for {T}.",
    "Nobody says {T}.",
    "{T} is false.",
    "{T} is out of the question.",
    "{T} can be ruled out.",
    "We can eliminate {T}.",
    "{X} is the answer. {T} is the second best.",
    "{X} is the answer; {T} is merely related.",
    "The answer is {X}, although {T} is often mentioned.",
    "The answer is {X} (some say {T}).",
    "The answer is {X}. People often say {T}.",
    "Answer: {X}\nNote: {T} is also common.",
    "**{X}** (commonly confused with {T})",
    "The correct answer is {X}, since {T} is something else.",
    "{X} because it is not {T}.",
    "{X} because {T} is something else.",
    "{X}, which is derived from {T}.",
    "{X}, the opposite of {T}.",
    "{X}, a kind of {T}.",
    "{X} of {T}",
    "The {T} of {X} is {Z}.",
    "{T} of the {X}",
    "The question asks about {T}.",
    "The question mentions {T}.",
    "You asked about {T}.",
    "The prompt says {T}, and I can't verify it.",
    '"{T}" is the wrong answer.',
    "I was told it is {T}, but it is {X}.",
    "He said it was {T}. He lied. It was {X}.",
    "{T} or {X}",
    "{T} and {X}",
    "{T}/{X}",
    "{T}, {X}",
    "{T}, {X}, {Z}",
    "{T} & {X}",
    "{T} vs {X}",
    "1. {T}\n2. {X}",
    "- {T}\n- {X}",
    "A) {T} B) {X}",
    "Options: {T}, {X}, {Z}.",
    "Perhaps {T}.",
    "Maybe {T}?",
    "It might be {T}.",
    "Could be {T}.",
    "I'm not sure, {T}?",
    "Is it {T}",
    "Who knows. {T}?",
    "Sorry, I cannot say {T}.",
    "I refuse to answer {T}.",
    "{T} used to be the answer; now it is {X}.",
    "Until 1990 it was {T}; today it is {X}.",
    "{T} was the answer until 1990.",
    "It was once {T}.",
    "It is no longer {T}.",
    "{X} took over from {T}.",
    "The first is {T}, the second is {X}.",
    "First {T}, then {X}.",
    "{X} is the son of {T}.",
    "{X} is located near {T}.",
    "{X} is in the north of {T}.",
    "{X} defeated {T} in the final.",
    "{X}'s {T}",
    "{T}'s {X}",
    "non-{T}",
    "anti-{T}",
    "{T}-like",
    "half {T}",
    "almost {T}",
    "nearly {T}",
    "fake {T}",
    "not exactly {T}",
    "far from {T}",
    "less {T} than {X}",
    "The opposite of {T}.",
    "The answer starts with the same letter as {T}.",
    "It rhymes with {T}.",
    "Everything except {T}.",
    "All but {T}.",
    "Other than {T}, nothing.",
)


@pytest.mark.parametrize("pattern", NOT_STATED)
def test_a_phrase_that_is_only_mentioned_is_no_answer(pattern: str) -> None:
    for right, other, third, question in QUESTIONS:
        text = pattern.format(T=right, X=other, Z=third)
        assert extract_stated(text, [right], question).answer is None, text


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Paris", "whole_reply"),
        ("**Paris.**", "whole_reply"),
        ("So $\\boxed{\\text{Paris}}$.", "framed"),
        ("<answer>Paris</answer>", "framed"),
        ('{"reason": "It is the seat.", "answer": "Paris"}', "json_answer"),
        ("The answer is Paris.", "announced"),
        ("### Answer\n\nParis\n\n### Why\n\nThe government sits there.", "announced"),
        ("The capital of France is Paris.", "asserted"),
        ("Paris is the capital of France. It lies on the Seine.", "asserted"),
        ("Lyon is large. Marseille is old. So the capital is Paris.", "asserted"),
        ("<think>Lyon?</think>The capital is Paris.", "asserted"),
    ],
)
def test_a_stated_phrase_is_found_by_a_named_rule(text: str, rule: str) -> None:
    found = extract_stated(text, ["Paris"], "What is the capital of France?")
    assert (found.answer, found.rule) == ("Paris", rule)
    assert found.span is not None
    assert text[slice(*found.span)] == "Paris"


def test_the_question_tells_what_is_another_answer() -> None:
    text = "Joe Biden was succeeded by Donald Trump."
    assert extract_stated(text, ["Donald Trump"], "Who succeeded Joe Biden?").answer == "Donald Trump"
    assert extract_stated(text, ["Joe Biden"], "Who was the 47th president?").answer is None


def test_aliases_are_any_of_and_short_ones_keep_their_case() -> None:
    assert extract_stated("It is in NYC.", ["New York City", "NYC"]).answer == "NYC"
    assert extract_stated("Let us say so.", ["US"]).answer is None
    assert extract_stated("It is the US.", ["US"]).answer == "US"


def test_explaining_lists_every_rule() -> None:
    found = extract_stated("The answer is Paris.", ["Paris"], explain=True)
    tried = [(attempt.rule, attempt.found) for attempt in found.attempts]
    assert ("announced", "Paris") in tried
    assert [rule for rule, _ in tried] == ["whole_reply", "framed", "json_answer", "announced", "asserted"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Yes, it is.", "yes"),
        ("False. The statement mixes up two rivers.", "no"),
        ("The claim is not true.", "no"),
        ("It is true that he was born there, but the claim is false.", "no"),
        ("Let's see. Both are mammals. Therefore, yes.", "yes"),
        ("Yes and no.", None),
        ("No idea.", None),
        ("No information is given.", None),
        ("Is it true?", None),
        ("Yes. So the answer is no.", "no"),
        ("Yes. Therefore, no.", None),
        ('{"answer": false}', "no"),
        ("네, 맞습니다.", "yes"),
        ("不是。", "no"),
        ("Nein.", "no"),
        ("The statement is верно.", "yes"),
        ("The statement is неверно.", "no"),
    ],
)
def test_yes_and_no(text: str, answer: str | None) -> None:
    assert extract_polarity(text).answer == answer


def test_targets_of_one_polarity_are_one_family() -> None:
    assert read_target_polarity(("yes", "true")) == "yes"
    assert read_target_polarity(("아니요",)) == "no"
    assert read_target_polarity(("yes", "no")) is None
    assert read_target_polarity(("yes", "Paris")) is None
    assert read_target_polarity(()) is None


@pytest.mark.parametrize(
    ("text", "target", "is_right"),
    [
        ("$\\boxed{\\frac{1}{2}}$", "\\frac12", True),
        ("The answer is $\\sqrt{12}$.", "2\\sqrt{3}", True),
        ("$\\boxed{[2,\\infty)}$", "[2, \\infty)", True),
        ("$\\boxed{(2,\\infty)}$", "[2, \\infty)", False),
        ("$x = 3$", "x = 3", True),
        ("$y = 3$", "x = 3", False),
        ("$\\boxed{-\\frac{1}{2}}$", "\\frac{1}{2}", False),
        ("I have no idea.", "\\frac{1}{2}", False),
        ("The fastest was Evelyn.\n\n$\\boxed{\\text{Evelyn}}$", "\\text{Evelyn}", True),
    ],
)
def test_formulas(text: str, target: str, is_right: bool) -> None:
    grader = AnswerGrader()
    assert (grader.grade(text, [target]).value == 1.0) is is_right
    grader.close()


def test_without_the_library_the_text_of_formulas_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.scoring.formulas.find_spec", lambda name: None)
    compare = FormulaComparison()
    assert compare.is_any("\\dfrac12", ["\\frac{1}{2}"])
    assert not compare.is_any("\\sqrt{12}", ["2\\sqrt{3}"])


@pytest.mark.parametrize("target", ["A/B testing", "H2O", "24/7", "C++", "AC/DC", "\\text{Evelyn}", "3 cm"])
def test_words_and_numbers_are_no_formulas(target: str) -> None:
    assert not is_formula(target)


def test_the_last_formula_of_a_reply_is_its_answer() -> None:
    found = extract_formula("We have $a = 2$.\n\nSo the length is $2\\sqrt{3}$.")
    assert (found.answer, found.rule) == ("2\\sqrt{3}", "last_formula")


@pytest.mark.parametrize(
    ("targets", "reader"),
    [
        (("18",), "number"),
        (("\\frac{1}{2}",), "formula"),
        (("yes", "true"), "yes_no"),
        (("Paris",), "stated"),
        (("The committee decided to postpone the vote until all members had read the report.",), "exact"),
    ],
)
def test_right_answers_choose_the_reader(targets: tuple[str, ...], reader: str) -> None:
    assert choose_reader(targets) == reader


def test_a_long_reference_must_be_met_exactly() -> None:
    reference = "The committee decided to postpone the vote until all members had read the report."
    grader = AnswerGrader()
    assert grader.grade(reference, [reference]).value == 1.0
    assert grader.grade(f"I think that {reference}", [reference]).value == 0.0


def test_each_way_of_matching_gives_its_own_metric() -> None:
    text, targets = "The capital of France is Paris.", ["Paris"]
    graded = AnswerGrader("stated").grade(text, targets)
    assert (graded.value, graded.also["exact"], graded.also["contains"]) == (1.0, 0.0, 1.0)
    exact = AnswerGrader("exact")
    assert exact.metrics == ("exact", "accuracy", "contains", "f1")
    assert exact.grade(text, targets).value == 0.0
    assert AnswerGrader("contains").grade(text, targets).value == 1.0
    assert AnswerGrader("f1").grade(text, targets).value == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="match must be one of"):
        AnswerGrader("close")  # type: ignore[arg-type]


def test_the_question_is_the_last_line_that_asks() -> None:
    assert extract_question("A passage? Yes.\nIt goes on.\n\nWho won?\nAnswer:") == "Who won?"
    assert extract_question((Message("user", "Who won?"), Message("assistant", "Answer:"))) == "Who won?"
    assert extract_question("") == ""


LABELS, CITIES = ("A", "B", "C", "D"), ("Paris", "London", "Rome", "Oslo")


@pytest.mark.parametrize(
    "text",
    [
        "A and C",
        "A, C",
        "AC",
        '["A", "C"]',
        "(A) and (C)",
        "**A** and **C**",
        "A & C",
        "A\nC",
        "a) and c)",
        "Paris and Rome",
        "A. Paris and C. Rome",
        "A. Paris\nC. Rome",
        "The correct answers are A and C.",
        "The statements that are true are A and C.",
        "Correct options:\n- A\n- C",
        "- A: Paris ✅\n- B: London ❌\n- C: Rome ✅\n- D: Oslo ❌",
        "- [x] A\n- [ ] B\n- [x] C\n- [ ] D",
        "A: correct\nB: wrong\nC: correct\nD: wrong\n\nFinal answer: A, C",
        "Options A and C are both correct, B is not.",
        "A and C, not B",
        "$\\boxed{\\text{AC}}$",
        '{"answer": ["A", "C"]}',
        "<think>A and B</think>A and C",
        "答案：AC",
        "정답은 A와 C입니다.",
        "La respuesta es A y C.",
    ],
)
def test_a_set_of_options_is_read_whole(text: str) -> None:
    assert extract_options(text, LABELS, CITIES).answer == "A, C"


@pytest.mark.parametrize(
    "text", ["A or C", "Either A or C", "Neither A nor C.", "BAD idea", "ABE", "I'm not sure."]
)
def test_alternatives_are_no_set(text: str) -> None:
    assert extract_options(text, LABELS, CITIES).answer is None


@pytest.mark.parametrize(
    "piece",
    ["The capital is Paris and ", "Paris or ", "(", "not ", "\\boxed{", "a, ", "*", "A and ", "Paris. "],
)
def test_a_reply_that_goes_round_in_circles_holds_no_answer(piece: str) -> None:
    """Each would take minutes if the work grew with the square of the length."""
    text = piece * (20_000 // len(piece))
    assert extract_polarity(text).answer is None
    assert extract_stated(text, ["Lyon"], "What is the capital?").answer is None
    if "A" not in piece:
        assert extract_options(text, LABELS, CITIES).answer in (None, "A")
