"""Phrases that name an option, for the faithful modes of systems in which their order decides.

An early phrase beats a later one wherever the two stand in a text. The list is our own and shorter than the
originals', whose fifty patterns are their code; on replies that none of these phrases fits, the answers can
differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_PHRASES = (
    r"答案(?:选项)?(?:应该|应当|应)?(?:是|为|选)?\s*[:：]?\s*[(（]?{label}",
    r"选(?:项|择)?\s*[:：]?\s*[(（]?{label}",
    r"(?i:answer)(?: option)?(?: is|:| is:)\s*(?:option )?\**[(\[]?{label}\b",
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


def named_by_phrase(text: str, labels: Sequence[str]) -> re.Match[str] | None:
    """Return where the first phrase that fits stands; its group `label` is the option."""
    return next(filter(None, (pattern.search(text) for pattern in _patterns(tuple(labels)))), None)


def option_by_phrase(text: str, options: str, *, cushion: bool) -> str:
    """Return the option that a phrase names; with `cushion`, else the first such letter anywhere."""
    found = named_by_phrase(text, options)
    if found is not None:
        return found["label"]
    return next((letter for letter in text if letter in options), "") if cushion else ""
