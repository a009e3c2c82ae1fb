"""The failure for a label whose probability a server does not return, if an author's code needs all."""

from __future__ import annotations

from assay.core.response import Failure

UNKNOWN_LABEL = Failure(
    "unknown_label",
    "the server returned only its top tokens, and a label is not among them: its probability is not known",
)
"""Used instead of 0, with which code that divides or takes logarithms would compute a wrong number."""
