from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.originals.opencompass.postprocess import (
    ALIASES,
    CORRECTED,
    POSTPROCESSORS,
    find_postprocessor,
)
from assay.scoring.originals.opencompass.postprocess.registry import OPENICL

Said = str | dict[str, Any]

FIRST = {"type": "first_option_postprocess", "options": "ABCD"}
SURE = {**FIRST, "cushion": False}
FIRST_V1 = {"type": "first_option_postprocess_v1", "options": "ABCD"}
LAST = {"type": "last_option_postprocess", "options": "ABCD"}
THINK = {"type": "think_pred", "re_pattern": r"\[(.*?)\]"}
PATTERN = {"type": "match_answer_pattern", "answer_pattern": r"(?i)answer\s*:\s*(\w+)"}
TAG = {"type": "specific-xml-tag", "tag": "<conclude>"}
SAID = "extract-non-reasoning-content"
SAID_RAW = "extract-non-reasoning-content-raw"
HEADINGS = {"type": SAID, "think_start_token": "[THINK]", "think_end_token": "[SAY]"}
MGSM = {"type": "mgsm_postprocess", "lang": "de"}
CLOZE = {"type": "mathbench_postprocess", "name": "college_en"}
CLOZE_CN = {"type": "mathbench_postprocess", "name": "college_cn"}
COMPASS = {"type": "compassbench_objective_v1_3_postprocess", "name": "math_en"}
OLYMPIAD = {"type": "olympiadbench_postprocess_v2", "is_chinese": True}
V2, V3 = "humaneval_postprocess_v2", "humaneval_postprocess_v3"
INTERNAL = "humaneval_internal_v1_postprocess"
GPQA, GPQA_LAST = "GPQA_Simple_Eval_postprocess", "aisbench:GPQA_Simple_Eval_postprocess"
INFINITE = "InfiniteBench_first_number_postprocess"
NAME = "needlebench_atc_postprocess_v2"

