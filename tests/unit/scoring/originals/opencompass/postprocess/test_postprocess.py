from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.originals.opencompass.postprocess import CORRECTED, POSTPROCESSORS, find_postprocessor
from assay.scoring.originals.opencompass.postprocess.minerva import hendrycks_form
from assay.scoring.originals.opencompass.postprocess.registry import ULTRAEVAL

# (post-processor, text, the original's answer, the answer here)
CASES = [
    ("exact_match_post", "The Answer is Paris, of course", "paris", "paris"),
    ("exact_match_post", "3.5", "3", "3.5"),
    ("exact_match_post", "about 1,000 people", "about 1", "about 1000 people"),
    ("exact_match_post", "1,2 and 3", "1", "1"),
    ("exact_match_post", "-4", "4", "-4"),
    ("exact_match_post", "A", "", "a"),
    ("exact_match_post", "an apple. Or two", "apple", "apple"),
    ("exact_match_post", "\n\nParis", "", "paris"),
    ("exact_match_post", "答案是 北京。", "北京", "北京"),
    ("exact_match_post", "!!!", "", None),
    ("bbh_post", "So the answer is (B).\n\nQ: next", "(B)", "(B)"),
    ("bbh_post", "The answer is (B).", "(B).", "(B)"),
    ("bbh_post", "the answer is 4. So the answer is 5.", "5", "5"),
    ("bbh_post", "答案是 (C)。", "(C)。", "(C)"),
    ("bbh_post", "It is so.", "It is so.", "It is so."),
    ("bbh_post", " \n ", "", None),
    ("until_return_post", "\n one \n two", "one", "one"),
    ("until_return_post", "  ", "", None),
    ("theoremqa_post", "So the answer is 3.5. Then", "3.5", "3.5"),
    ("theoremqa_post", " 42 ", "42", "42"),
    ("arithmetic_post", "1 + 1 = 2", "2", "2"),
    ("gsm8k_post", "<<3*6=18>>18\n#### 1,018", "1018", "1018"),
    ("gsm8k_post", "#### 18.", "18.", "18"),
    ("gsm8k_post", "It is <<3*6=18>>18. Good", "18", "18"),
    ("gsm8k_post", "3 * 6 = $1,018. Good", "1018", "1018"),
    ("gsm8k_post", "There are 18 apples", "18", "18"),
    ("gsm8k_post", "The answer is $1,018.", "The", "1018"),
    ("gsm8k_post", "I cannot say", "I", None),
    ("gsm8k_post", "", "", None),
    ("math_post", "0.5", "0", r"\frac{1}{2}"),
    ("math_post", r"\frac12", r"\frac{1}{2}", r"\frac{1}{2}"),
    ("math_post", "Final Answer: The final answer is $0.25$. I hope", "0", "0.25"),
    ("math_post", "Final Answer: The final answer is $12,000$. I hope", "12000", "12000"),
    ("math_post", r"So x. Thus the area is $\boxed{12\text{ cm}}$.", "12", "12"),
    ("math_post", r"Therefore the final answer is $x=\frac{a}{b}$", r"\frac{a}{b}", r"\frac{a}{b}"),
    ("common_math_post", r"\sqrt3", r"\sqrt{3}", r"\sqrt{3}"),
    ("common_math_post", r"\sqrt\pi", r"\sqrt{\}pi", r"\sqrt{\pi}"),
    ("common_math_post", r"5\text{ cm}^2\text{ or so}", r"5\text{ cm}^2\text{ or so}", "5"),
    ("common_math_post", "3/4", r"\frac{3}{4}", r"\frac{3}{4}"),
    ("agieval_cloze_post", r"so \boxed{x = 7}", "7", "7"),
    ("agieval_cloze_post", "答案是 $1$ 或 $2$", "1$或$2", "2"),
    ("agieval_cloze_post", "x = 5\nNext", "5Next", "5"),
    ("agieval_cloze_post", "The answer is therefore 12", "12", "12"),
    ("agieval_cloze_post", r"\boxed 5", None, "5"),
    ("agieval_cloze_post", "who knows", None, None),
    ("mbpp_post", "def f(): pass\n\nx", "def f(): pass", "def f(): pass"),
    ("new_mbpp_post", 'def f():\n  pass\n"""next', "def f():\n  pass", "def f():\n  pass"),
    ("new_mbpp_post", 'x = """s""" + 1', 'x = """s""" + 1', 'x = """s""" + 1'),
    ("new_mbpp_post", 'a\n"""b"""\ndef f(): 1', "a", "a"),
    ("humaneval_post", "    return 1\n\nprint(2)\ndef g(): 3", "    return 1\n", "    return 1\n"),
    (
        "humaneval_chatgpt",
        "Sure:\n```python\ndef f():\n    return 1\n```",
        "    return 1\n",
        "    return 1\n",
    ),
    ("humaneval_chatgpt", "return 1", "    return 1", "    return 1"),
    ("humaneval_chatgpt", "import re\n\ndef f():\n return 1", "    return 1", "    return 1"),
    ("hellaswag_post", "Answer: (C) sits", "Answer: (C) sits", "C) sits"),
    ("hellaswag_post", "no letter", "no letter", None),
    ("gaokao_single_choice_post", "【答案】B。 A good choice, Because", "B", "A"),
    ("gaokao_single_choice_post", "选C", "C", "C"),
    ("gaokao_single_choice_post", "Because", "B", None),
    ("gaokao_multi_question_choice_post", "【答案】 A 【答案】：C", "AC[SEP]AC", "AC[SEP]AC"),
    ("gaokao_multi_question_choice_post", "The letters: B", "[SEP]TB", "[SEP]B"),
    ("gaokao_multi_question_choice_post", "none", "[SEP]", None),
    ("gaokao_multi_choice_post", "【答案】AB 【解析】它们都对，所以是A项", "A", "AB"),
    ("gaokao_multi_choice_post", "x【答案】A、B。【解析】D项", "ABD", "AB"),
    ("gaokao_multi_choice_post", "so I say B D", "BD", "BD"),
    ("gaokao_five_out_of_seven_post", "1. A 2. B 3. G 4. D 5. E 6. F", "ABGDE", "ABGDE"),
    ("gaokao_five_out_of_seven_post", "Dear me: ABGDE", "DABGD", "ABGDE"),
    ("agieval_single_answer_post", "I think the answer is (C)", "C", "C"),
    ("agieval_single_answer_post", "答案是：G", "G", "G"),
    ("agieval_single_answer_post", "Because it is D", "B", "D"),
    ("agieval_single_answer_post", "nothing", "", None),
    ("agieval_multiple_answer_post", "(A)(C)", "AC", "AC"),
    ("agieval_multiple_answer_post", "BD, Definitely", "BDD", "BD"),
]


