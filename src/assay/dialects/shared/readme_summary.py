"""One line about a benchmark, from the README in its folder."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_NAMES = ("README_en.md", "README.md", "readme.md")
_TITLE = re.compile(
    r"^\**(?:Paper )?Title\**:\**\s*`*(?P<title>[^`\n]+?)`*\s*$", re.MULTILINE | re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")
_PROSE = re.compile(r"[^\W\d_]")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_NO_PROSE = ("abstract", "homepage", "http", "title", "paper", "python", "source", "english", "中文")
_LONGEST = 160


@lru_cache(maxsize=4096)
def summarize_readme(folder: Path, top: Path) -> str:
    """Return the paper's title, or else the first sentence, of the nearest README up to a top folder."""
    for name in _NAMES:
        file = folder / name
        if file.is_file():
            return _summarize(file.read_text(encoding="utf-8", errors="replace"))
    return "" if folder == top or folder == folder.parent else summarize_readme(folder.parent, top)


def _summarize(text: str) -> str:
    title = _TITLE.search(text)
    if title is not None:
        return _shorten(title["title"])
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
