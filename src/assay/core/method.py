"""The three ways to let a model answer a sample."""

from __future__ import annotations

from enum import StrEnum


class Method(StrEnum):
    """How a model answers: by the likelihood of options, by the probability of labels, or in its own words.

    A text in files, on the command line and in messages.
    """

    PPL = "ppl"
    """Compare the likelihood of each option's text, or measure the likelihood of a text."""
    PROB = "prob"
    """Compare the probability of each option's label as the next token."""
    GEN = "gen"
    """Let the model write, and read the answer from its reply."""

    def __repr__(self) -> str:
        return repr(self.value)
