"""The original system's option inference, which never abstains: for the faithful mode alone.

Reproduces what is known of it: the bare letter; then phrases, of which the order decides and not the
place in the text; then the only option text inside the reply; then the smallest edit distance. Its list
of phrases is longer than the one here. An empty reply is given the first option.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from assay.scoring.extract.extraction import Extraction

_PHRASES = (
    r"答案(?:选项)?(?:应该|应当|应)?(?:是|为|选)?\s*[:：]?\s*[(（]?{label}",
    r"选(?:项|择)?\s*[:：]?\s*[(（]?{label}",
    r"[Aa]nswer(?: option)?(?: is|:| is:)\s*(?:option )?\**[(\[]?{label}\b",
    r"[Tt]he (?:correct |best )?(?:option|choice) is:?\s*\**[(\[]?{label}\b",
    r"(?:choose|select|pick) (?:option )?[(\[]?{label}\b",
    r"\\boxed\{{\(?{label}\)?\}}",
    r"[Oo]ption {label} is (?:the )?(?:correct|right|best)",
    r"^[(\[]?{label}[.:)\]，,、]",
    r"^{label}\s*(?:\n|$)",
    r"(?<![A-Za-z]){label}(?:选项|项)?(?:是)?正确",
    r"\({label}\)",
)


@lru_cache(maxsize=256)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    letters = "(?P<label>" + "|".join(re.escape(label) for label in labels) + ")"
    return tuple(re.compile(phrase.format(label=letters), re.MULTILINE) for phrase in _PHRASES)


def infer_option(text: str, labels: Sequence[str], choices: Sequence[str]) -> Extraction:
    """Return an option for any reply whatever."""
    stripped = text.strip()
    if stripped in labels:
        start = text.index(stripped)
        return Extraction(stripped, "letter", (start, start + len(stripped)))
    for pattern in _patterns(tuple(labels)):
        if match := pattern.search(text):
            return Extraction(match["label"], "phrase", match.span())
    folded = text.lower()
    inside = [index for index, choice in enumerate(choices) if choice.lower() in folded]
    if len(inside) == 1:
        return Extraction(labels[inside[0]], "only_choice_inside")
    return Extraction(_nearest(text, labels, choices), "edit_distance")


def _nearest(text: str, labels: Sequence[str], choices: Sequence[str]) -> str:
    def distance(label: str, choice: str) -> int:
        return min(Levenshtein.distance(text, spelling) for spelling in (label, choice, f"{label}. {choice}"))

    pairs = zip(labels, choices, strict=True)
    return min(((distance(label, choice), label) for label, choice in pairs))[1]
