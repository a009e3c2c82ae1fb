"""What the dialect needs from the room of scoring, as a protocol; the app hands it over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from assay.core.prompt import Prompt


class PostProcess(NamedTuple):
    """A post-processor with its arguments."""

    name: str
    find: Callable[[str], Any]
    """Returns the answer in a text; None where there is none."""
    find_gold: Callable[[Any], Any] | None = None
    """Returns a right answer of whatever kind the dataset has; None: it is read as a text, too."""


class JudgeConfig(NamedTuple):
    """How a judge is asked about answers, as a config says it."""

    render: Callable[[Mapping[str, Any], Any, Any], Prompt]
    """Makes the judge's prompt of a row, the right answer and the model's: a text, or one for each turn."""
    reading: str | None
    """The name of the function that reads verdicts."""
    arguments: Mapping[str, Any]
    """What that function is given."""


class PairwiseJudgeConfig(NamedTuple):
    """How a judge compares answers with a rival's."""

    render: Callable[[Mapping[str, Any], Any, str, str], Prompt]
    """Makes the judge's prompt of a row, the right answer, the answer that stands first, and the second."""
    rival: Callable[[Mapping[str, Any]], str | None]
    """Returns the rival's answer to a row; None where it has none."""
    reading: str | None
    arguments: Mapping[str, Any]
    order: str | None
    """`double`: both orders. `random`: a drawn one. None: where nothing is said, both."""


class ScoringParts(Protocol):
    """Post-processors and evaluators by the originals' names."""

    def postprocessor(
        self, name: str, arguments: Mapping[str, Any], *, is_faithful: bool
    ) -> PostProcess | None:
        """Return a post-processor; None where the name is unknown, ValueError where arguments are wrong."""

    def own_postprocessor(self, name: str, function: Callable[..., Any], *, is_faithful: bool) -> PostProcess:
        """Return an author's function as a post-processor."""

    def evaluator(
        self, name: str, module: str, arguments: Mapping[str, Any], *, is_faithful: bool
    ) -> Any | None:
        """Return an evaluator that a module has; None where the name is unknown."""

    def own_evaluator(self, author: Any, file: str, *, is_faithful: bool) -> Any:
        """Return an author's object with a method `score` as an evaluator."""

    def judged(self, judging: JudgeConfig, *, is_faithful: bool) -> Any:
        """Return an evaluator that asks a judge."""

    def build_grading_evaluator(self, judging: JudgeConfig, *, is_faithful: bool) -> Any:
        """Return an evaluator that asks a judge for grades."""

    def is_grade_reader(self, name: str | None) -> bool:
        """Whether a name, or none, means that a judge gives grades."""

    def compared(self, comparing: PairwiseJudgeConfig, *, seed: int, is_faithful: bool) -> Any:
        """Return an evaluator that asks a judge which of two answers is better."""

    def is_pair_reader(self, name: str | None) -> bool:
        """Whether a name means that a judge chooses between two answers."""

    def cascade(self, rule: Any, judged: Any, *, is_parallel: bool, is_faithful: bool) -> Any:
        """Return an evaluator that asks a judge about what another does not accept."""

    def repeated(
        self, evaluator: Any, n: int, ks: Sequence[int], *, of_aisbench: bool, is_faithful: bool
    ) -> Any:
        """Return an evaluator of rows with several answers each, named as one of the originals does."""

    def reference(self, gold: Any, fields: Mapping[str, Any], prompt: str) -> Any:
        """Return what a prediction is compared with."""

    @property
    def postprocessor_names(self) -> Sequence[str]:
        """Return the names of all post-processors."""

    @property
    def evaluator_names(self) -> Sequence[str]:
        """Return the names of evaluators, but for those that ask a judge."""

    @property
    def corrected(self) -> Mapping[str, tuple[str, str]]:
        """Return the parts that differ from the original: what it does, and what is done here."""
