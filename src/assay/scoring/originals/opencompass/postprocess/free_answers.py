"""Free answers of benchmarks that state them in one sentence: BBH, BBEH, StrategyQA, CMRC and others."""

from __future__ import annotations

import re

from assay.scoring.differences import Difference
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor, make_unchanged

_STATED = re.compile(r"answer is\s*(?::\s*)?", re.IGNORECASE)
_BOLD = re.compile(r"\*\*(.*?)\*\*")
_VERDICT = re.compile(r"(yes|no|true|false)\b", re.IGNORECASE)
_PAIR_OF_NUMBERS = re.compile(r"\d\s*,\s*\d")
_BBEH_PHRASES = tuple(f"The {final}answer is{colon} " for final in ("", "final ") for colon in (":", ""))
_LATEX = tuple(re.compile(rf"\\{command}\{{(.*?)\}}") for command in ("boxed", "text", "texttt"))
_TURN_END = re.compile(r"<eoa>|<TOKENS_UNUSED_1>|<\|im_end\|>|\[INST\]|\n(?:user|USER)")
"""Where a reply to T-Eval ends and some models write on: their ends of turn, and turns of the user."""
_YES_OR_NO = re.compile("yes|no")
_YES_OR_NO_AS_WORD = re.compile(r"\b(?:yes|no)\b")
_CHINESE_ANSWER_MARK = "答案是"


def _one_line(text: str) -> str:
    """Return the first line without the point at its end."""
    line = text.split("\n")[0].strip()
    return line[:-1].strip() if line.endswith(".") else line


def _bbh(text: str) -> str:
    *before, answer = _STATED.split(text)
    answer = _one_line(answer.strip() if before else answer)
    if bold := _BOLD.search(answer):
        answer = bold[1].strip()
    if verdict := _VERDICT.match(answer):
        return verdict[1].capitalize()
    if not _PAIR_OF_NUMBERS.search(answer):
        answer = answer.replace(",", " ")
    return " ".join(answer.split())


def _find_bbh_aisbench(text: str) -> str:
    parts = text.split("answer is ")
    answer = _one_line(parts[1].strip() if len(parts) > 1 else text)
    bold = _BOLD.search(answer)
    return bold[1] if bold else answer


def _cut_bbeh_statement(text: str) -> str:
    phrase = next((phrase for phrase in _BBEH_PHRASES if phrase in text), None)
    return text if phrase is None else text.rpartition(phrase)[2]


def _bbeh(text: str) -> str:
    answer = _cut_bbeh_statement(text)
    for wrapper in (*_LATEX, _BOLD):
        answer = wrapper.sub(r"\1", answer)
    return answer.split("\n")[0].strip().lower()


def _original_bbeh_option(text: str) -> str:
    return _cut_bbeh_statement(text).strip("()").split("\n")[0].strip().lower()


def _bbeh_option(text: str) -> str:
    return _cut_bbeh_statement(text).strip("()").split("\n")[0].strip(" ().*").lower()


def _cut_strategyqa_statement(text: str) -> str:
    return text.split("\n\n")[0].rpartition("answer is ")[2].lower()


def _original_strategyqa(text: str) -> str:
    found = _YES_OR_NO.search(_cut_strategyqa_statement(text))
    return found[0] if found else ""


def _strategyqa(text: str) -> str | None:
    found = _YES_OR_NO_AS_WORD.search(_cut_strategyqa_statement(text))
    return found[0] if found else None


def _original_strategyqa_gold(text: str) -> str:
    return "yes" if text == "True" else "no"


def _strategyqa_gold(text: str) -> str | None:
    return {"true": "yes", "yes": "yes", "false": "no", "no": "no"}.get(text.strip().lower())


def _cut_after_chinese_mark(text: str) -> str:
    return text.split(_CHINESE_ANSWER_MARK)[1] if _CHINESE_ANSWER_MARK in text else text


def _cut_next_question(text: str) -> str:
    return text.split("问题：")[0].strip()


def _game24(text: str) -> str:
    last_line = text.strip().rpartition("\n")[2]
    return last_line.partition("=")[0].lower().replace("answer: ", "")


def _teval(text: str) -> str:
    """Return the JSON of a reply, without what models write on after it and without a fence."""
    text = _TURN_END.split(text, maxsplit=1)[0].strip().removeprefix("```json").strip("`").strip()
    return text[1:-1] if text[:2] == "{{" and text[-2:] == "}}" else text


BBH_FREEFORM = make_unchanged(_bbh)
BBH_FREEFORM_OF_AISBENCH = make_unchanged(_find_bbh_aisbench)
BBEH_FREEFORM = make_unchanged(_bbeh)
BBEH_MCQ = PostProcessor(
    _original_bbeh_option,
    _bbeh_option,
    Difference("of `(A).` the answer is `a).`", "brackets, points and asterisks around the letter go: a"),
)
STRATEGYQA = PostProcessor(
    _original_strategyqa,
    _strategyqa,
    Difference("yes and no count inside words: `I know` is no", "they count as words"),
)
STRATEGYQA_GOLD = PostProcessor(
    _original_strategyqa_gold,
    _strategyqa_gold,
    Difference(
        "any text but `True` is no, also `true` and `yes`",
        "true and yes are yes, false and no are no; another text is no answer",
    ),
)
CHINESE_SPAN = make_unchanged(_cut_after_chinese_mark)
CHINESE_SIMPLEQA = make_unchanged(_cut_next_question)
GAME24 = make_unchanged(_game24)
TEVAL = make_unchanged(_teval)
