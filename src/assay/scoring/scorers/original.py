"""The original system's option inference, which never abstains: for the faithful mode alone.

Reproduces what is known of it: the bare letter; then phrases, of which the order decides and not the
place in the text; then the only option text inside the reply; then the smallest edit distance. An empty
reply is given the first option.
"""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from assay.scoring.extract.extraction import Extraction
from assay.scoring.postprocess.option_phrases import named_by_phrase


def infer_option(text: str, labels: Sequence[str], choices: Sequence[str]) -> Extraction:
    """Return an option for any reply whatever."""
    stripped = text.strip()
    if stripped in labels:
        start = text.index(stripped)
        return Extraction(stripped, "letter", (start, start + len(stripped)))
    if match := named_by_phrase(text, labels):
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
