"""Scorers by the names that dialects use."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Literal, Protocol, runtime_checkable

from assay.core.errors import PlanError, Problem, listing, suggest_name
from assay.core.method import Method
from assay.core.sample import Sample
from assay.core.score import Attempt
from assay.core.task import ComponentSpec, CorpusScorer, Scorer

SCORERS: dict[str, str] = {
    "option_likelihood": "assay.scoring.scorers.likelihood:OptionLikelihood",
    "whole_text_likelihood": "assay.scoring.scorers.likelihood:WholeTextLikelihood",
    "text_likelihood": "assay.scoring.scorers.likelihood:TextLikelihood",
    "sentence_likelihood": "assay.scoring.scorers.sentence_likelihood:SentenceLikelihood",
    "label_probability": "assay.scoring.scorers.probability:LabelProbability",
    "generated_option": "assay.scoring.scorers.generated:GeneratedOption",
    "generated_answer": "assay.scoring.scorers.generated:GeneratedAnswer",
    "assertions": "assay.scoring.originals.promptfoo.assertion_scorer:make_assertion_scorer",
    "inspect_scores": "assay.scoring.originals.inspect.scorers:InspectScores",
    "author_metrics": "assay.scoring.originals.llmbox.author_metrics:AuthorMetrics",
    "row_metrics": "assay.scoring.originals.ultraeval.row_metrics:make_row_metrics",
    "task_results": "assay.scoring.originals.leap.task_results:TaskResults",
}
"""Every scorer that a dialect may name, as `module:name`. Modules are imported when needed, so that a run on
a table does not load metric libraries, the sandbox or the judges."""


def _import_scorer(name: str) -> Callable[..., Scorer | CorpusScorer]:
    module, _, member = SCORERS[name].partition(":")
    make: Callable[..., Scorer | CorpusScorer] = getattr(import_module(module), member)
    return make


def make_scorer(spec: ComponentSpec) -> Scorer | CorpusScorer:
    """Return the scorer that a spec names; PlanError if the name or an argument is unknown."""
    if spec.name not in SCORERS:
        raise PlanError(
            Problem(
                "SCORE-001",
                f"unknown scorer {spec.name!r}{suggest_name(spec.name, SCORERS)}; "
                f"expected one of {listing(SCORERS)}",
                "use one of these scorers",
            )
        )
    make = _import_scorer(spec.name)
    known = list(inspect.signature(make).parameters)
    for name in spec.args:
        if name not in known:
            raise PlanError(
                Problem(
                    "SCORE-002",
                    f"the scorer {spec.name!r} has no argument {name!r}{suggest_name(name, known)}; "
                    f"expected one of {listing(known)}",
                    "remove the argument or correct its name",
                )
            )
    # A scorer may take another scorer, by name.
    args: dict[str, Any] = {
        name: make_scorer(value) if isinstance(value, ComponentSpec) else value
        for name, value in spec.args.items()
    }
    try:
        if "track" in args:
            args["track"] = Method(args["track"])
        return make(**args)
    except ValueError as error:
        raise PlanError(
            Problem("SCORE-002", f"the scorer {spec.name!r}: {error}", "correct the value")
        ) from error


@runtime_checkable
class DeclaresMetrics(Protocol):
    """A scorer that declares its metrics."""

    gives: tuple[str, ...]
    """The metrics, the deciding one first. Some may be missing if a model returns too little."""


AnswerKind = Literal["option", "number", "text"]


def classify_sample(sample: Sample) -> AnswerKind:
    """Return the kind of answer that is looked for in replies to a sample."""
    from assay.scoring.normalize import are_numbers

    if sample.choices:
        return "option"
    return "number" if are_numbers(sample.targets) else "text"


def explain_output(
    text: str, sample: Sample, kind: AnswerKind | None = None, question: str = ""
) -> tuple[Attempt, ...]:
    """Return every extraction rule tried on a reply, in order, with its result."""
    from assay.scoring.extract import extract_number, extract_option
    from assay.scoring.extract.option_sets import extract_options

    kind = kind or classify_sample(sample)
    if kind == "option":
        find = extract_options if len(sample.gold) > 1 else extract_option
        return find(text, sample.labels, sample.choices, explain=True).attempts
    if kind == "number":
        return extract_number(text, explain=True).attempts
    return _explain_text(text, sample.targets, question)


def _explain_text(text: str, targets: Sequence[str], question: str) -> tuple[Attempt, ...]:
    """Return the rules of the reader for such targets, and those of an exact match."""
    from assay.scoring.extract import extract_text
    from assay.scoring.extract.formulas import extract_formula, plain_text
    from assay.scoring.extract.polarity import extract_polarity
    from assay.scoring.extract.stated import extract_stated
    from assay.scoring.scorers.grading import choose_reader

    reader = choose_reader(targets) if targets else "exact"
    tried: tuple[Attempt, ...] = ()
    if reader == "yes_no":
        tried = extract_polarity(text, explain=True).attempts
    if reader == "formula":
        tried = extract_formula(text, explain=True).attempts
    if reader in ("formula", "stated"):
        wanted = [plain_text(target) for target in targets]
        tried += extract_stated(text, wanted, question, explain=True).attempts
    return (*tried, *extract_text(text, explain=True).attempts)
