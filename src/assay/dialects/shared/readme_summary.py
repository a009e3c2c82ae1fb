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
    titles = list(_TITLE.finditer(text))
    if len(titles) > 1:
        sections = [part for part in _SECTION.split(text) if _TITLE.search(part)]
        named = [part for part in sections if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", part)]
        titles = [title for part in named[:1] if name and (title := _TITLE.search(part)) is not None]
    return _shorten(titles[0]["title"]) if titles else _find_sentence(text)


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
    for line in text.splitlines():
        line = line.strip()
        is_code ^= line.startswith("```")
        if not is_code and _PROSE.match(line) and not line.lower().startswith(_NO_PROSE):
            return _shorten(_SENTENCE_END.split(_LINK.sub(r"\1", line))[0])
    return ""


def _shorten(text: str) -> str:
    text = _LINK.sub(r"\1", text).replace("**", "").replace("`", "").strip().rstrip(":")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rsplit(' ', 1)[0]}…"