@pytest.mark.parametrize(("name", "text", "original", "here"), CASES)
def test_answers(name: str, text: str, original: str | None, here: str | None) -> None:
    process = find_postprocessor(name)
    assert process(text, faithful=True) == original
    assert process(text) == here


def test_every_post_processor_has_a_case_and_every_difference_is_shown_by_one() -> None:
    assert {name for name, *_ in CASES} == set(ULTRAEVAL)
    differing = {name for name, _, original, here in CASES if (original or None) != here}
    assert differing == set(CORRECTED) & set(ULTRAEVAL)


# fmt: off
PIECES = (
    "answer is ", "答案是", "The answer is therefore", "\n", ".", "3.5", "(B)", "A", "$", r"\boxed{", "}",
    r"\frac", r"\sqrt", "12", "=", "#### 7", ">>", "```", '"""', "def ", "【答案】", "thus ", " ",
)
# fmt: on
TEXTS = st.text() | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@pytest.mark.parametrize("name", ULTRAEVAL)
@given(text=TEXTS)
def test_no_text_breaks_one_and_none_is_left_empty(name: str, text: str) -> None:
    process = POSTPROCESSORS[name]
    assert isinstance(process(text, faithful=True), str) or name == "agieval_cloze_post"
    answer = process(text)
    assert answer is None or answer.strip()


# A model that writes the right answer as the dataset does must be right, whatever the post-processor made of
# the two.
@given(st.decimals(-10_000, 10_000, places=2).map(str) | st.integers(-10_000, 10_000).map(str))
def test_a_number_and_its_gold_meet_in_one_form(number: str) -> None:
    for faithful in (False, True):
        for name, message in (
            ("gsm8k_post", f"So it is so.\n#### {number}"),
            ("math_post", f"Final Answer: The final answer is ${number}$. I hope it is correct."),
            ("exact_match_post", f"The answer is {number}"),
            ("agieval_cloze_post", rf"The answer is therefore \boxed{{{number}}}"),
        ):
            process = POSTPROCESSORS[name]
            gold = f"#### {number}" if name == "gsm8k_post" else number
            if name == "agieval_cloze_post":
                gold_process = POSTPROCESSORS["common_math_post"]
                assert process(message, faithful=faithful) == gold_process(gold, faithful=faithful)
            else:
                assert process(message, faithful=faithful) == process(gold, faithful=faithful)


@given(st.decimals(-10_000, 10_000, places=2).map(str))
def test_different_numbers_stay_different(number: str) -> None:
    other = str(float(number) + 1)
    for name in ("exact_match_post", "math_post", "gsm8k_post"):
        process = POSTPROCESSORS[name]
        assert process(f"#### {number}") != process(f"#### {other}")


@pytest.mark.parametrize("answer", [r"\sqrt", r"2\frac", r"\text{ a}\text{ b}"])
def test_the_benchmark_script_breaks_off_where_it_did(answer: str) -> None:
    with pytest.raises(ValueError, match=r"nothing|unit"):
        hendrycks_form(answer)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"'gsm8k_pots' \(did you mean 'gsm8k_post'\?\).*'agieval_cloze_post'"
    ):
        find_postprocessor("gsm8k_pots")
