"""Pairwise comparison with a rival's answers by a judge, in one or both orders, with agreement."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from assay.core.difference import Difference
from assay.core.ids import digest, make_random
from assay.core.prompt import Prompt
from assay.core.score import Verdict
from assay.scoring.extract.extraction import Rule, RuleMatch
from assay.scoring.judges.judgement import Judgement, Question, Unaskable
from assay.scoring.judges.reading import CHOICE_RULES
from assay.scoring.metrics.checks import check_lengths
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow
from assay.scoring.originals.opencompass.evaluators.judged import JudgeEvaluator
from assay.scoring.originals.opencompass.evaluators.readings import make_by_name

Winner: TypeAlias = Literal["first", "second", "neither"]
AnswerOrder: TypeAlias = Literal["both", "random", "model_first", "rival_first"]
RenderPair = Callable[[EvaluatedRow, str, str], Prompt]
"""Builds the judge's prompt for a row, the first answer and the second."""

_SEED = 666
"""The originals' seed for the order of two answers."""

ORDER_DIFFERENCE = Difference[object](
    "two answers are shown in one order, drawn by a generator that all rows share, so omitting a row "
    "changes the order of others; with both orders, the two replies are counted as two rows",
    "both orders are asked for each row, its value is their mean, and the share of rows on which they agree "
    "is reported; a random order depends only on the row",
)
FIRST_CHOICE_DIFFERENCE = Difference[object](
    "the first choice in the judge's reply counts", "the last one counts"
)

_AGREEING = {("first", "second"), ("second", "first"), ("neither", "neither")}
"""The winning positions in the two orders that mean the same winner."""
_BIASED = {("first", "first"), ("second", "second")}


class Comparison(NamedTuple):
    """How a judge's choice between two answers is read."""

    rules: tuple[Rule[str], ...]
    winners: Mapping[str, Winner]
    """Maps the judge's words to the winning position."""
    tie: float = 0.5
    """The value of a tie for the model."""
    is_raw: bool = False
    """Whether the rules also see the judge's reasoning, as in some originals."""
    differences: tuple[Difference[object], ...] = (ORDER_DIFFERENCE,)


_CHOICE: Mapping[str, Winner] = {"A": "first", "B": "second", "C": "neither"}
_ARENA: Mapping[str, Winner] = {
    "A>>B": "first",
    "A>B": "first",
    "A=B": "neither",
    "B>A": "second",
    "B>>A": "second",
}
_ALPACA: Mapping[str, Winner] = {"m": "first", "M": "second"}


def _make_rule(name: str, pattern: str, *, is_first: bool) -> Rule[str]:
    """Return the rule for one format; of several matches the first or the last counts."""
    compiled = re.compile(pattern)

    def find(text: str) -> RuleMatch | None:
        every = list(compiled.finditer(text))
        if not every:
            return None
        match = every[0] if is_first else every[-1]
        return RuleMatch(match["choice"], match.start(), match.end())

    return Rule(name, find)


def _make_comparison(
    faithful: Rule[str],
    corrected: tuple[Rule[str], ...],
    winners: Mapping[str, Winner],
    *,
    is_faithful: bool,
    tie: float = 0.5,
) -> Comparison:
    rules = (faithful,) if is_faithful else corrected
    return Comparison(rules, winners, tie, is_faithful, (ORDER_DIFFERENCE, FIRST_CHOICE_DIFFERENCE))


def _brackets(*, is_faithful: bool) -> Comparison:
    rule = _make_rule("double_brackets", r"\[\[(?P<choice>[ABC])\]\]", is_first=True)
    return _make_comparison(rule, CHOICE_RULES, _CHOICE, is_faithful=is_faithful)


def _compass_arena(
    summary_type: str = "single", check_pos_bias: bool = True, *, is_faithful: bool
) -> Comparison:
    """Return CompassArena's comparison: a tie is no win, or half a win with `half_add`.

    Position bias is reported whenever both orders are asked, with or without `check_pos_bias`.
    """
    rule = _make_rule("choice", r"(?:选择：|Choice: )(?P<choice>[ABC])", is_first=True)
    loose = _make_rule(
        "choice", r"(?i:选择|choice)[*_]*\s*[:：][\s*_\[(]*(?P<choice>[ABC])(?!\w)", is_first=False
    )
    tie = 0.5 if summary_type == "half_add" else 0.0
    return _make_comparison(rule, (loose, *CHOICE_RULES), _CHOICE, is_faithful=is_faithful, tie=tie)


def _arena_hard(*, is_faithful: bool) -> Comparison:
    form = r"\[\[(?P<choice>A>>B|A>B|A=B|B>A|B>>A)\]\]"
    first, last = (_make_rule("double_brackets", form, is_first=is_first) for is_first in (True, False))
    return _make_comparison(first, (last,), _ARENA, is_faithful=is_faithful)


def _alpaca(*, is_faithful: bool) -> Comparison:
    rule = _make_rule("first_character", r"\A(?P<choice>[mM])", is_first=True)
    whole = _make_rule("whole_reply", r"\A[\s*_`\"']*(?P<choice>[mM])[\s*_`\"'.]*\Z", is_first=True)
    return _make_comparison(rule, (whole,), _ALPACA, is_faithful=is_faithful)


