"""Scoring for config datasets: post-processors and evaluators under the originals' names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.core.difference import Difference
from assay.core.prompt import Prompt
from assay.dialects.openicl.authored.base_classes import BaseEvaluator
from assay.dialects.openicl.authored.code import LibraryParts
from assay.dialects.openicl.scoring_parts import JudgeConfig, PairwiseJudgeConfig, PostProcess
from assay.scoring.extract.reply import find_spoken_part
from assay.scoring.judges.judgement import Question, Unaskable
from assay.scoring.originals.opencompass.evaluators.author import AuthorEvaluator
from assay.scoring.originals.opencompass.evaluators.cascade import Cascade
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow
from assay.scoring.originals.opencompass.evaluators.graded import (
    GRADE_READINGS,
    GradedEvaluator,
    make_grade_reading,
)
from assay.scoring.originals.opencompass.evaluators.judged import JudgedEvaluator
from assay.scoring.originals.opencompass.evaluators.pairwise import (
    COMPARISONS,
    AnswerOrder,
    PairwiseEvaluator,
    make_comparison,
)
from assay.scoring.originals.opencompass.evaluators.readings import make_reading
from assay.scoring.originals.opencompass.evaluators.registry import (
    CORRECTED_EVALUATORS,
    EVALUATORS,
    make_evaluator,
)
from assay.scoring.originals.opencompass.evaluators.repeated import OriginalSystem, RepeatedEvaluator
from assay.scoring.originals.opencompass.postprocess import (
    ALIASES,
    CORRECTED_BY_ANY_NAME,
    POSTPROCESSORS,
    PostProcessor,
    find_postprocessor,
)

_OF_DATASETS = "datasets"
"""Prefix of an evaluator defined in a dataset's module, if another has the same name."""


class OpenIclScoring:
    """Creates the parts; implements the dialect's protocol `ScoringParts`."""

    def postprocessor(
        self, name: str, arguments: Mapping[str, Any], *, is_faithful: bool
    ) -> PostProcess | None:
        """Return a post-processor; None if the name is unknown, ValueError if arguments are wrong."""
        if name not in POSTPROCESSORS and name not in ALIASES:
            return None
        process = find_postprocessor({"type": name, **arguments})
        return PostProcess(name, _build_reader(process, is_faithful=is_faithful))

    def build_author_postprocessor(
        self, name: str, function: Callable[..., Any], *, is_faithful: bool
    ) -> PostProcess:
        """Return an author's function as a post-processor that does not see the model's reasoning."""

        def find(text: str) -> Any:
            answer = text if is_faithful else _strip_reasoning(text)
            return None if answer is None else function(answer)

        return PostProcess(name, find, function)

    def evaluator(
        self, name: str, module: str, arguments: Mapping[str, Any], *, is_faithful: bool
    ) -> Any | None:
        """Return an evaluator; None if the name is unknown."""
        of_datasets = f"{_OF_DATASETS}.{name}"
        if of_datasets in EVALUATORS and _OF_DATASETS in module.split("."):
            name = of_datasets
        return make_evaluator(name, arguments, is_faithful=is_faithful) if name in EVALUATORS else None

    def build_author_evaluator(self, author: Any, file: str, *, is_faithful: bool) -> Any:
        """Return an author's object with a method `score` as an evaluator."""
        return AuthorEvaluator(author, file, is_faithful=is_faithful)

    def build_judge_evaluator(self, judging: JudgeConfig, *, is_faithful: bool) -> Any:
        """Return an evaluator that queries a judge."""
        reading = None
        if judging.reading is not None:
            reading = make_reading(judging.reading, judging.arguments, is_faithful=is_faithful)

        def render(row: EvaluatedRow, answer: str) -> Prompt:
            return judging.render(row.fields, row.gold, answer)

        return JudgedEvaluator(render, reading)

    def build_grading_evaluator(self, judging: JudgeConfig, *, is_faithful: bool) -> Any:
        """Return an evaluator that asks a judge for grades."""
        read = make_grade_reading(judging.reading or "mtbench_postprocess", is_faithful=is_faithful)

        def questions(row: EvaluatedRow, prediction: Any) -> list[Question]:
            prompt = judging.render(row.fields, row.gold, prediction)
            return [Question("answer", prompt, read.rules, float, read.is_raw)]

        return GradedEvaluator(questions)

    def is_grade_reader(self, name: str | None) -> bool:
        """Return whether a name, or no name, means that a judge gives grades."""
        return name is None or name in GRADE_READINGS

    def build_pairwise_evaluator(
        self, comparing: PairwiseJudgeConfig, *, seed: int, is_faithful: bool
    ) -> Any:
        """Return an evaluator that asks a judge which of two answers is better."""
        comparison = make_comparison(
            comparing.reading or "brackets", comparing.arguments, is_faithful=is_faithful
        )

        def render(row: EvaluatedRow, first: str, second: str) -> Prompt:
            return comparing.render(row.fields, row.gold, first, second)

        def rival(row: EvaluatedRow) -> str:
            answer = comparing.rival(row.fields)
            if answer is None:
                raise Unaskable("the rival has no answer for this row")
            return answer

        order: AnswerOrder = "random" if comparing.order == "random" else "both"
        return PairwiseEvaluator(render, rival, comparison, order=order, seed=seed, is_faithful=is_faithful)

    def is_pair_reader(self, name: str | None) -> bool:
        """Return whether a name means that a judge chooses between two answers."""
        return name in COMPARISONS

    def cascade(self, rule: Any, judged: Any, *, is_parallel: bool, is_faithful: bool) -> Any:
        """Return an evaluator that asks a judge about answers that a rule does not accept."""
        return Cascade(rule, judged, parallel=is_parallel, is_faithful=is_faithful)

    def build_repeated_evaluator(
        self, evaluator: Any, n: int, ks: Sequence[int], *, of_aisbench: bool, is_faithful: bool
    ) -> Any:
        """Return an evaluator of rows with several answers, with the metric names of one of the originals."""
        system: OriginalSystem = "aisbench" if of_aisbench else "opencompass"
        return RepeatedEvaluator(evaluator, n, ks, system=system, is_faithful=is_faithful)

    def reference(self, gold: Any, fields: Mapping[str, Any], prompt: str) -> Any:
        """Return the reference that a prediction is compared with."""
        return EvaluatedRow(gold, fields, prompt)

    @property
    def postprocessor_names(self) -> Sequence[str]:
        """Return the names of all post-processors."""
        return [*POSTPROCESSORS, *ALIASES]

    @property
    def evaluator_names(self) -> Sequence[str]:
        """Return the names of all evaluators that need no judge."""
        return list(EVALUATORS)

    @property
    def differences(self) -> Mapping[str, Difference[object]]:
        """Return the differences from the original, by the name of the part."""
        return {**CORRECTED_BY_ANY_NAME, **CORRECTED_EVALUATORS}


