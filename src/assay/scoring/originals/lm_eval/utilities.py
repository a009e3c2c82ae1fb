"""Functions that the Python files of lm-eval's tasks import from its package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.scoring.metrics.classification import compute_f1_by_class


def weighted_f1_score(items: Sequence[tuple[Any, Any]]) -> float:
    """Return the mean F1 of all classes, weighted by how often each is the target."""
    golds, predictions = [gold for gold, _ in items], [prediction for _, prediction in items]
    by_class = compute_f1_by_class(predictions, golds)
    return sum(by_class.get(gold, 0.0) for gold in golds) / len(golds) if golds else 0.0


def general_detokenize(string: str) -> str:
    """Return a tokenized text with punctuation joined to its words again."""
    for spaced, joined in ((" n't", "n't"), (" )", ")"), ("( ", "("), ('" ', '"'), (' "', '"')):
        string = string.replace(spaced, joined)
    for mark in "'.,":
        string = string.replace(f" {mark}", mark)
    return string


def handle_non_serializable(o: Any) -> Any:
    """Return a value that JSON can store: a number, a list, or a text."""
    if hasattr(o, "item") and getattr(o, "ndim", 0) == 0:
        return o.item()
    return list(o) if isinstance(o, set | frozenset) else str(o)


def hash_string(string: str) -> str:
    """Return the SHA-256 of a text."""
    import hashlib

    return hashlib.sha256(string.encode()).hexdigest()


UTILITIES: dict[str, Any] = {
    function.__name__: function
    for function in (weighted_f1_score, general_detokenize, handle_non_serializable, hash_string)
}
"""The functions by name."""
