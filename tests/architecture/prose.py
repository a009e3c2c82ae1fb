"""Find banned phrases in what people read: documentation, messages, docstrings and comments.

    python tests/architecture/prose.py      prints each finding as FILE:LINE and exits with 1

docs/reference/glossary.md has the words to use instead.
"""

from __future__ import annotations

import re
import subprocess
import sys
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
_PATTERN = re.compile("|".join(f"(?:{pattern})" for pattern in BANNED), re.IGNORECASE)
_QUOTED = re.compile(r"`[^`\n]*`")
_EXEMPT = {
    "docs/reference/glossary.md",
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
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
            for match in _PATTERN.finditer(_QUOTED.sub("", line)):
                instead = next(
                    words for pattern, words in BANNED.items() if re.fullmatch(pattern, match[0], re.I)
                )
                yield f"{name}:{number}: {match[0]!r} (write: {instead})"


if __name__ == "__main__":
    found = list(find_banned_phrases())
    print(*found, sep="\n")
    sys.exit(1 if found else 0)
