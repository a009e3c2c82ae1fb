r"""Minerva's normal form of a LaTeX answer (Lewkowycz 2022), as three systems implement it.

Words and wrappers are removed; fractions and roots get braces. The systems differ in a few rules, each of
which affects published numbers. `hendrycks_form` is the normal form of MATH's script.
"""

from __future__ import annotations

import re

_ARTICLES_AND_SPACE = re.compile(r"an? |\\[$ ]|\.(?=\$)| ")
_AND = re.compile(r",?\\text\{and\}")
# The paper lists these words; most are units, the others come from single questions.
_UNITS = "inches feet ft km cm gm meters pounds mph hours minutes degrees dollars cents units square"
_COUNTED = "ways integers digits points multiples edges meals students childrentickets sue"
_EMPTY_TEXT = r"\\text\{m?\}(?:\^[23])?|\\text\{(?:\.|\n?s|\n)\}"
_MARKUP = re.compile(rf'{_EMPTY_TEXT}|\\mathrm\{{th\}}|\^(?:\\circ|\{{\\circ\}})|\\l?dots|\\;|,\\!|\{{,\}}|"')
_LINE_BREAK = re.compile(r"[\n\r\f]")
_BRACKETED_TEXT = re.compile(r"\\text\{\((.*?)\)\}")
_COMMANDS = tuple(re.compile(rf"\\{command}\{{(.*?)\}}") for command in ("text", "textbf", "overline"))
_WIDEST_BOX = re.compile(r"\\boxed\{(.*)\}")
_BOX = re.compile(r"oxed\{([^}]*)\}")
_FORMULA = re.compile(r".*?(\$.*?\$).*")
_STATED = re.compile("answer?is:?")
_BARE_FRACTION = re.compile(r"frac(?!\{)(.)(.)", re.DOTALL)
_BARE_ROOT = re.compile(r"sqrt(?!\{)(.)", re.DOTALL)


def _compile_words(words: str) -> re.Pattern[str]:
    """Return a pattern for any of the words, longer ones first."""
    return re.compile("|".join(sorted(words.split(), key=len, reverse=True)))


_WORDS = _compile_words(f"{_UNITS} {_COUNTED}")
_WORDS_OF_DAPO = _compile_words(f"{_UNITS} {_COUNTED}".replace(" ft ", " "))


def minerva_form(answer: str) -> str:
    """Return an answer in the form of Minerva's paper, as in UltraEval."""
    return _find_statement(_unwrap_commands(_drop_words(answer)))


def opencompass_form(answer: str) -> str:
    r"""Return OpenCompass's form: `\text{(B)}` is B, and the text after `answer is` counts."""
    plain = _unwrap_commands(_BRACKETED_TEXT.sub(r"\1", _drop_words(answer)))
    return _find_statement(plain, _STATED)


def dapo_form(answer: str) -> str:
    """Return DAPO's form: the text after the last `=` counts, and the part in dollars of a formula."""
    plain = _MARKUP.sub("", _WORDS_OF_DAPO.sub("", _drop_articles_and_space(answer.rpartition("=")[2])))
    return _write_braces(_unwrap_commands(_FORMULA.sub(r"\1", plain))).strip()


def _drop_articles_and_space(answer: str) -> str:
    """Return an answer without articles and white space; `and` becomes a comma."""
    return _AND.sub(",", _ARTICLES_AND_SPACE.sub("", answer).replace("mbox", "text"))


def _drop_words(answer: str) -> str:
    plain = _WORDS.sub("", _drop_articles_and_space(answer).replace(r"\le", "<"))
    return _LINE_BREAK.sub("", _MARKUP.sub("", plain))


def _unwrap_commands(answer: str) -> str:
    for command in _COMMANDS:
        answer = command.sub(r"\1", answer)
    return _WIDEST_BOX.sub(r"\1", answer)


def _find_statement(answer: str, phrase: re.Pattern[str] | None = None) -> str:
    """Return the stated answer, in it the last box, in it the last formula in dollars."""
    answer = answer.split("finalansweris", maxsplit=1)[-1]
    if phrase is not None:
        answer = phrase.split(answer, maxsplit=1)[-1]
    if boxes := _BOX.findall(answer):
        answer = boxes[-1]
    pieces = answer.split("$")
    if len(pieces) > 2:
        answer = pieces[(len(pieces) - 1) // 2 * 2 - 1]
    answer = answer.strip()
    if "rac" in answer and r"\frac" not in answer:
        answer = answer.replace("rac", r"\frac")
    return _write_braces(answer)


def _write_braces(answer: str) -> str:
    """Return an answer with braces on fractions and roots, without dollars and thousands commas."""
    answer = _BARE_FRACTION.sub(r"frac{\1}{\2}", answer)
    answer = _BARE_ROOT.sub(r"sqrt{\1}", answer).replace("$", "")
    without_commas = answer.replace(",", "")
    return without_commas if without_commas.isdigit() else answer


_FRACTION = re.compile("[td]frac")
_WITHOUT_MEANING = re.compile(r"\\(?:left|right|\$)|\^(?:\\circ|\{\\circ\})")
_UNIT = r"\text{ "
_WHOLE_RATIO = re.compile(r"(0|-?[1-9][0-9]*)/(0|-?[1-9][0-9]*)")


def hendrycks_form(answer: str) -> str:
    """Return the script's normal form; ValueError where the script fails."""
    answer = answer.replace("\n", "").replace(r"\!", "").replace("\\\\", "\\")
    answer = _WITHOUT_MEANING.sub("", _FRACTION.sub("frac", answer))
    if answer.count(_UNIT) > 1:
        raise ValueError("more than one unit")
    answer = answer.partition(_UNIT)[0].replace(r"\%", "")
    answer = answer.replace(" .", " 0.").replace("{.", "{0.")
    if answer.startswith("."):
        answer = f"0{answer}"
    name, _, value = answer.partition("=")
    if answer.count("=") == 1 and len(name) <= 2:
        answer = value
    answer = _brace_fractions(_brace_roots(answer).replace(" ", ""))
    if answer == "0.5":
        return r"\frac{1}{2}"
    ratio = _WHOLE_RATIO.fullmatch(answer)
    return rf"\frac{{{ratio[1]}}}{{{ratio[2]}}}" if ratio else answer


def _brace_roots(answer: str) -> str:
    r"""Write `\sqrt3` as `\sqrt{3}`: exactly one character."""
    first, *rest = answer.split(r"\sqrt")
    if not all(rest):
        raise ValueError("a root of nothing")
    return first + "".join(
        rf"\sqrt{part}" if part[0] == "{" else rf"\sqrt{{{part[0]}}}{part[1:]}" for part in rest
    )


def _brace_fractions(answer: str) -> str:
    r"""Write `\frac12` and `\frac1{72}` with braces; if a part is missing, the answer is unchanged."""
    first, *rest = answer.split(r"\frac")
    written = first
    for part in rest:
        if not part:
            raise ValueError("a fraction of nothing")
        if part[0] == "{":
            written += rf"\frac{part}"
        elif len(part) == 1:
            return answer
        else:
            below = part[1:] if part[1] == "{" else f"{{{part[1]}}}{part[2:]}"
            written += rf"\frac{{{part[0]}}}{below}"
    return written