# (post-processor, text, the original's answer, the answer here)
CASES: list[tuple[Said, str, str | None, str | None]] = [
    ("general", "The Paris, of course", "Paris", "Paris"),
    ("general", "3.14", "3", "3.14"),
    ("general", "A", "", "A"),
    ("general", "\n\nParis", "", "Paris"),
    ("first-capital", "so: B", "B", "B"),
    ("first-capital", "Answer: B", "A", "B"),
    ("first-capital", "I think a dog. A cat is (C)", "I", "C"),
    ("first-capital", "选B项", "B", "B"),
    ("first-capital", "none", "", None),
    ("last-capital", "B. Dogs and Cats", "C", "B"),
    ("last-capital", "either A or D", "D", "D"),
    ("first-capital-multi", "ACD", "ACD", "ACD"),
    ("first-capital-multi", "Answer: A, C", "A", "AC"),
    ("first-capital-multi", "A and D are right", "A", "AD"),
    ("first-capital-multi", "E", "", None),
    ("multiple-select", "Select A and C", "ACS", "AC"),
    ("multiple-select", "BCD", "BCD", "BCD"),
    ("multiple-select", "the USA: B", "ABSU", "B"),
    ("my_multiple_select_postprocess", "CA", "A, C", "A, C"),
    ("my_multiple_select_postprocess", "Correct: DB", "B, C, D", "B, D"),
    (FIRST, "ANSWER: B", "B", "B"),
    (FIRST, "The answer is (C).", "C", "C"),
    (FIRST, "Apple", "A", None),
    (FIRST, "Dogs and Cats", "D", None),
    (FIRST, "The answer is A. No wait, the answer is B, surely", "A", "B"),
    (FIRST, "故选C", "C", "C"),
    (FIRST, "", "", None),
    (SURE, "Apple", "", None),
    (FIRST_V1, "The answer is B. " + "x" * 300 + " the answer is C", "C", "C"),
    (FIRST_V1, "The answer is B." + " word" * 50, "", "B"),
    (LAST, "so B", "B", "B"),
    (LAST, "B. Dogs And Cats", "C", "B"),
    (LAST, "nothing", "", None),
    (GPQA, "ANSWER: C", "C", "C"),
    (GPQA, "Answer: because. **Answer:** (d)", "b", "D"),
    (GPQA, "The answer is C", None, None),
    (GPQA, "none", None, None),
    (GPQA_LAST, "Answer: C, then Answer: D", "D", "D"),
    (GPQA_LAST, "Answer: C. My answer: because", "b", "C"),
    ("bbh-mcq", "So the answer is (B).", "B", "B"),
    ("bbh-mcq", "the answer is Apple, (no) the answer is (C)", "A", "C"),
    ("bbh-mcq", "none", "none", None),
    ("charm-reason", "So the answer is (B).", "B", "B"),
    ("charm-reason", "Well, C", "W", "C"),
    ("crowspairs_postprocess", "B. is less so", "B", "B"),
    ("crowspairs_postprocess", "The Answer is B", "A", "B"),
    ("crowspairs_postprocess", "Neither", "invalid", None),
    ("get_a_or_b", "A", "A", "A"),
    ("get_a_or_b", "A\nIt agrees.", "B", "A"),
    ("get_a_or_b", "I cannot say", "B", None),
    (THINK, "hm [ yes ] so", "yes", "yes"),
    (THINK, "yes", "yes", "yes"),
    (PATTERN, "Answer: Paris", "Paris", "Paris"),
    (PATTERN, "Paris", "", None),
    (TAG, "<conclude>1</conclude> no <conclude> 2\n</conclude>", "2", "2"),
    (TAG, "2", "NO ANSWER FOUND", None),
    (SAID, "Start<think>hm</think> End", "Start End", "Start End"),
    (SAID, "hm</think> so </think> End", "End", "End"),
    (SAID, "<think>hm, the answer is", "<think>hm, the answer is", None),
    (HEADINGS, "[THINK]hm[SAY] it", "[AY] it", "it"),
    (SAID_RAW, "hm</think>\n\n it ", "\n\n it ", "\n\n it "),
    (SAID_RAW, "so <think>hm", "so <think>hm", None),
    ("keep-reasoning-content", "<think>hm</think> it", "<think>hm</think> it", "<think>hm</think> it"),
    ("first_number_postprocess", "about 1,234.5 m", "1.0", "1234.5"),
    ("first_number_postprocess", "3", "3.0", "3"),
    ("first_number_postprocess", "none", None, None),
    (INFINITE, "it is -1,234", "1", "-1234"),
    (INFINITE, "7.5 or 8", "7.5", "7.5"),
    (INFINITE, "none", None, None),
    ("gsm8k", "It is 18. Question: 5?", "18", "18"),
    ("gsm8k", "It is $1,018.", "018", "1018"),
    ("gsm8k", "The answer is 7, which is 5-3 more", "-3", "7"),
    ("gsm8k", "Who knows", "NULL", None),
    ("gsm8k_dataset", "so\n#### 1,018", "1018", "1018"),
    ("gsm8k_dataset", "18", None, None),
    ("gsm8k_dataset", "#### 18.0", "18.0", "18"),
    ("gsm100", "The answer is about $1,018 now", "1018", "1018"),
    ("gsm100", "The answer is -3.5", "35", "-3.5"),
    ("gsm100", "18", "", None),
    ("gsm100_dataset", "1,018", "1018", "1018"),
    (MGSM, "Antwort: 1,018.", "1018", "1018"),
    (MGSM, "Antwort: -18.0", "18.0", "-18"),
    (MGSM, "18", "", None),
    (CLOZE, "The answer is 3/4, not 5", "3/4", "3/4"),
    (CLOZE, "so 1,234 or 7-5", "-5", "5"),
    (CLOZE, "The answer is pi", "pi", "pi"),
    (CLOZE, "no idea", "no idea", None),
    (CLOZE_CN, "答案是 5 米", "5", "5"),
    (COMPASS, "The answer is 12. 3", "12", "12"),
    (COMPASS, "that is 10-4", "-4", "4"),
    ("scibench", r"the answer is \boxed{\frac{1}{2}}", r"\frac{1", r"\frac{1}{2}"),
    ("scibench", "the answer is 1,234.5 m", "1234.5", "1234.5"),
    ("scibench", "no idea", "no idea", None),
    ("math_postprocess", "So. The final answer is $12$. I hope", "12", "12"),
    ("math_postprocess", "The final answer is 0.5. Yes", "0", "0.5"),
    ("math_postprocess", r"\text{(B)}", "B", "B"),
    ("math_postprocess_v2", r"so \boxed{{x+\frac12}} it", r"x+\frac12", r"x+\frac12"),
    ("math_postprocess_v2", "The answer is: 3.5 cm", "3", "3.5"),
    ("math_postprocess_v2", r"so \fbox{5}, yes", r"so\fbox{5},yes", "5"),
    ("math_judement_preprocess", "Answer: 3 cm\nso", "3 cm", "3 cm"),
    ("math_judement_preprocess", "3", "", None),
    ("dapo_math_postprocess", "Answer: $x = 12$", "12", "12"),
    ("dapo_math_postprocess", "12", "[INVALID]", None),
    ("dapo_math_postprocess_v2", r"\boxed{7}", "7", "7"),
    ("dapo_math_postprocess_v2", r"\boxed{7}" + " so it is" * 20, "", "7"),
    (NAME, r"\boxed{\text{Ann~Lee}}", "Ann Lee", "Ann Lee"),
    (NAME, "Ann", "None", None),
    (OLYMPIAD, "所以最终答案是 5\n所以最终答案是 6。", "6。", "6。"),
    (OLYMPIAD, "6", "6", "6"),
    ("TheoremQA", "So the answer is 3.5. Then", "3.5", "3.5"),
    ("TheoremQA_postprocess_v2", "hm\nThe value is 3 m.", "3 m", "3 m"),
    ("TheoremQA_postprocess_v2", "3", "3", "3"),
    ("TheoremQA_postprocess_v3", r"The answer is x = \frac{1}{2} + 1.", "1.5", "1.5"),
    ("TheoremQA_postprocess_v3", "The answer is 50%", "0.5", "0.5"),
    ("TheoremQA_postprocess_v3", "The answer is unknown, 7", "False", "unknown, 7"),
    ("TheoremQA_postprocess_v3", "I say 3 or 4", "4", "4"),
    ("TheoremQA_postprocess_v3", "The answer is __import__('os')", "__import__('os')", "__import__('os')"),
    ("TheoremQA_postprocess_v4", r"The answer is \(x\)", "x", "x"),
    ("TheoremQA_postprocess_v4", "The answer is noon", "False", "noon"),
    ("bbh-freeform", "So the Answer is: **yes**.", "Yes", "Yes"),
    ("bbh-freeform", "answer is b , a", "b a", "b a"),
    ("aisbench:bbh-freeform", "So the answer is **yes**.", "yes", "yes"),
    ("bbeh_freeform", r"The answer is: \boxed{Left}" + "\nso", "left", "left"),
    ("bbeh_mcq", "The answer is (A)", "a", "a"),
    ("bbeh_mcq", "The answer is (A).", "a).", "a"),
    ("strategyqa", "hm. So the answer is yes.\n\nQ: no", "yes", "yes"),
    ("strategyqa", "I know: yes", "no", "yes"),
    ("strategyqa", "maybe", "", None),
    ("strategyqa_dataset", "True", "yes", "yes"),
    ("strategyqa_dataset", "true", "no", "yes"),
    ("strategyqa_dataset", "maybe", "no", None),
    ("cmrc", "答案是北京。", "北京。", "北京。"),
    ("drcd", "北京", "北京", "北京"),
    ("chinese_simpleqa_preprocess", " 北京 问题：二", "北京", "北京"),
    ("game24_postprocess", "hm\nAnswer: (1+2)*8 = 24", "(1+2)*8 ", "(1+2)*8 "),
    ("teval", '```json\n{"a": 1}\n```<eoa>x', '{"a": 1}', '{"a": 1}'),
    ("Xsum", "\n one \n two", "one", "one"),
    ("lcsts", "1. “北京。”\nso", "北京", "北京"),
    ("flores", " one \n two", "one ", "one "),
    ("ReCoRD", "Answer: Ann\nso", "Ann", "Ann"),
    ("trec_postprocess", "\n one\n two", " one", " one"),
    ("lsht_postprocess", "\n one\n two", " one", " one"),
    ("samsum_postprocess", "\n one\n two", " one", " one"),
    ("triviaqa_postprocess", "\n one\n two", " one", " one"),
    ("needlebench", " one\n", " one\n", " one\n"),
    ("needlebench_dataset", " one\n", " one\n", " one\n"),
    (V2, "So:\n```python\ndef f(): 1\n```\n```\n2\n```", "def f(): 1\n", "def f(): 1\n"),
    (V2, "```python\n\n    return 1\n```", "return 1\n", "    return 1\n"),
    (V2, "So:\n```python\ndef f(): 1", "So:\n```python\ndef f(): 1", "def f(): 1"),
    (V3, "```\n1\n```\n```python\n def f(): 2\n```", "def f(): 2\n", "def f(): 2\n"),
    (V3, "```c++ \n1\n```", "```c++ \n1\n```", "1\n"),
    (INTERNAL, "'def f():\\n  return 1'", "    return 1", "    return 1"),
    (INTERNAL, r"'re.sub(\d)'", r"    re.sub(\d)", r"    re.sub(\d)"),
    (
        INTERNAL,
        "```python\nimport re\ndef f():\n    if x:\n\n        return 1\nprint(1)\n```",
        "    if x:\n        return 1",
        "    if x:\n        return 1",
    ),
    ("humaneval_internal_v2_postprocess", "   return 1\n\ndef g(): 2", "    return 1\n", "    return 1\n"),
    ("MBPPEvaluator", "[BEGIN]\n'def f(): 1'\n[DONE] so", "def f(): 1", "def f(): 1"),
    ("MBPPEvaluator", "So:\n```python\nmy\\_f = 1\n```", "my_f = 1", "my_f = 1"),
    ("MBPPEvaluator2", "Here it is:\nx = 1\n# Test\nf()", "x = 1", "x = 1"),
    ("ds1000", "<code>```python\nx = 1\n```</code>", "\nx = 1\n", "\nx = 1\n"),
    ("ds1000_completion", "x = 1</code>so", "x = 1", "x = 1"),
    ("ds1000_matplotlib", "x = 1\nplt.show()\ny = 2", "x = 1\ny = 2", "x = 1\ny = 2"),
    ("cruxeval_o_postprocess", " [1, 2] # done\nso", "[1, 2]", "[1, 2]"),
    ("refcoco_bbox_1000", "at [1, 2.5,3,4]", "[1.0, 2.5, 3.0, 4.0]", "[1.0, 2.5, 3.0, 4.0]"),
    ("refcoco_bbox_1000", "there", "[0.0, 0.0, 0.0, 0.0]", None),
    ("get_lmm_point_list", "so [1, 2]", "[1, 2]", "[1, 2]"),
    ("get_lmm_point_list", "none", "[]", None),
]

