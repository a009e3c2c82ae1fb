"""Programs in what a model wrote: where they begin and where they end. Nothing is run here."""

from __future__ import annotations

import re

from assay.scoring.postprocess.processor import unchanged

_QUOTES = '"""'
_FENCE = "```"
_BLOCK = re.compile(r"```(.*?)```", re.DOTALL)
_ENDS_OF_A_FUNCTION = ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "<|endoftext|>")
_INDENT = "    "


def _until_blank_line(text: str) -> str:
    return text.split("\n\n")[0]


def _before_next_task(text: str) -> str:
    """Return the program before the next task's description, which stands in triple quotes.

    Quotes that pair up with no `def` behind them are a part of the program.
    """
    places = [match.start() for match in re.finditer(f"(?={_QUOTES})", text)]
    if len(places) % 2:
        return text[: places[0]].strip()
    for opening, closing in zip(places[::2], places[1::2], strict=True):
        if "def" in text[closing:]:
            return text[:opening].strip()
    return text.strip()


def _function_body(text: str) -> str:
    for end in _ENDS_OF_A_FUNCTION:
        text = text.split(end)[0]
    return text


def _body_from_reply(text: str) -> str:
    """Return the body of a function from a chat reply: its first fenced block, without head and imports."""
    code = _without_head(_without_imports(_first_block(text)).split("\n\n\n")[0])
    if code.startswith(_INDENT):
        return code
    if code.startswith(" "):
        return _INDENT + code.lstrip()
    return "\n".join(_INDENT + line for line in code.split("\n"))


def _first_block(text: str) -> str:
    if _FENCE not in text:
        return text
    block = _BLOCK.search(text)
    if block is None:
        return text.split(_FENCE)[1]
    code = block[1]
    # The rest of the opening line names a language.
    return code if code.startswith("\n") else code[code.find("\n") + 1 :]


def _without_imports(code: str) -> str:
    """Return what follows the head of the first function, where imports stand before it."""
    if not code.strip().startswith(("from", "import")):
        return code
    head = code.find("def")
    return code if head < 0 else code[code.find("\n", head) + 1 :]


def _without_head(code: str) -> str:
    return code.partition("\n")[2] if code.strip().startswith("def") else code


MBPP = unchanged(_until_blank_line)
NEW_MBPP = unchanged(_before_next_task)
HUMANEVAL = unchanged(_function_body)
HUMANEVAL_CHATGPT = unchanged(_body_from_reply)
