"""Programs in a reply: where they start and end. Nothing is run here."""

from __future__ import annotations

import ast
import re
import warnings
from itertools import takewhile

from assay.core.difference import Difference
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor, make_unchanged

_QUOTES = '"""'
_FENCE = "```"
_END_OF_A_FUNCTION = re.compile(r"\n(?:class|def|if|print|[#@])|<\|endoftext\|>")
_END_OF_A_BODY = re.compile(r"\n(?:\n\n|```)")
_INDENT = "    "
_LANGUAGE_BLOCK = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_OPEN_BLOCK = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")
_CLEARS_FIGURE = re.compile(r"plt\.(?:show|clf|close)\(\)|savefig")
_STATEMENT = re.compile(r"\s*(?:def|class|import|from|async|@)")


def _cut_at_blank_line(text: str) -> str:
    return text.split("\n\n")[0]


def _cut_next_task(text: str) -> str:
    """Return the program before the next task's description, which is in triple quotes.

    Paired quotes without a later `def` are part of the program.
    """
    places = [match.start() for match in re.finditer(f"(?={_QUOTES})", text)]
    if len(places) % 2:
        return text[: places[0]].strip()
    for opening, closing in zip(places[::2], places[1::2], strict=True):
        if "def" in text[closing:]:
            return text[:opening].strip()
    return text.strip()


def _function_body(text: str) -> str:
    return _END_OF_A_FUNCTION.split(text, maxsplit=1)[0]


def _find_body_in_reply(text: str) -> str:
    """Return the body of a function from a chat reply: its first fenced block, without head and imports."""
    code = _drop_head(_drop_imports(first_block(text)).split("\n\n\n")[0])
    if code.startswith(_INDENT):
        return code
    if code.startswith(" "):
        return _INDENT + code.lstrip()
    return "\n".join(_INDENT + line for line in code.split("\n"))


def first_block(text: str) -> str:
    """Return the first fenced block without its language name; a text without one is unchanged."""
    _, opening, after = text.partition(_FENCE)
    if not opening:
        return text
    code, closing, _ = after.partition(_FENCE)
    language, _, program = code.partition("\n")
    # A block without an end, or with a single line, is unchanged.
    return program if closing and language and "\n" in code else code


def _drop_imports(code: str) -> str:
    """Return the text after the head of the first function, if imports come before it."""
    if not code.strip().startswith(("from", "import")):
        return code
    head = code.find("def")
    return code if head < 0 else code[code.find("\n", head) + 1 :]


def _drop_head(code: str) -> str:
    return code.partition("\n")[2] if code.strip().startswith("def") else code


def _original_block(text: str, which: int) -> str:
    blocks = _LANGUAGE_BLOCK.findall(text)
    return str(blocks[which] if blocks else text).lstrip()


def _block(text: str, which: int) -> str:
    blocks = _OPEN_BLOCK.findall(text)
    code: str = blocks[which] if blocks else text
    if _STATEMENT.match(code):
        return code.lstrip()
    blank = _BLANK_LINES.match(code)
    return code[blank.end() :] if blank else code


def _original_first_block(text: str) -> str:
    return _original_block(text, 0)


def _find_first_code_block(text: str) -> str:
    return _block(text, 0)


def _original_last_block(text: str) -> str:
    return _original_block(text, -1)


def _find_last_code_block(text: str) -> str:
    return _block(text, -1)


def _find_completed_body(text: str) -> str:
    """Return the lines of a function's body that a base model continued."""
    n_spaces = len(text) - len(text.lstrip(" "))
    # A tokenizer may have put the first of four spaces into the prompt.
    body = f" {text}" if n_spaces == len(_INDENT) - 1 else text
    lines = _END_OF_A_BODY.split(body, maxsplit=1)[0].split("\n")
    return "\n".join(takewhile(lambda line: line[:1] in ("", " "), lines))


def _find_replied_body(text: str) -> str:
    """Return the body of a function from a chat reply, up to the first line with less indentation."""
    code = _drop_imports(first_block(_read_literal(text).lstrip("\n")))
    code = _drop_head("\n".join(line for line in code.split("\n") if line))
    if code.startswith(" "):
        code = _INDENT + code.lstrip()
    else:
        code = "\n".join(_INDENT + line for line in code.split("\n"))
    return _cut_at_dedent(code.split("\n"))


def _read_literal(text: str) -> str:
    """Return the string value of a text that is a string literal, because some models quote their reply."""
    if not text.lstrip(" \t").startswith(("'", '"')):
        return text
    try:
        with warnings.catch_warnings():
            # Python warns about escapes such as \d in the model's code.
            warnings.simplefilter("ignore")
            literal = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return literal if isinstance(literal, str) else text


def _cut_at_dedent(lines: list[str]) -> str:
    least: int | None = None
    for at, line in enumerate(lines):
        code = line.strip()
        if not code or code[0] in "'\"#":
            continue
        indent = len(line.rstrip()) - len(code)
        if least is None:
            least = indent
        elif indent < least:
            return "\n".join(lines[:at])
    return "\n".join(lines)


