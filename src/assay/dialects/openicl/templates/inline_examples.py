"""Solved examples that a template has in its own words, which no retriever counts.

Many shipped configs retrieve nothing and write their examples into the template: as turns that are answered
before the question, or as a text in which the words before the question stand several times.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from assay.dialects.openicl.templates.layouts import Item
from assay.dialects.openicl.templates.template_parsing import Read, items_of

_ANSWERS = "BOT"
_LEAST_RULE = 3
"""So many marks, such as dashes, are a line between examples."""


def written_examples(read: Read | None, columns: Collection[str]) -> int:
    """Return how many solved examples stand before the question, which has the first hole of a column."""
    layout = next(iter(read.values()), None) if isinstance(read, dict) else read
    before: list[Item] = []
    for item in items_of(layout):
        # Words between braces in an example are no holes.
        hole = next((column for column in item.text.columns if column in columns), None)
        if hole is not None:
            answered = [one for one in before if one.role == _ANSWERS and one.text.raw.strip()]
            return len(answered) + _in_text(item.text.raw[: item.text.hole_of(hole)])
        before.append(item)
    return 0


def _in_text(before: str) -> int:
    """Return how often the words before the question, from the beginning of their line, stood before."""
    start = before.rstrip().rfind("\n") + 1
    words = before[start:].strip()
    is_rule = not any(letter.isalnum() for letter in words)
    if is_rule and len(words) < _LEAST_RULE:
        return 0
    end = r"[ \t]*$" if is_rule else ""
    return len(re.findall(rf"^[ \t]*{re.escape(words)}{end}", before[:start], re.MULTILINE))
