"""Short answers in a reply: after "the answer is", in the first line, or the first word."""

from __future__ import annotations

import logging
import re
import warnings

from assay.core.difference import Difference
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor, make_unchanged

_CHINESE_MARK = "答案是"

_CUT = re.compile(r"[\n.,]")
_PUNCTUATION = re.compile(r"[^\w\s]")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b", re.IGNORECASE)
_SPACE = re.compile(r"\s+")

_CUT_OUTSIDE_NUMBERS = re.compile(r"\n|\.(?!\d)|(?<!\d),|,(?!\d{3}(?!\d))")
_PUNCTUATION_OUTSIDE_NUMBERS = re.compile(r"(?!\.\d|(?<!\w)-\d)[^\w\s]")

_THEOREM_MARK = re.compile(r"answer is (\S+)")


def _cut_after_last(text: str, mark: str) -> str:
    """Return the text after the last occurrence of a marker, or the whole text."""
    return text.rpartition(mark)[2].strip() if mark in text else text


def _drop_articles(text: str) -> str:
    return _SPACE.sub(" ", _ARTICLE.sub("", text)).strip()


def _read_first_line_answer(text: str) -> str:
    line = text.split("\n", 1)[0].lower()
    return _cut_after_last(_cut_after_last(line, "answer is"), _CHINESE_MARK)


def shorten_original(text: str) -> str:
    """Return the text up to its first line break, full stop or comma, without punctuation and articles."""
    return _drop_articles(_PUNCTUATION.sub("", _CUT.split(text, maxsplit=1)[0]))


def shorten(text: str) -> str:
    """Return the same, but keep numbers whole and an answer that is only an article."""
    stated = _CUT_OUTSIDE_NUMBERS.split(text.lstrip(), maxsplit=1)[0]
    plain = _PUNCTUATION_OUTSIDE_NUMBERS.sub("", stated)
    return _drop_articles(plain) or plain.strip()


def _original_short_answer(text: str) -> str:
    return shorten_original(_read_first_line_answer(text))


def _short_answer(text: str) -> str:
    return shorten(_read_first_line_answer(text.lstrip()))


def _original_conclusion(text: str) -> str:
    paragraph = text.strip().split("\n\n")[0].strip()
    if "So the answer is" in paragraph:
        paragraph = _cut_after_last(paragraph, "So the answer is").rstrip(".").strip()
    return _cut_after_last(_cut_after_last(paragraph, "answer is"), _CHINESE_MARK)


def _conclusion(text: str) -> str:
    paragraph = text.strip().split("\n\n")[0].strip()
    stated = _cut_after_last(_cut_after_last(paragraph, "answer is"), _CHINESE_MARK)
    return paragraph if stated == paragraph else stated.rstrip(".。").strip()


def _cut_first_line(text: str) -> str:
    return text.strip().split("\n")[0].strip()


def _last_words(text: str) -> str:
    """Return the words after the last *is*, *be*, *are* or colon of the last line."""
    words = text.strip().split("\n")[-1].split(" ")
    ends = (at for at, word in enumerate(words, start=1) if word in ("is", "be", "are") or word.endswith(":"))
    return " ".join(words[max(ends, default=0) :]).strip().strip(".")


def _theorem_answer(text: str) -> str:
    found = _THEOREM_MARK.search(text.strip())
    return text.strip() if found is None else found[1].strip(".,?!\"';:")


_SHORT = Difference[object](
    "a decimal point or comma inside a number ends the answer (3.5 is 3), a minus sign is "
    "dropped, the answer A is removed as an article, and a line break before the answer "
    "leaves nothing",
    "numbers stay whole (3.5 is 3.5, 1,000 is 1000, -3 is -3), the answer A stays, and line breaks "
    "before the answer are skipped",
)

EXACT_MATCH = PostProcessor(_original_short_answer, _short_answer, _SHORT)
GENERAL = PostProcessor(shorten_original, shorten, _SHORT)
BBH = PostProcessor(
    _original_conclusion,
    _conclusion,
    Difference(
        "the full stop after `answer is (B).` stays, unless the sentence begins with `So the`",
        "the full stop is removed after every such phrase",
    ),
)
UNTIL_RETURN = make_unchanged(_cut_first_line)
THEOREM_QA = make_unchanged(_theorem_answer)
THEOREM_QA_V2 = make_unchanged(_last_words)


_QUOTES = "“，。！”"


def _strip_first_line(text: str) -> str:
    return text.strip().split("\n")[0].strip()


def _cut_first_line_unstripped(text: str) -> str:
    return text.strip().split("\n")[0]


