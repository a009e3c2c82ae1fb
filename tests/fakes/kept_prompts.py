"""Prompts kept in files by tests of examples: written down as text, without the words of the data.

The data is not ours to keep, so words that do not stand in the example's own texts are blotted out; a hash of
the whole is beside them.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from assay.core.prompt import Prompt, final_text, replace_final_text
from assay.core.request import Ask, Labels, Sampling, Span

_WORDS = re.compile(r"\w+")
_OF_WRITING = ("user", "assistant", "system", "labels", "then", "the")
"""Words of how a prompt is written down here."""
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def check_kept(path: Path, now: str) -> None:
    """Compare with what is kept; after an intended change, ASSAY_WRITE_PROMPTS=1 updates them."""
    if os.environ.get("ASSAY_WRITE_PROMPTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(now, encoding="utf-8")
    assert now == path.read_text(encoding="utf-8")


def described(asked: Sequence[Ask]) -> Iterator[str]:
    """Yield each prompt once, followed by the request; a scored text follows `┃`."""
    shown = None
    for ask in asked:
        if isinstance(ask, Span):
            text = final_text(ask.prompt)
            before = written(replace_final_text(ask.prompt, text[: ask.start]))
            if before != shown:
                yield before
            shown = before
            yield f"┃{text[ask.start :]}"
        elif isinstance(ask, Labels):
            yield f"{written(ask.prompt)}\n--- labels {ask.labels}"
        else:
            turns = "".join(f"\n--- then the user: {turn}" for turn in ask.turns)
            # Fields of one server's own are shown where they are set.
            sampling = repr(ask.sampling).replace(", server=UNSET", "")
            yield f"{written(ask.prompt)}{turns}\n--- {sampling}"


def written(prompt: Prompt) -> str:
    """Return a prompt as a text."""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(f"<{message.role}>{message.display_text}</{message.role}>" for message in prompt)


def blotted(text: str, own_texts: Iterable[str]) -> str:
    """Return a text in which only words of the example's own, single letters and numbers can be read."""
    own = {word for one in own_texts for word in _WORDS.findall(one)}
    own |= {*_OF_WRITING, *_WORDS.findall(repr(Sampling()))}
    return _WORDS.sub(
        lambda word: word[0] if word[0] in own or len(word[0]) == 1 else "▒" * len(word[0]), text
    )


def texts_in(script: Path) -> set[str]:
    """Return the texts that a script writes, without its docstrings: those may quote the data."""
    tree = ast.parse(script.read_text(encoding="utf-8"))
    docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, _DOCUMENTED)}
    constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} - docs
    return {value for value in constants if isinstance(value, str)}
