"""One line about a benchmark, from the README in its folder."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_NAMES = ("README_en.md", "README.md", "readme.md")
_TITLE = re.compile(
    r"^\**(?:Paper )?Title\**:\**\s*`*(?P<title>[^`\n]+?)`*\s*$", re.MULTILINE | re.IGNORECASE
)
_SECTION = re.compile(r"^##? ", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")
_PROSE = re.compile(r"[^\W\d_]")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_NO_PROSE = ("abstract", "homepage", "http", "title", "paper", "python", "source", "english", "中文")
_LONGEST = 160


def summarize_readme(folder: Path, top: Path, name: str = "") -> str:
    """Return the paper's title, or else the first sentence, of the nearest README up to a top folder.

    A README about several papers has one section for each: `name` selects the section that mentions it.
    Without such a section, the README's first sentence describes all of them.
    """
    text = _read_readme(folder, top)
    titles = [match["title"] for match in _TITLE.finditer(text)]
    if len(titles) <= 1:
        return _shorten(titles[0]) if titles else _find_sentence(text)
    mention = re.compile(rf"(?<![\w-]){re.escape(name or ' ')}(?![\w-])")
    named = [part for part in _SECTION.split(text) if _TITLE.search(part) and mention.search(part)]
    own = _TITLE.search(named[0]) if named else None
    return _shorten(own["title"]) if own is not None else _find_sentence(text) or _shorten(titles[0])


@lru_cache(maxsize=4096)
def _read_readme(folder: Path, top: Path) -> str:
    """Return the nearest README up to a top folder; empty if there is none."""
    for name in _NAMES:
        file = folder / name
        if file.is_file():
            return file.read_text(encoding="utf-8", errors="replace")
    return "" if folder == top or folder == folder.parent else _read_readme(folder.parent, top)


def _find_sentence(text: str) -> str:
    """Return the first sentence of prose."""
    is_code = False
    paragraph: list[str] = []
    for line in text.splitlines():
        line = line.strip()
        is_code ^= line.startswith("```")
        is_prose = _PROSE.match(line) and (paragraph or not line.lower().startswith(_NO_PROSE))
        if not is_code and is_prose:
            paragraph.append(line)
        elif paragraph:
            break
    return _shorten(_SENTENCE_END.split(_LINK.sub(r"\1", " ".join(paragraph)))[0])


def _shorten(text: str) -> str:
    text = _LINK.sub(r"\1", text).replace("**", "").replace("`", "").strip().rstrip(":")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rsplit(' ', 1)[0]}…"
