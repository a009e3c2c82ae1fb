"""Pairs of texts compared by a small model that gives one number for each pair, such as BLEURT's."""

from __future__ import annotations

from collections.abc import Sequence

_BATCH = 16


def compare_pairs(model: str, first: Sequence[str], second: Sequence[str]) -> list[float]:
    """Return the model's raw number for each pair; the model must be on this machine.

    A pair that is too long for it is cut off at the end.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True)
    judge = AutoModelForSequenceClassification.from_pretrained(model, local_files_only=True).eval()
    found: list[float] = []
    for start in range(0, len(first), _BATCH):
        pairs = list(first[start : start + _BATCH]), list(second[start : start + _BATCH])
        encoded = tokenizer(*pairs, return_tensors="pt", padding=True, truncation=True)
        with torch.no_grad():
            found += judge(**encoded).logits.flatten().tolist()
    return found