OF_JIEBA = {"general_cn", "flores-chinese"}
"""Tested apart: the package need not be there."""


def name_of(message: Said) -> str:
    return message if isinstance(message, str) else message["type"]


@pytest.mark.parametrize(("message", "text", "original", "here"), CASES)
def test_answers(message: Said, text: str, original: str | None, here: str | None) -> None:
    process = find_postprocessor(message)
    assert process(text, faithful=True) == original
    assert process(text) == here


def test_every_post_processor_has_a_case_and_every_difference_is_shown_by_one() -> None:
    assert {name_of(message) for message, *_ in CASES} | OF_JIEBA == set(OPENICL)
    differing = {name_of(message) for message, _, original, here in CASES if (original or None) != here}
    assert differing | {"general_cn"} == set(CORRECTED) & set(OPENICL)


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_is_no_name_of_its_own(alias: str) -> None:
    assert alias not in POSTPROCESSORS
    assert ALIASES[alias] in POSTPROCESSORS


@pytest.mark.parametrize("name", POSTPROCESSORS)
def test_both_ways_take_the_same_arguments(name: str) -> None:
    process = POSTPROCESSORS[name]
    assert _arguments(process.original) == _arguments(process.corrected)


def _arguments(find: Any) -> Mapping[str, Any]:
    parameters = inspect.signature(find).parameters.values()
    return {one.name: one.default for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}


