"""The option that a reply chooses: by named options, by capital letters, or as exams mark it."""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.core.difference import Difference
from assay.scoring.extract import extract_option
from assay.scoring.originals.opencompass.option_reader import read_phrase
from assay.scoring.originals.opencompass.postprocess.processor import FindAnswer, PostProcessor

_LATIN_WORD = re.compile(r"[A-Za-z]+")
# "A dog is", "I think", "I'm": a word, not an option.
_PLAIN_WORD = re.compile(
    r"(?<![A-Za-z(（\[*])(?:A(?= (?!(?:and|or|is|as|because|since|but|for)\b)[a-z])|I(?= [a-z]|['’]))"
)
_TOGETHER = re.compile(r"[A-D](?:(?:[\s、，,和及&]|and)*[A-D])*")

INSIDE_WORDS = Difference[object](
    "a capital letter inside a word is an option: the A of `Answer`, the B of `Because`",
    "capital letters of words that are not options do not count",
)
NO_LETTERS = Difference[object](
    "a capital letter inside a word is an option; so are the article A and the pronoun I",
    "only a separate capital letter counts, not an article or pronoun",
)


def lower_other_words(text: str, is_option: Callable[[str], bool]) -> str:
    """Return the text with every word in lower case that is not an option."""
    return _LATIN_WORD.sub(lambda word: word[0] if is_option(word[0]) else word[0].lower(), text)


def one_letter(find: FindAnswer) -> FindAnswer:
    """Return the rule for texts in which an option is a single capital letter."""
    return lambda text: find(lower_other_words(text, lambda word: len(word) == 1))


def several_letters(find: FindAnswer, letters: str) -> FindAnswer:
    """Return the rule for texts in which an option is one or several of these letters."""
    return lambda text: find(lower_other_words(text, frozenset(letters).issuperset))


def filter_letters(text: str, letters: str) -> str:
    """Return the characters of a text that are among the letters."""
    return "".join(letter for letter in text if letter in letters)


def letters_together(text: str) -> str:
    """Return the first run of letters A to D, as in `A, C and D`."""
    found = _TOGETHER.search(text)
    return "" if found is None else filter_letters(found[0], "ABCD")


def lower_plain_words(text: str) -> str:
    """Return the text with the article A and the pronoun I in lower case."""
    return _PLAIN_WORD.sub(lambda word: word[0].lower(), text)


def lone_capitals(text: str) -> str:
    """Return the text with only standalone capitals, without article and pronoun."""
    return lower_other_words(lower_plain_words(text), lambda word: len(word) == 1)


_AISBENCH_TAIL = 200
"""AISBench's variant looks at this many last characters."""
_AFTER_ANSWER = re.compile(r"answer\s*:\s*([A-D])", re.IGNORECASE)
# Bold and brackets may surround it; the a of "a dog" is not an option.
_LETTER_AFTER_ANSWER = re.compile(r"(?i:answer)\**\s*:[\s*(\[]*([A-D]|[b-d]|a(?!\s+[a-z]))(?![A-Za-z0-9])")
_IN_BRACKETS = re.compile(r"\([A-Z]")
_PHRASE = "answer is "
_CAPITAL = re.compile("[A-Z]")
_NO_PERSON = "invalid"


def _check_options(options: str) -> str:
    """Return the option letters; ValueError for anything else, such as a range."""
    if not options.isalnum() or len(set(options)) < len(options):
        raise ValueError(f"'options' is {options!r}; write each option's letter once, as in 'ABCD'")
    return options


def _find_stated_option(text: str, options: str) -> tuple[str | None, bool]:
    """Return the stated option, and whether to stop searching: a statement may name several."""
    found = extract_option(text, tuple(options))
    return found.answer, found.rule is not None


def _find_first_option_original(text: str, *, options: str, cushion: bool = True) -> str:
    return read_phrase(text, _check_options(options), cushion=cushion).answer or ""


def _find_first_option(text: str, *, options: str, cushion: bool = True) -> str | None:
    answer, is_over = _find_stated_option(text, _check_options(options))
    return answer if is_over or not cushion else filter_letters(lone_capitals(text), options)[:1]


def _find_first_option_of_tail(text: str, *, options: str, cushion: bool = True) -> str:
    return _find_first_option_original(text[-_AISBENCH_TAIL:], options=options, cushion=cushion)


def _find_last_option_original(text: str, *, options: str) -> str:
    return filter_letters(text, _check_options(options))[-1:]


def _find_last_option(text: str, *, options: str) -> str | None:
    answer, is_over = _find_stated_option(text, _check_options(options))
    return answer if is_over else filter_letters(lone_capitals(text), options)[-1:]


def _original_first_answer(text: str) -> str | None:
    found = _AFTER_ANSWER.search(text)
    return found[1] if found else None


def _original_last_answer(text: str) -> str | None:
    return found[-1] if (found := _AFTER_ANSWER.findall(text)) else None


def _first_answer(text: str) -> str | None:
    found = _LETTER_AFTER_ANSWER.search(text)
    return found[1].upper() if found else None


