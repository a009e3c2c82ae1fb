"""Evaluators by config name, and how one is created with its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, get_type_hints

import msgspec

from assay.core.difference import Difference
from assay.core.errors import PlanError, Problem, explain_type_error, listing, suggest_name
from assay.scoring.originals.opencompass.evaluators import (
    accuracy,
    answers,
    boxes,
    circular,
    classes,
    instructions,
    likelihoods,
    mathematics,
    options,
    programs,
    texts,
)
from assay.scoring.originals.opencompass.evaluators.evaluator import Evaluator

EVALUATORS: Mapping[str, type[Evaluator]] = {
    "AccEvaluator": accuracy.AccEvaluator,
    "AccwithDetailsEvaluator": accuracy.AccwithDetailsEvaluator,
    "AccContaminationEvaluator": accuracy.AccContaminationEvaluator,
    "EDAccEvaluator": accuracy.EDAccEvaluator,
    "GPQAEvaluator": accuracy.GPQAEvaluator,
    "BBHEvaluator": accuracy.BBHEvaluator,
    "BBHEvaluator_mcq": accuracy.BBHEvaluatorMcq,
    "EMEvaluator": answers.EMEvaluator,
    "FreeAnswerEvaluator": answers.FreeAnswerEvaluator,
    "LEvalEMEvaluator": answers.LEvalEMEvaluator,
    "TriviaQAEvaluator": answers.TriviaQAEvaluator,
    "NQEvaluator": answers.NQEvaluator,
    "SQuAD20Evaluator": answers.SQuAD20Evaluator,
    "DropOpenAIEvaluator": answers.DropOpenAIEvaluator,
    "LambadaEvaluator": answers.LambadaEvaluator,
    "SquadEvaluator": answers.SquadEvaluator,
    "RougeEvaluator": texts.RougeEvaluator,
    "JiebaRougeEvaluator": texts.JiebaRougeEvaluator,
    "BleuEvaluator": texts.BleuEvaluator,
    "BleuFloresEvaluator": texts.BleuFloresEvaluator,
    "MccEvaluator": classes.MccEvaluator,
    "AUCROCEvaluator": classes.AUCROCEvaluator,
    "BBoxIoUEvaluator": boxes.BBoxIoUEvaluator,
    "AveragePPLEvaluator": likelihoods.AveragePPLEvaluator,
    "AverageMinKEvaluator": likelihoods.AverageMinKEvaluator,
    "AverageInferencePPLEvaluator": likelihoods.AverageInferencePPLEvaluator,
    "BPCEvaluator": likelihoods.BPCEvaluator,
    "CircularEvaluator": circular.ReferenceCircularEvaluator,
    "datasets.CircularEvaluator": circular.ColumnCircularEvaluator,
    "OptionSimAccEvaluator": options.OptionSimAccEvaluator,
    "CircularOptionSimAccEvaluator": options.CircularOptionSimAccEvaluator,
    "Gsm8kEvaluator": mathematics.Gsm8kEvaluator,
    "MATHEvaluator": mathematics.MATHEvaluator,
    "MATHVerifyEvaluator": mathematics.MATHVerifyEvaluator,
    "HumanEvalEvaluator": programs.HumanEvalEvaluator,
    "MBPPEvaluator": programs.MBPPEvaluator,
    "MBPPEvaluator2": programs.MBPPEvaluator2,
    "MBPPPassKEvaluator": programs.MBPPPassKEvaluator,
    "IFEvaluator": instructions.IFEvaluator,
}
"""Every evaluator by the name of its class; the prefix `datasets.` marks one of two with the same name."""

CORRECTED_EVALUATORS: Mapping[str, Difference[object]] = {
    name: one.difference for name, one in EVALUATORS.items() if one.difference is not None
}
"""Evaluators whose values differ from the original's."""

_MODE = "is_faithful"


def make_evaluator(name: str, arguments: Mapping[str, Any], *, is_faithful: bool) -> Evaluator:
    """Return the evaluator that a config names, with the arguments next to its `type`.

    PlanError if the name, an argument or its value is wrong; AuthorError if a package is missing.
    """
    evaluator_class = EVALUATORS.get(name)
    if evaluator_class is None:
        raise PlanError(
            Problem(
                "SCORE-004",
                f"unknown evaluator {name!r}{suggest_name(name, EVALUATORS)}; expected one of "
                f"{listing(EVALUATORS)}, which docs/reference/metrics.md lists, or a class of your own",
                "correct the name",
            )
        )
    _check_arguments(name, evaluator_class, arguments)
    try:
        return evaluator_class(**arguments, is_faithful=is_faithful)
    except ValueError as error:
        raise PlanError(
            Problem("SCORE-005", f"the evaluator {name!r}: {error}", "correct the value")
        ) from error


def _check_arguments(name: str, evaluator_class: type[Evaluator], given: Mapping[str, Any]) -> None:
    """Raise one error for all wrong arguments of an evaluator."""
    parameters = {one: p for one, p in inspect.signature(evaluator_class).parameters.items() if one != _MODE}
    types = get_type_hints(evaluator_class.__init__)
    problems = []

    def add(what: str, fix: str) -> None:
        problems.append(Problem("SCORE-005", f"the evaluator {name!r} {what}", fix))

    for argument, value in given.items():
        if argument not in parameters:
            expected = f"one of {listing(parameters)}" if parameters else "none"
            add(
                f"has no argument {argument!r}{suggest_name(argument, parameters)}; expected {expected}",
                "remove the argument or correct its name",
            )
            continue
        try:
            msgspec.convert(value, types[argument])
        except msgspec.ValidationError as error:
            add(
                f"has the argument {argument!r} = {value!r:.60}; {explain_type_error(error)}",
                "correct the value",
            )
    for argument, parameter in parameters.items():
        if parameter.default is inspect.Parameter.empty and argument not in given:
            add(f"needs the argument {argument!r}", "write it next to the evaluator's type")
    if problems:
        raise PlanError(problems)