# fmt: off
PIECES = (
    "answer is ", "答案是", "The answer is ", "Answer: ", "\n", "\n\n", ".", ",", " ", "3.5", "1,234", "-4",
    "(B)", "A", "C", "Because ", "$", r"\boxed{", r"\fbox{", "{", "}", r"\frac", "=", "#### 7", "```",
    "```python\n", "def f():\n", "    ", "[BEGIN]", "'", "[DONE]", "DONE", "<think>", "</think>",
    "<conclude>", "</conclude>", "yes", "know", "Antwort", "**",
)
# fmt: on
TEXTS = st.text() | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
EVERY = {name_of(said): said for said, *_ in CASES}


@pytest.mark.parametrize("message", EVERY.values(), ids=EVERY)
@given(text=TEXTS)
def test_no_text_breaks_one_and_none_is_left_empty(message: Said, text: str) -> None:
    process = find_postprocessor(message)
    original = process(text, faithful=True)
    assert original is None or isinstance(original, str)
    answer = process(text)
    assert answer is None or answer.strip()


@given(st.sampled_from("ABCD"), st.sampled_from(("Dogs", "Cats And Apples", "a Boat", "Die Antwort")))
def test_an_option_is_found_beside_words_with_capitals(letter: str, word: str) -> None:
    for message in (FIRST, LAST, FIRST_V1):
        assert find_postprocessor(message)(f"{word}. So the answer is ({letter}) {word}.") == letter