def _cut_indented_first_line(text: str) -> str:
    return text.lstrip("\n").split("\n")[0]


def _entity(text: str) -> str:
    return _cut_first_line_unstripped(text).replace("Answer: ", "").strip()


def _headline(text: str) -> str:
    """Return a headline without list markers, quotes, and one model's stray Russian word."""
    line = _cut_first_line_unstripped(text).replace("своей", "").strip()
    for mark in ("1. ", "- "):
        if line.startswith(mark):
            line = line.replace(mark, "")
    return line.strip(_QUOTES)


def _keep_text(text: str) -> str:
    return text


FIRST_LINE = make_unchanged(_strip_first_line)
FLORES = make_unchanged(_cut_first_line_unstripped)
LONGBENCH = make_unchanged(_cut_indented_first_line)
RECORD = make_unchanged(_entity)
LCSTS = make_unchanged(_headline)
WHOLE = make_unchanged(_keep_text)


_STATED = re.compile(r"answer is\s*(?::\s*)?", re.IGNORECASE)
_BOLD = re.compile(r"\*\*(.*?)\*\*")
_VERDICT = re.compile(r"(yes|no|true|false)\b", re.IGNORECASE)
_PAIR_OF_NUMBERS = re.compile(r"\d\s*,\s*\d")
_BBEH_PHRASES = tuple(f"The {final}answer is{colon} " for final in ("", "final ") for colon in (":", ""))
_LATEX = tuple(re.compile(rf"\\{command}\{{(.*?)\}}") for command in ("boxed", "text", "texttt"))
_TURN_END = re.compile(r"<eoa>|<TOKENS_UNUSED_1>|<\|im_end\|>|\[INST\]|\n(?:user|USER)")
"""Where a reply to T-Eval ends but some models continue: end-of-turn tokens, and user turns."""
_YES_OR_NO = re.compile("yes|no")
_YES_OR_NO_AS_WORD = re.compile(r"\b(?:yes|no)\b")
_CHINESE_ANSWER_MARK = "答案是"


def _one_line(text: str) -> str:
    """Return the first line without its final full stop."""
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
    """Return the JSON in a reply, without text after it and without a code fence."""
    text = _TURN_END.split(text, maxsplit=1)[0].strip().removeprefix("```json").strip("`").strip()
    return text[1:-1] if text[:2] == "{{" and text[-2:] == "}}" else text


BBH_FREEFORM = make_unchanged(_bbh)
BBH_FREEFORM_OF_AISBENCH = make_unchanged(_find_bbh_aisbench)
BBEH_FREEFORM = make_unchanged(_bbeh)
BBEH_MCQ = PostProcessor(
    _original_bbeh_option,
    _bbeh_option,
    Difference(
        "the answer in `(A).` is `a).`", "brackets, full stops and asterisks around the letter are removed: a"
    ),
)
STRATEGYQA = PostProcessor(
    _original_strategyqa,
    _strategyqa,
    Difference("yes and no count inside words: `I know` is no", "only whole words count"),
)
STRATEGYQA_GOLD = PostProcessor(
    _original_strategyqa_gold,
    _strategyqa_gold,
    Difference(
        "any text but `True` is no, including `true` and `yes`",
        "true and yes are yes, false and no are no; another text is no answer",
    ),
)
CHINESE_SPAN = make_unchanged(_cut_after_chinese_mark)
CHINESE_SIMPLEQA = make_unchanged(_cut_next_question)
GAME24 = make_unchanged(_game24)
TEVAL = make_unchanged(_teval)


_CHINESE_SPACE = re.compile(r"\s+")


def split_chinese_words(text: str) -> str:
    """Return a Chinese text with spaces between its words; ValueError if jieba is not installed."""
    with warnings.catch_warnings():
        # jieba imports a deprecated module of setuptools.
        warnings.simplefilter("ignore")
        try:
            import jieba
        except ModuleNotFoundError:
            raise ValueError("splitting Chinese words needs the package jieba: pip install jieba") from None
    jieba.setLogLevel(logging.WARNING)  # it logs how long its dictionary took to load
    return " ".join(jieba.cut(text))


def _general(text: str) -> str:
    return split_chinese_words(shorten(text))


def _translation(text: str) -> str:
    return split_chinese_words(_CHINESE_SPACE.sub(" ", text.strip().split("\n")[0]).strip())


GENERAL_CHINESE = PostProcessor(
    split_chinese_words,
    _general,
    Difference(
        "the text is cleaned with `general`, but the uncleaned text is split into words",
        "the cleaned text is split into words, with whole numbers as in `general`",
    ),
)
FLORES_CHINESE = make_unchanged(_translation)
