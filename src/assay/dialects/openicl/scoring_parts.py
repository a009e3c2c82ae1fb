"""The protocol for the scoring package, which the app passes to this dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from assay.core.difference import Difference
from assay.core.prompt import Prompt


class PostProcess(NamedTuple):
    """A post-processor with its arguments."""

    name: str
    find: Callable[[str], Any]
    """Returns the answer in a text, or None."""
    find_gold: Callable[[Any], Any] | None = None
    """Processes a right answer of any type; None: right answers are processed as text."""


class JudgeConfig(NamedTuple):
    """The judge settings of a config."""

    render: Callable[[Mapping[str, Any], Any, Any], Prompt]
    """Renders the judge's prompt from a row, the right answer and the model's (a text, or one per turn)."""
    reading: str | None
    """The name of the function that reads verdicts."""
    arguments: Mapping[str, Any]
    """The arguments of that function."""


class PairwiseJudgeConfig(NamedTuple):
    """The settings of a judge that compares answers with a rival's."""

    render: Callable[[Mapping[str, Any], Any, str, str], Prompt]
    """Renders the judge's prompt from a row, the right answer, the first answer and the second answer."""
    rival: Callable[[Mapping[str, Any]], str | None]
    """Returns the rival's answer to a row, or None."""
    reading: str | None
    arguments: Mapping[str, Any]
    order: str | None
    """`double`: both orders. `random`: a random order. None: not set, which means both."""


class ScoringParts(Protocol):
    """Post-processors and evaluators by the originals' names."""

    def postprocessor(
        self, name: str, arguments: Mapping[str, Any], *, is_faithful: bool
    ) -> PostProcess | None:
        """Return a post-processor; None if the name is unknown. Raise ValueError for wrong arguments."""

    def build_author_postprocessor(
        self, name: str, function: Callable[..., Any], *, is_faithful: bool
    ) -> PostProcess:
        """Return an author's function as a post-processor."""

    def evaluator(
        self, name: str, module: str, arguments: Mapping[str, Any], *, is_faithful: bool
    ) -> Any | None:
        """Return an evaluator of a module; None if the name is unknown."""

    def build_author_evaluator(self, author: Any, file: str, *, is_faithful: bool) -> Any:
        """Return an author's object with a method `score` as an evaluator."""

    def build_judge_evaluator(self, judging: JudgeConfig, *, is_faithful: bool) -> Any:
        """Return an evaluator that uses a judge."""

    def build_grading_evaluator(self, judging: JudgeConfig, *, is_faithful: bool) -> Any:
        """Return an evaluator whose judge gives grades."""

    def is_grade_reader(self, name: str | None) -> bool:
        """Whether a verdict reader of this name (or None) reads grades."""

    def build_pairwise_evaluator(
        self, comparing: PairwiseJudgeConfig, *, seed: int, is_faithful: bool
    ) -> Any:
        """Return an evaluator whose judge chooses the better of two answers."""

    def is_pair_reader(self, name: str | None) -> bool:
        """Whether a verdict reader of this name reads a choice between two answers."""

    def cascade(self, rule: Any, judged: Any, *, is_parallel: bool, is_faithful: bool) -> Any:
        """Return an evaluator that uses a judge for answers that another evaluator does not accept."""

    def build_repeated_evaluator(
        self, evaluator: Any, n: int, ks: Sequence[int], *, of_aisbench: bool, is_faithful: bool
    ) -> Any:
        """Return an evaluator for several answers per row, with the value names of an original."""

    def reference(self, gold: Any, fields: Mapping[str, Any], prompt: str) -> Any:
        """Return the reference for a prediction."""

    @property
    def postprocessor_names(self) -> Sequence[str]:
        """Return the names of all post-processors."""

    @property
    def evaluator_names(self) -> Sequence[str]:
        """Return the names of evaluators, except those that use a judge."""

    @property
    def differences(self) -> Mapping[str, Difference[object]]:
        """Return the parts that differ from the original: what the original does, and what Assay does."""