def _ds1000(text: str) -> str:
    """Return the program between DS-1000's markers, each searched in the result of the previous one."""
    for begin, end in (
        ("<code>", "</code>"),
        ("```python", _FENCE),
        (_FENCE, _FENCE),
        ("BEGIN SOLUTION", "END SOLUTION"),
    ):
        found = re.search(f"{begin}(.*?){end}", text, re.DOTALL)
        text = found[1] if found else text
    return text


def _ds1000_completion(text: str) -> str:
    return text.partition("</code>")[0]


def _ds1000_matplotlib(text: str) -> str:
    """Return the program without calls that would clear the figure before it is inspected."""
    return "\n".join(line for line in _ds1000(text).split("\n") if not _CLEARS_FIGURE.search(line))


def _cruxeval_output(text: str) -> str:
    return text.split("# done")[0].strip().split("\n")[0].strip()


_BLOCKS = Difference[object](
    "a code block without an end, or with a space after the language, is not found; the "
    "indentation of a function's body is removed",
    "such blocks are found, and a function's body keeps its indentation",
)

MBPP = make_unchanged(_cut_at_blank_line)
NEW_MBPP = make_unchanged(_cut_next_task)
HUMANEVAL = make_unchanged(_function_body)
HUMANEVAL_CHATGPT = make_unchanged(_find_body_in_reply)
HUMANEVAL_V2 = PostProcessor(_original_first_block, _find_first_code_block, _BLOCKS)
HUMANEVAL_V3 = PostProcessor(_original_last_block, _find_last_code_block, _BLOCKS)
HUMANEVAL_INTERNAL_V1 = make_unchanged(_find_replied_body)
HUMANEVAL_INTERNAL_V2 = make_unchanged(_find_completed_body)
DS1000 = make_unchanged(_ds1000)
DS1000_COMPLETION = make_unchanged(_ds1000_completion)
DS1000_MATPLOTLIB = make_unchanged(_ds1000_matplotlib)
CRUXEVAL_OUTPUT = make_unchanged(_cruxeval_output)


_OPENINGS = (r"\[BEGIN\]", "BEGIN")
_CLOSINGS = (r"\[DONE\]", "DONE")
_QUOTE_PAIRS = (("'", "'"), ("'", ""), ("", ""))
_CODE_FENCE = "```"
_MARKS = tuple(
    (re.compile(opening), None if closing is None else re.compile(f"(?={closing})"))
    for opening, closing in (
        *(
            (rf"{opening}\s*{before}", rf"{after}\s*{closing}" if after else closing)
            for before, after in _QUOTE_PAIRS
            for closing in _CLOSINGS
            for opening in _OPENINGS
        ),
        (rf"{_CODE_FENCE}python\s*", _CODE_FENCE),
        (rf"{_CODE_FENCE}\s*", _CODE_FENCE),
        (rf"{_CODE_FENCE}python\s*", None),
        (rf"{_CODE_FENCE}\s*", None),
        (r"\A", _CODE_FENCE),
        (r"\[BEGIN\]\s*'", None),
        (r"\[BEGIN\]", None),
        ("'", r"'\s*\[DONE\]"),
    )
)
"""Pairs of markers in the order in which they are tried; None means up to the end."""
_DONE = re.compile(r"\[?DONE")
_OWN_TESTS = re.compile("# ?[Tt]est")
_INTRODUCTION = "Here"
_DONE_QUOTED = re.compile(r"(?:'\s*)?\[?DONE")
_BEGIN_QUOTED = re.compile(r"BEGIN\]?(?:'\s*)?")


def _find_marked_program(text: str) -> str:
    for opening, closing in _MARKS:
        begun = opening.search(text)
        if begun is None:
            continue
        if closing is None:
            text = text[begun.end() :]
            break
        ends = [end.start() for end in closing.finditer(text, begun.end())]
        if ends:
            text = text[begun.end() : ends[-1]]
            break
    return _cut_at_done(text.split(_CODE_FENCE)[0]).replace(r"\_", "_").strip()


def _cut_at_done(text: str) -> str:
    done = _DONE.search(text)
    return text[: done.start()].rstrip().removesuffix("'") if done else text


def _find_block_program(text: str) -> str:
    """Return the program in a chat reply, without its own tests."""
    text = first_block(text) if _CODE_FENCE in text else _drop_introduction(text)
    program = _OWN_TESTS.split(text, maxsplit=1)[0].strip()
    program = _DONE_QUOTED.split(program, maxsplit=1)[0]
    return _BEGIN_QUOTED.split(program, maxsplit=1)[-1].strip().removeprefix("'")


def _drop_introduction(text: str) -> str:
    """Return a text without the rest of the line that starts with `Here is ...`."""
    before, _, after = text.partition(_INTRODUCTION)
    return before + after.partition("\n")[2] if "\n" in after else text


MBPP_EVALUATOR = make_unchanged(_find_marked_program)
MBPP_EVALUATOR_2 = make_unchanged(_find_block_program)
