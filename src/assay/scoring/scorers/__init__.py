"""Scorers: from the responses of one track to one sample's score."""

from assay.scoring.scorers.generated import GeneratedAnswer, GeneratedOption
from assay.scoring.scorers.likelihood import OptionLikelihood, WholeTextLikelihood
from assay.scoring.scorers.probability import LabelProbability
from assay.scoring.scorers.registry import SCORERS, explain_output, make_scorer
from assay.scoring.scorers.text import TextLikelihood

__all__ = [
    "SCORERS",
    "GeneratedAnswer",
    "GeneratedOption",
    "LabelProbability",
    "OptionLikelihood",
    "TextLikelihood",
    "WholeTextLikelihood",
    "explain_output",
    "make_scorer",
]
