"""A label of which a server told no probability, where an author's code takes the probabilities of all."""

from __future__ import annotations

from assay.core.response import Failure

UNKNOWN_LABEL = Failure(
    "unknown_label",
    "the server told its likeliest tokens alone, and a label is not among them: its probability is not known",
)
"""In the place of a 0, from which code that divides or takes logarithms would make a number."""