def build_author_imports() -> LibraryParts:
    """Return what authors' files may import: functions and evaluators under the originals' names."""
    functions = {
        name: _wrap_postprocessor(POSTPROCESSORS[name]) for name in POSTPROCESSORS if name.isidentifier()
    } | {alias: _wrap_postprocessor(POSTPROCESSORS[name]) for alias, name in ALIASES.items()}
    return LibraryParts(
        functions, {name: _build_evaluator_class(name) for name in EVALUATORS if name.isidentifier()}
    )


def _wrap_postprocessor(process: PostProcessor) -> Callable[..., Any]:
    """Return a post-processor for authors' code, which expects the original's string."""

    def postprocess(text: str, *args: Any, **kwargs: Any) -> Any:
        return process.original(text, *args, **kwargs)

    return postprocess


def _build_evaluator_class(name: str) -> type[BaseEvaluator]:
    """Return an evaluator as a class that authors' classes can extend or call."""

    def score(self: BaseEvaluator, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, Any]:
        evaluate = make_evaluator(name, {}, is_faithful=False)
        return dict(evaluate(predictions, [EvaluatedRow(gold, {}) for gold in references]))

    return type(name, (BaseEvaluator,), {"score": score})


def _build_reader(process: PostProcessor, *, is_faithful: bool) -> Callable[[str], Any]:
    """Return the function with which a post-processor reads a model's output."""
    if is_faithful:
        return lambda text: process(text, faithful=True)
    if process.sees_reasoning:
        return lambda text: process(text)

    def find(text: str) -> str | None:
        answer = _strip_reasoning(text)
        return None if answer is None else process(answer)

    return find


def _strip_reasoning(text: str) -> str | None:
    """Return the output after the model's reasoning; None if there is only reasoning."""
    region = find_spoken_part(text)
    return None if region is None else text[region[0] : region[1]]
