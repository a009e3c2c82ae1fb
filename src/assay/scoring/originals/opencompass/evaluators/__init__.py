"""Evaluators that OpenCompass and AISBench configs name: metrics over lists that also see the rows."""

from assay.scoring.originals.opencompass.evaluators.author import AuthorEvaluator
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, Evaluator
from assay.scoring.originals.opencompass.evaluators.registry import (
    CORRECTED_EVALUATORS,
    EVALUATORS,
    make_evaluator,
)
from assay.scoring.originals.opencompass.evaluators.repeated import REPEATED_DIFFERENCES, RepeatedEvaluator

__all__ = [
    "CORRECTED_EVALUATORS",
    "EVALUATORS",
    "REPEATED_DIFFERENCES",
    "AuthorEvaluator",
    "EvaluatedRow",
    "Evaluator",
    "RepeatedEvaluator",
    "make_evaluator",
]
