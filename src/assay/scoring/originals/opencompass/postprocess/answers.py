"""Short answers in running text: what follows "the answer is", the first line, the first word."""

from __future__ import annotations

import re

from assay.scoring.differences import Difference
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
    """Return what follows the last of a mark, or the text as it is."""
    return text.rpartition(mark)[2].strip() if mark in text else text


def _drop_articles(text: str) -> str:
    return _SPACE.sub(" ", _ARTICLE.sub("", text)).strip()


def _read_first_line_answer(text: str) -> str:
    line = text.split("\n", 1)[0].lower()
    return _cut_after_last(_cut_after_last(line, "answer is"), _CHINESE_MARK)


def shorten_original(text: str) -> str:
    """Return the text up to its first line break, point or comma, without punctuation and articles."""
    return _drop_articles(_PUNCTUATION.sub("", _CUT.split(text, maxsplit=1)[0]))


def shorten(text: str) -> str:
    """Return the same with numbers whole, and with an answer that is an article and nothing else."""
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
    """Return what follows the last *is*, *be*, *are* or colon of the last line."""
    words = text.strip().split("\n")[-1].split(" ")
    ends = (at for at, word in enumerate(words, start=1) if word in ("is", "be", "are") or word.endswith(":"))
    return " ".join(words[max(ends, default=0) :]).strip().strip(".")


def _theorem_answer(text: str) -> str:
    found = _THEOREM_MARK.search(text.strip())
    return text.strip() if found is None else found[1].strip(".,?!\"';:")


_SHORT = Difference(
    "a decimal point or a comma inside a number ends the answer (3.5 is 3), a minus sign is dropped, "
    "the answer A is an article and so nothing, and a line break before the answer leaves nothing",
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
        "the full stop goes after every such phrase",
    ),
)
UNTIL_RETURN = make_unchanged(_cut_first_line)
THEOREM_QA = make_unchanged(_theorem_answer)
THEOREM_QA_V2 = make_unchanged(_last_words)