@given(st.decimals(-10_000, 10_000, places=2).map(str) | st.integers(-10_000, 10_000).map("{:,}".format))
def test_a_number_and_its_gold_meet_in_one_form(number: str) -> None:
    gold = find_postprocessor("gsm8k_dataset")(f"so\n#### {number}")
    assert find_postprocessor("gsm8k")(f"It is easy. The answer is {number}.") == gold
    assert find_postprocessor("gsm100")(f"The answer is {number}.") == gold


def test_a_reply_of_white_space_is_read_quickly() -> None:
    for name in ("MBPPEvaluator", "MBPPEvaluator2", V2, "bbh-freeform", "lcsts"):
        find_postprocessor(name)("[BEGIN]'" + " \n" * 50_000 + "x")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("first_capital_postproces", r"did you mean 'first_capital_postprocess'"),
        ({"type": "first_option_postprocess"}, r"needs the argument 'options'"),
        ({**FIRST, "optoins": "AB"}, r"no argument 'optoins' \(did you mean 'options'\?\).*'cushion'"),
        ({"type": "general", "options": "AB"}, r"no argument 'options'; expected none"),
        ({**FIRST, "options": ["A", "B"]}, r"'options' is \['A', 'B'\]; expected a text"),
        ({**FIRST, "options": "A-D"}, r"'A-D'; write each option's letter once"),
        ({**FIRST, "options": "AAB"}, r"'AAB'; write each"),
        ({**FIRST, "cushion": "yes"}, r"'cushion' is 'yes'; expected true or false"),
        ({"type": "specific-xml-tag", "tag": "conclude"}, r"'conclude'; write it with its brackets"),
        ({**PATTERN, "answer_pattern": "(a"}, r"'answer_pattern' is not a valid regular expression"),
        ({**PATTERN, "answer_pattern": "a"}, r"'answer_pattern' has no group"),
        ({**MGSM, "lang": "dee"}, r"'dee' \(did you mean 'de'\?\)"),
        ({"type": SAID, "think_start_token": "["}, r"'\['.*"),
        ({"type": SAID, "think_start_token": ""}, r"a token is empty"),
        ({"options": "ABCD"}, r'has no "type"'),
    ],
)
def test_what_does_not_fit_is_said_before_a_text_is_read(message: Said, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        find_postprocessor(message)


def test_without_jieba_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(ValueError, match=r"'general_cn': .*pip install jieba"):
        find_postprocessor("general_cn_postprocess")


def test_chinese_words_are_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = ModuleType("jieba")
    monkeypatch.setattr(fake, "cut", list, raising=False)
    monkeypatch.setattr(fake, "setLogLevel", lambda level: None, raising=False)
    monkeypatch.setitem(sys.modules, "jieba", fake)
    general = find_postprocessor("general_cn")
    # The original's cleaning is lost: the text is parted as it was.
    assert general("北京。\n", faithful=True) == "北 京 。 \n"
    assert general("北京。\n") == "北 京"
    assert find_postprocessor("flores-chinese")(" 北  京\n二") == "北   京"