def _last_answer(text: str) -> str | None:
    return str(found[-1]).upper() if (found := _LETTER_AFTER_ANSWER.findall(text)) else None


def _find_bracketed_original(text: str) -> str:
    _, phrase, after = text.partition(_PHRASE)
    stated = after.partition(_PHRASE)[0].strip() if phrase else text
    return _find_letter(stated) or stated


def _find_bracketed(text: str) -> str | None:
    return _find_letter(lone_capitals(text.rpartition(_PHRASE)[2]))


def _find_letter(text: str) -> str | None:
    """Return the first capital after a bracket, else the first of all."""
    found = _IN_BRACKETS.search(text) or _CAPITAL.search(text)
    return found[0][-1] if found else None


def _find_one_of_pair_original(text: str) -> str:
    if "Neither" in text or "Both" in text:
        return _NO_PERSON
    if text[:1] in ("A", "B"):
        return text[0]
    for option in "AB":
        # For the original, any character but a line break after the letter is enough.
        if re.search(f" {option} |{option}.", text):
            return option
    return _NO_PERSON


def _find_one_of_pair(text: str) -> str | None:
    return None if "Neither" in text or "Both" in text else extract_option(text, ("A", "B")).answer


def _find_a_or_b_original(text: str) -> str:
    return text[-1] if text[-1:] in ("A", "B") else "B"


def _find_a_or_b(text: str) -> str | None:
    return extract_option(text, ("A", "B")).answer


_STATED_HERE = "the stated option is the answer, the last one if the reply changes its mind"
_AFTER_ANSWER_DIFFERENCE = Difference[object](
    "the B of `Answer: Because` is an option, `Answer: (B)` and `**Answer:** B` are not, and b is not B",
    "the letter must be separate, with or without brackets and asterisks, and b is B",
)

FIRST_OPTION = PostProcessor(
    _find_first_option_original,
    _find_first_option,
    Difference(
        "the first matching phrase of about fifty decides, wherever it occurs in the text; "
        "`cushion` finally accepts any capital letter: `Apple` is A, `Dogs and Cats` is D",
        f"{_STATED_HERE}; `cushion` adds separate letters",
    ),
)
FIRST_OPTION_V1 = PostProcessor(
    _find_first_option_of_tail,
    _find_first_option,
    Difference(
        "as `first_option_postprocess`, over the last 200 characters, which may begin inside a word",
        f"{_STATED_HERE}, in the whole text",
    ),
)
LAST_OPTION = PostProcessor(
    _find_last_option_original,
    _find_last_option,
    Difference(
        "the last such letter is the answer, even inside a word: `B. Dogs And Cats` is C",
        f"{_STATED_HERE}, else the last separate letter",
    ),
)
GPQA = PostProcessor(
    _original_first_answer,
    _first_answer,
    _AFTER_ANSWER_DIFFERENCE,
)
GPQA_OF_AISBENCH = PostProcessor(
    _original_last_answer,
    _last_answer,
    _AFTER_ANSWER_DIFFERENCE,
)
BBH_MCQ = PostProcessor(
    _find_bracketed_original,
    _find_bracketed,
    Difference(
        "the text after the first *answer is* counts; a capital letter inside a word is an "
        "option; a text without one is itself the answer",
        "the text after the last *answer is* counts; only a separate capital letter counts; "
        "without one there is no answer",
    ),
)
CROWSPAIRS = PostProcessor(
    _find_one_of_pair_original,
    _find_one_of_pair,
    Difference(
        "any word with an A is option A, before B is considered; no answer is `invalid`",
        f"{_STATED_HERE}; without one there is no answer",
    ),
)
JUDGED_A_OR_B = PostProcessor(
    _find_a_or_b_original,
    _find_a_or_b,
    Difference(
        "only the last character counts, and anything but A and B is B",
        f"{_STATED_HERE}; without one there is no answer",
    ),
)


_ANY_CAPITAL = re.compile("[A-Z]")
_FIRST_LETTERS = frozenset("ABCDEFGH")
_FIRST_ROW = re.compile("[A-D]+")


def _find_first_capital_original(text: str) -> str:
    return next((character for character in text if character.isupper()), "")


def _find_first_capital(text: str) -> str | None:
    found = _ANY_CAPITAL.search(lone_capitals(text))
    return found[0] if found else None


def _find_last_capital_original(text: str) -> str:
    return _find_first_capital_original(text[::-1])


def _find_last_capital(text: str) -> str | None:
    return found[-1] if (found := _ANY_CAPITAL.findall(lone_capitals(text))) else None


def _original_row(text: str) -> str:
    found = _FIRST_ROW.search(text)
    return found[0] if found else ""


def _row(text: str) -> str:
    return letters_together(lower_other_words(lower_plain_words(text), frozenset("ABCD").issuperset))


def _find_all_capitals_original(text: str) -> str:
    return "".join(sorted({character for character in text if character.isupper()}))


def _find_all_capitals(text: str) -> str:
    return "".join(sorted(set(_ANY_CAPITAL.findall(lower_other_words(lower_plain_words(text), _is_set)))))


