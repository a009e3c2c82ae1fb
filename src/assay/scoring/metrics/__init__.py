"""Metrics over whole lists, by the names that dataset authors use, and the functions they use.

Classes take lists and raise `AuthorError` for the author; functions take numbers and texts and raise
ValueError. Packages such as sacrebleu and nltk are imported by the functions that call them.
"""

from typing import Any

from assay.scoring.latex import is_equiv, latex_form
from assay.scoring.metrics.accuracy import Accuracy, WordAccuracy
from assay.scoring.metrics.answers import F1, Em, get_answers
from assay.scoring.metrics.gaokao import GaokaoBenchMetric
from assay.scoring.metrics.gpteval import GPTEval
from assay.scoring.metrics.ifeval import IFEval
from assay.scoring.metrics.likelihoods import PPL
from assay.scoring.metrics.list_metric import ListMetric
from assay.scoring.metrics.pass_at_k import PassAtK
from assay.scoring.metrics.perspective import PerspectiveApi
from assay.scoring.metrics.rouge import Rouge
from assay.scoring.metrics.translation import Bleu

LIST_METRICS: dict[str, type[ListMetric]] = {
    "Accuracy": Accuracy,
    "Bleu": Bleu,
    "Em": Em,
    "F1": F1,
    "GPTEval": GPTEval,
    "GaokaoBenchMetric": GaokaoBenchMetric,
    "IFEval": IFEval,
    "PPL": PPL,
    "PassAtK": PassAtK,
    "PerspectiveApi": PerspectiveApi,
    "Rouge": Rouge,
    "WordAccuracy": WordAccuracy,
}
"""The metrics that a dataset author may name."""

AUTHOR_NAMES: dict[str, Any] = {
    **LIST_METRICS,
    "Metric": ListMetric,
    "get_answers": get_answers,
    "is_equiv": is_equiv,
    "_strip_string": latex_form,
}
"""All names an author may import: the metrics, the base class for custom ones, a DROP function, and the
comparison of MATH answers."""

__all__ = [
    "AUTHOR_NAMES",
    "F1",
    "LIST_METRICS",
    "PPL",
    "Accuracy",
    "Bleu",
    "Em",
    "GPTEval",
    "GaokaoBenchMetric",
    "IFEval",
    "ListMetric",
    "PassAtK",
    "PerspectiveApi",
    "Rouge",
    "WordAccuracy",
]
