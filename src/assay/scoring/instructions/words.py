"""What counts as a word. Knows nothing of instructions.

Two notions, as IFEval has two. A text's length is the number of its runs of letters, digits and underscores
("don't" is two). Words in capitals are counted in the manner of the Penn Treebank, as the reference does with
nltk: marks stand apart, a hyphen joins, and a clitic is a word of its own, so that "I'm" has the capital word
"I" and "DON'T" has two. Over GPT-4's responses to IFEval, as they are and in capitals, every count is that of
nltk 3.10. Its releases of 2023 join two words over a dash ("A—B") and part "SHI'A". Rare fused forms ("D'YE",
"MORE'N") are two words there and one here.
"""

from __future__ import annotations

import re

_RUN = re.compile(r"\w+")
# A comma or colon inside a number joins; so does a single hyphen, a slash and a full stop.
_GAP = re.compile(r"""[\s?!;@#$%&*()\[\]{}<>"“”„«»‘’`—–]|--|\.\.\.|[,:](?!\d)""")
_CLITIC = re.compile(r"(?<=.)(?:'(?:[sS]|[mM]|[dD]|ll|LL|re|RE|ve|VE)|n't|N'T)(?=\.?$)")
_FUSED = frozenset({"CANNOT", "GIMME", "GONNA", "GOTTA", "LEMME", "WANNA"})
"""Two words each: CAN and NOT, GIM and ME."""


def count_words(text: str) -> int:
    """Return the number of words in a text."""
    return sum(1 for _ in _RUN.finditer(text))


def count_capital_words(text: str) -> int:
    """Return the number of words whose letters are all capitals."""
    return sum(_count_capitals(piece) for piece in _GAP.split(text) if piece)


def _count_capitals(piece: str) -> int:
    clitic = _CLITIC.search(piece)
    stem = piece[: clitic.start()] if clitic else piece
    parts = 2 if stem.strip("'.") in _FUSED else int(stem.isupper())
    return parts + (1 if clitic and clitic[0].isupper() else 0)