def _is_set(word: str) -> bool:
    """Whether a word is a set of distinct options; abbreviations rarely use only the first letters."""
    return len(word) == 1 or (len(set(word)) == len(word) and _FIRST_LETTERS.issuperset(word))


def _join_capitals_original(text: str) -> str:
    return ", ".join(_find_all_capitals_original(text))


def _join_capitals(text: str) -> str:
    return ", ".join(_find_all_capitals(text))


_SEVERAL = Difference[object](
    "every capital letter is an option, even at the start of a word",
    "separate capital letters count, and runs of A to H without repeats; article and pronoun do not",
)

FIRST_CAPITAL = PostProcessor(_find_first_capital_original, _find_first_capital, NO_LETTERS)
LAST_CAPITAL = PostProcessor(_find_last_capital_original, _find_last_capital, NO_LETTERS)
FIRST_CAPITAL_MULTI = PostProcessor(
    _original_row,
    _row,
    Difference(
        "the first A to D is the answer, even in a word such as `Answer`; for `A, C` it is only A",
        "words that are not options do not count, and consecutive letters are one answer: AC",
    ),
)
MULTIPLE_SELECT = PostProcessor(_find_all_capitals_original, _find_all_capitals, _SEVERAL)
SEEDBENCH_MULTIPLE_SELECT = PostProcessor(_join_capitals_original, _join_capitals, _SEVERAL)


_ANSWER_MARK = "【答案】"
_PHRASES = ("answer is ", "答案是")
_GAOKAO_TAIL = 10
"""GAOKAO-Bench looks for unmarked answers in this many last characters."""

SEPARATOR = "[SEP]"
"""Separates the marked letters from all letters in an answer to several questions."""


def _original_hellaswag(text: str) -> str:
    found = re.search("[A-D]", text)
    return text if found is None else text[found.start() :]


def _hellaswag(text: str) -> str | None:
    found = re.search("[A-D]", lower_other_words(text, lambda word: len(word) == 1))
    return None if found is None else text[found.start() :]


def _last_letter(text: str) -> str:
    return filter_letters(text, "ABCD")[-1:]


def _find_question_letters(text: str) -> str:
    capitals = "".join(re.findall("[A-Z]", text))
    after_marks = (part.lstrip().lstrip(":：").lstrip() for part in text.split(_ANSWER_MARK)[1:])
    marked = "".join(part[0] for part in after_marks if re.match("[A-Z]", part))
    return marked + SEPARATOR + capitals


def _find_question_letters_or_none(text: str) -> str | None:
    found = _find_question_letters(text)
    return None if found == SEPARATOR else found


def _find_several_original(text: str) -> str:
    dense = "".join(text.split())
    at = dense.find(_ANSWER_MARK)
    return filter_letters(dense[at:] if at > 0 else dense[-_GAOKAO_TAIL:], "ABCD")


def _find_several(text: str) -> str:
    _, mark, tail = text.partition(_ANSWER_MARK)
    if not mark:
        return filter_letters("".join(text.split())[-_GAOKAO_TAIL:], "ABCD")
    return letters_together(tail)


def _find_five_of_seven(text: str) -> str:
    return filter_letters(text, "ABCDEFG")[:5]


def _find_stated_letter(text: str) -> str:
    for phrase in _PHRASES:
        for part in text.split(phrase)[1:]:
            if stated := filter_letters(part.split("\n")[0], "ABCDEFG"):
                return stated[0]
    return filter_letters(text, "ABCDEF")[:1]


def _every_letter(text: str) -> str:
    return filter_letters(text, "ABCDEF")


HELLASWAG = PostProcessor(
    _original_hellaswag,
    _hellaswag,
    Difference(
        f"{INSIDE_WORDS.original}; a text without a letter is itself the answer",
        f"{INSIDE_WORDS.corrected}; a text without a letter is no answer",
    ),
)
GAOKAO_SINGLE = PostProcessor(_last_letter, one_letter(_last_letter), INSIDE_WORDS)
GAOKAO_QUESTIONS = PostProcessor(
    _find_question_letters,
    several_letters(_find_question_letters_or_none, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    INSIDE_WORDS,
)
GAOKAO_SEVERAL = PostProcessor(
    _find_several_original,
    several_letters(_find_several, "ABCD"),
    Difference(
        f"{INSIDE_WORDS.original}; the marker 【答案】 is not found at the start of a text, and all "
        "letters after it are part of the answer, including those of an explanation",
        f"{INSIDE_WORDS.corrected}; the marker is found anywhere, and the run of letters after it is the "
        "answer",
    ),
)
GAOKAO_FIVE_OF_SEVEN = PostProcessor(
    _find_five_of_seven, several_letters(_find_five_of_seven, "ABCDEFG"), INSIDE_WORDS
)
AGIEVAL_SINGLE = PostProcessor(_find_stated_letter, one_letter(_find_stated_letter), INSIDE_WORDS)
AGIEVAL_SEVERAL = PostProcessor(_every_letter, several_letters(_every_letter, "ABCDEF"), INSIDE_WORDS)
