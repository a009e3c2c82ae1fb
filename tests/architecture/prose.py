"""Find banned phrases in what people read: documentation, messages, docstrings and comments.

    python tests/architecture/prose.py      prints each finding as FILE:LINE and exits with 1

docs/reference/glossary.md has the words to use instead.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BANNED = {
    r"\b(?:un)?told\b": "reports, shows, prints, warns",
    r"\bwith (?:its|their) company\b": "error bars and counts",
    r"\breally better\b|\bdifferences are real\b": "significantly better",
    r"\bturns? out to pay\b": "auto",
    r"\bcalls? under way\b": "concurrent requests",
    r"\basks? (?:it |them )?anew\b": "starts over, sends again",
    r"\bsets? aside\b": "archives",
    r"\bthe classic harness\b": "lm-evaluation-harness (lm-eval)",
    r"\bquirks?\b": "difference from the original",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bleaves? away\b|\bleft away\b": "omit",
    r"\bduels?\b": "pairwise comparison",
    r"\bwho tries\b": "any attempt to",
    r"\bthe house\b": "the architecture, Assay",
    r"\bin the place of\b": "instead of",
    r"\bsuch a share\b|\bso many samples\b": "number, percentage",
    r"\bshared trunks?\b|\bthe trunk\b": "shared prefix",
    r"\bThis page answers\b": "what the reader can do after the page",
}
"""Patterns of phrases, and what to write instead."""
_FILE_KEYS = frozenset({'"quirks"'})
"""Keys of stored files, which keep their names."""
_PATTERN = re.compile("|".join(f"(?:{pattern})" for pattern in BANNED), re.IGNORECASE)
_QUOTED = re.compile(r"(?<!`)`[^`\n]*`(?!`)")
_JS_PROSE = re.compile(r"//.*|\"[^\"]*\"|'[^']*'|`[^`]*`")
_EXEMPT = {
    "docs/reference/glossary.md",
    "src/assay/bench/words.toml",  # words of made-up prompts
    "tests/architecture/prose.py",
}


def find_banned_phrases() -> Iterator[str]:
    """Yield `FILE:LINE: phrase (write: ...)` for each banned phrase; code in backquotes does not count."""
    names = subprocess.run(
        ["git", "ls-files", "*.md", "src/*.py", "src/*.js", "src/*.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    for name in names:
        if name in _EXEMPT or not (ROOT / name).is_file():
            continue
        for number, text in _read_prose(ROOT / name):
            for match in _PATTERN.finditer(_QUOTED.sub("", text)):
                instead = next(
                    words for pattern, words in BANNED.items() if re.fullmatch(pattern, match[0], re.I)
                )
                yield f"{name}:{number}: {match[0]!r} (write: {instead})"


def _read_prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that people read, with their numbers: of code, its comments and strings alone."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.string not in _FILE_KEYS and token.type in (tokenize.STRING, tokenize.COMMENT):
                # The expressions of an f-string are code.
                yield token.start[0], re.sub(r"\{[^{}]*\}", "", token.string)
        return
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix != ".js":
            yield number, line
            continue
        for match in _JS_PROSE.finditer(line):
            yield number, re.sub(r"\$\{[^{}]*\}", "", match[0])


if __name__ == "__main__":
    found = list(find_banned_phrases())
    print(*found, sep="\n")
    sys.exit(1 if found else 0)
