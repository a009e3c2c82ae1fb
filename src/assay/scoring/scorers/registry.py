"""Scorers by name, as dialects name them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal

from assay.core.errors import PlanError, Problem, listing, nearest
from assay.core.sample import Sample
from assay.core.score import Attempt
from assay.core.task import ComponentSpec, CorpusScorer, Scorer
from assay.scoring.extract import extract_number, extract_option, extract_text
from assay.scoring.scorers.author_metrics import AuthorMetrics
from assay.scoring.scorers.generated import GeneratedAnswer, GeneratedOption, are_numbers
from assay.scoring.scorers.likelihood import OptionLikelihood, WholeTextLikelihood
from assay.scoring.scorers.probability import LabelProbability
from assay.scoring.scorers.sentence_likelihood import SentenceLikelihood
from assay.scoring.scorers.task_results import TaskResults
from assay.scoring.scorers.text import TextLikelihood


def _row_metrics(
    track: str = "gen",
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
    postprocess: str | Mapping[str, Any] = "",
    faithful: bool = False,
) -> Scorer | CorpusScorer:
    # Imported when used: a table has not to wait for the metrics' libraries, the sandbox and the judges.
    from assay.scoring.scorers.row_metrics import row_metrics

    return row_metrics(track, metrics, postprocess, faithful)


SCORERS: dict[str, Callable[..., Scorer | CorpusScorer]] = {
    "option_likelihood": OptionLikelihood,
    "whole_text_likelihood": WholeTextLikelihood,
    "text_likelihood": TextLikelihood,
    "sentence_likelihood": SentenceLikelihood,
    "label_probability": LabelProbability,
    "generated_option": GeneratedOption,
    "generated_answer": GeneratedAnswer,
    "author_metrics": AuthorMetrics,
    "row_metrics": _row_metrics,
    "task_results": TaskResults,
}
"""Every scorer that a dialect may name."""


def make_scorer(spec: ComponentSpec) -> Scorer | CorpusScorer:
    """Return the scorer that a spec names; PlanError when the name or an argument is unknown."""
    make = SCORERS.get(spec.name)
    if make is None:
        raise PlanError(
            Problem(
                "SCORE-001",
                f"there is no scorer {spec.name!r}{nearest(spec.name, SCORERS)}; "
                f"expected one of {listing(SCORERS)}",
                "name one of these scorers",
            )
        )
    known = list(inspect.signature(make).parameters)
    for name in spec.args:
        if name not in known:
            raise PlanError(
                Problem(
                    "SCORE-002",
                    f"the scorer {spec.name!r} has no argument {name!r}{nearest(name, known)}; "
                    f"expected one of {listing(known)}",
                    "remove the argument or correct its name",
                )
            )
    # A scorer may be given another one, by name.
    args = {
        name: make_scorer(value) if isinstance(value, ComponentSpec) else value
        for name, value in spec.args.items()
    }
    try:
        return make(**args)
    except ValueError as error:
        raise PlanError(
            Problem("SCORE-002", f"the scorer {spec.name!r}: {error}", "correct the value")
        ) from error


Kind = Literal["option", "number", "text"]


def kind_of(sample: Sample) -> Kind:
    """Return what kind of answer is looked for in replies to a sample."""
    if sample.choices:
        return "option"
    return "number" if are_numbers(sample.targets) else "text"


def explain_output(text: str, sample: Sample, kind: Kind | None = None) -> tuple[Attempt, ...]:
    """Return every extraction rule tried on a reply, in order, with what each would answer."""
    kind = kind or kind_of(sample)
    if kind == "option":
        return extract_option(text, sample.labels, sample.choices, explain=True).attempts
    return (extract_number if kind == "number" else extract_text)(text, explain=True).attempts