COMPARISONS: Mapping[str, Callable[..., Comparison]] = {
    "brackets": _brackets,
    "compassarena": _compass_arena,
    "compassarena_postprocess": _compass_arena,
    "arenahard": _arena_hard,
    "arenahard_postprocess": _arena_hard,
    "alpacaeval": _alpaca,
    "alpacaeval_postprocess": _alpaca,
}
"""Factories of comparisons by the originals' names; `brackets` reads `[[A]]`, `[[B]]` and `[[C]]`."""


def make_comparison(
    name: str, arguments: Mapping[str, Any] | None = None, *, is_faithful: bool = False
) -> Comparison:
    """Return the comparison with this name; an unknown name or argument is an error."""
    return make_by_name("comparison", COMPARISONS, name, arguments, is_faithful=is_faithful)


class PairwiseEvaluator(JudgeEvaluator):
    """A judge chooses between each answer and a rival's.

    `win_rate` is the mean of 1 for the model's answer, 0 for the rival's and 0.5 for a tie; with both orders,
    a row's value is the mean of the two. `agreement` is then the share of rows with the same winner in both
    orders, and `position_bias` the share where the same position won twice.
    """

    scale: ClassVar[float] = 100.0
    correct_by: str | None = None

    def __init__(
        self,
        render: RenderPair,
        rival: Callable[[EvaluatedRow], str],
        comparison: Comparison | None = None,
        *,
        order: AnswerOrder = "both",
        seed: int = _SEED,
        is_faithful: bool = False,
    ) -> None:
        """Take the prompt builder, the source of the rival's answer (may raise Unaskable), and the order.

        `random` draws the position of each row's answer by the seed; faithful: from one generator shared by
        all rows.
        """
        super().__init__()
        self._render = render
        self._rival = rival
        self._comparison = comparison or make_comparison("brackets", is_faithful=is_faithful)
        self._order: AnswerOrder = order
        self._seed = seed
        self._is_faithful = is_faithful

    @property
    def differences(self) -> tuple[Difference[object], ...]:
        """Return how the original asks and reads, compared with this evaluator."""
        return self._comparison.differences

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Ask the judge about every pair, and return the values over the rows with a verdict."""
        check_lengths(self, predictions, references)
        places = self._places(predictions, references)
        cases = [
            self._questions(prediction, row, place)
            for prediction, row, place in zip(predictions, references, places, strict=True)
        ]
        judged = self._ask(cases)
        lists = {"win_rate": [math.nan if one.value is None else one.value for one in judged]}
        if self._order == "both":
            winners = [self._winners(one) for one in judged]
            lists["agreement"] = [math.nan if pair is None else float(pair in _AGREEING) for pair in winners]
            lists["position_bias"] = [
                math.nan if pair is None else float(pair in _BIASED) for pair in winners
            ]
        self.last_score_lists = lists
        return {name: self.scale * _mean(values) for name, values in lists.items()}

    def _winners(self, judgement: Judgement) -> tuple[Winner, Winner] | None:
        """Return the winning positions in the two orders."""
        if judgement.verdict is not Verdict.SCORED:
            return None
        first, second = (self._comparison.winners[reply.label or ""] for reply in judgement.replies)
        return first, second

    def _places(
        self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]
    ) -> list[tuple[bool, ...]]:
        """Return for each row, and each time it is asked, whether the model's answer is first."""
        if self._order != "random":
            positions = {"both": (True, False), "model_first": (True,), "rival_first": (False,)}[self._order]
            return [positions] * len(predictions)
        if self._is_faithful:
            shared = random.Random(self._seed)
            return [(_draw_order(shared),) for _ in predictions]
        return [
            (make_random(self._seed, digest([row.prompt, str(prediction)]), "place").random() < 0.5,)
            for prediction, row in zip(predictions, references, strict=True)
        ]

    def _questions(
        self, prediction: Any, row: EvaluatedRow, places: tuple[bool, ...]
    ) -> list[Question] | Unaskable:
        if not isinstance(prediction, str):
            return Unaskable(f"the prediction is {prediction!r:.80}; expected a text")
        try:
            rival = self._rival(row)
            return [self._question(prediction, rival, row, is_first) for is_first in places]
        except Unaskable as why:
            return why

    def _question(self, own: str, rival: str, row: EvaluatedRow, is_first: bool) -> Question:
        comparison = self._comparison
        won = {"first": float(is_first), "second": float(not is_first), "neither": comparison.tie}
        worth = {choice: won[winner] for choice, winner in comparison.winners.items()}
        prompt = self._render(row, own, rival) if is_first else self._render(row, rival, own)
        about = "model first" if is_first else "rival first"
        return Question(about, prompt, comparison.rules, worth.__getitem__, comparison.is_raw)


def _draw_order(shared: random.Random) -> bool:
    """Return whether the model's answer is first after both are shuffled, starting with the rival's first."""
    is_own = [False, True]
    shared.shuffle(is_own)
    return is_own[0]


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan
