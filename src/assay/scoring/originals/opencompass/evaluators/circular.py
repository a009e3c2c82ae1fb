"""Questions asked once for each order of their options: right only if every order is right.

Each order is a row; the rows of a question belong together. Values over questions are ratios of two sums over
rows, so that their uncertainty follows from the rows' clusters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import permutations
from typing import Any, ClassVar, Literal, NamedTuple

from assay.core.difference import Difference
from assay.core.errors import AuthorError, Problem
from assay.scoring.metrics.checks import Misfit, score_rows
from assay.scoring.metrics.estimators import majority
from assay.scoring.originals.opencompass.evaluators.accuracy import equal_texts
from assay.scoring.originals.opencompass.evaluators.evaluator import (
    EvaluatedRow,
    Evaluator,
    require_field,
    require_gold,
    to_text,
)

OptionOrder = tuple[str, ...]
"""Options in the order in which a row shows them."""
CircularPattern = Literal["circular", "all_possible"]

_NO_OPTION = "-"
_PARTS_OF_REFERENCE = 3


class OrderedAnswer(NamedTuple):
    """One question in one order of its options."""

    question: Hashable
    order: OptionOrder
    is_right: bool


def rotations(options: OptionOrder) -> list[OptionOrder]:
    """Return the rotations of the options."""
    return [options[at:] + options[:at] for at in range(len(options))]


class _CircularEvaluator(Evaluator):
    """Values over rows and over the questions they belong to."""

    scale: ClassVar[float] = 100.0

    def __init__(self, *, is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        self._n_incomplete = 0

    def notes(self) -> Sequence[str]:
        """Return a note with the number of questions left out."""
        if not self._n_incomplete:
            return ()
        return (
            f"{self._n_incomplete:,} questions lack an answer to some of their orders "
            "and are left out of values over all orders",
        )

    def _begin(self) -> None:
        self.last_ratios.clear()
        self.last_score_lists = {}
        self._n_incomplete = 0

    def _score_rows(
        self, name: str, rows: Sequence[OrderedAnswer], orders: Sequence[OptionOrder]
    ) -> dict[str, float]:
        """Return the share of correct rows in these orders; none if there are no such rows."""
        chosen = set(orders)
        shares = [(float(row.is_right), 1.0) if row.order in chosen else (0.0, 0.0) for row in rows]
        return self._build_metrics(name, shares, [float(row.is_right) for row in rows])

    def _score_questions(
        self, rows: Sequence[OrderedAnswer], orders: Sequence[OptionOrder], names: Mapping[int, str]
    ) -> dict[str, float]:
        """Return the shares of questions with at least so many correct orders."""
        by_question = self._group_by_question(rows, orders)
        values: dict[str, float] = {}
        for least, name in names.items():
            is_enough = {question: sum(right) >= least for question, right in by_question.items()}
            values |= self._spread_over_rows(name, rows, orders, is_enough)
        return values

    def _group_by_question(
        self, rows: Sequence[OrderedAnswer], orders: Sequence[OptionOrder]
    ) -> dict[Hashable, list[bool]]:
        chosen = set(orders)
        found: dict[Hashable, list[bool]] = {}
        for row in rows:
            if row.order in chosen:
                found.setdefault(row.question, []).append(row.is_right)
        if self.is_faithful:
            return found
        whole = {question: right for question, right in found.items() if len(right) >= len(orders)}
        self._n_incomplete = max(self._n_incomplete, len(found) - len(whole))
        return whole

    def _spread_over_rows(
        self,
        name: str,
        rows: Sequence[OrderedAnswer],
        orders: Sequence[OptionOrder],
        results: Mapping[Hashable, bool],
    ) -> dict[str, float]:
        """Return the share of questions that pass, each question's part spread over its rows."""
        chosen = set(orders)
        sizes = Counter(row.question for row in rows if row.order in chosen)
        shares = []
        for row in rows:
            size = sizes[row.question] if row.order in chosen and row.question in results else 0
            shares.append((float(results[row.question]) / size, 1 / size) if size else (0.0, 0.0))
        return self._build_metrics(name, shares, [float(results.get(row.question, False)) for row in rows])

    def _build_metrics(
        self, name: str, shares: Sequence[tuple[float, float]], own: Sequence[float]
    ) -> dict[str, float]:
        below = math.fsum(size for _, size in shares)
        if not below:
            return {}
        self.last_ratios[name] = list(shares)
        self.last_score_lists = {**self.last_score_lists, name: own}
        return {name: self.scale * math.fsum(one for one, _ in shares) / below}


_INCOMPLETE = Difference[object](
    "a question with failed answers is judged by its remaining orders; only the last of several runs counts",
    "it is left out of the values over all orders, and a note says so; the mean of all runs counts",
)


class ColumnCircularEvaluator(_CircularEvaluator):
    """Accuracy over rows, and over questions by correct orders; rows have `qid` and `circular_pattern`."""

    difference: ClassVar[Difference[object] | None] = _INCOMPLETE

    def __init__(self, *, circular_pattern: CircularPattern = "circular", is_faithful: bool = False) -> None:
        super().__init__(is_faithful=is_faithful)
        self._pattern = circular_pattern
        self.correct_by = f"acc_{circular_pattern}"

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `acc_KIND`, `more_N_KIND` and `perf_KIND` for origin, circular and all_possible."""
        self._begin()
        rows = score_rows(self, predictions, references, self._read_row)
        options = rows[0].order if self.is_faithful else _original_order(rows)
        kinds: dict[str, list[OptionOrder]] = {"origin": [options], "circular": rotations(options)}
        if self._pattern == "all_possible":
            kinds["all_possible"] = list(permutations(options))
        values: dict[str, float] = {}
        for kind, orders in kinds.items():
            values |= self._score_rows(f"acc_{kind}", rows, orders)
        for kind, orders in kinds.items():
            names = {least: f"more_{least}_{kind}" for least in range(1, len(orders))}
            values |= self._score_questions(rows, orders, {**names, len(orders): f"perf_{kind}"})
        return values

    def is_right(self, prediction: Any, row: EvaluatedRow) -> bool:
        """Whether an answer is correct."""
        if self.is_faithful:
            return bool(prediction == row.gold)
        return equal_texts(prediction, require_gold(row))

    def _read_row(self, prediction: Any, row: EvaluatedRow) -> OrderedAnswer:
        order = tuple(map(str, require_field(row, "circular_pattern")))
        return OrderedAnswer(require_field(row, "qid"), order, self.is_right(prediction, row))


class ReferenceCircularEvaluator(_CircularEvaluator):
    """The same for rows whose target is `id--label--order`, such as `7--C--BCDA`; also a vote.

    An order lists the options of the original question in the order in which they are shown.
    """

    difference: ClassVar[Difference[object] | None] = Difference(
        "four options are assumed, and acc_1 and acc_4 divide by the expected number of rows; a "
        "question with failed answers is judged by its remaining orders; only the last of several "
        "runs counts",
        "the number of options comes from the order, and the existing rows count; such a question "
        "is left out of the values over all orders, and a note says so; the mean of all runs "
        "counts",
    )

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return `acc_K`, `more_K_N`, `perf_K`, `vote_K` for 1 and K orders, and `prior_X` by letter."""
        self._begin()
        rows = score_rows(self, predictions, references, _read_reference)
        option_counts = {len(row.order) for row in rows}
        if len(option_counts) > 1:
            raise AuthorError(
                Problem(
                    "METRIC-002",
                    f"CircularEvaluator: rows have {' and '.join(map(str, sorted(option_counts)))} options",
                    "split the dataset so that all questions have the same number of options",
                )
            )
        letters = tuple(sorted(rows[0].order))
        sets = {len(letters): rotations(letters), 1: [letters]}
        self.correct_by = f"acc_{len(letters)}"
        values: dict[str, float] = {}
        for n, orders in sets.items():
            values |= self._accuracy(f"acc_{n}", rows, orders, len(letters) / n)
        for n in sorted(sets):
            names = {least: f"more_{n}_{least}" for least in range(n + 1)}
            values |= self._score_questions(rows, sets[n], names)
        for n in sorted(sets):
            values |= self._score_questions(rows, sets[n], {n: f"perf_{n}"})
        answers = [to_text(one).strip() for one in predictions]
        for n, orders in sets.items():
            values |= self._vote(f"vote_{n}", rows, orders, answers, references)
        for letter in (*letters, _NO_OPTION):
            results = [float((one if one in letters else _NO_OPTION) == letter) for one in answers]
            values |= self._build_metrics(f"prior_{letter}", [(one, 1.0) for one in results], results)
        return values

    def _accuracy(
        self, name: str, rows: Sequence[OrderedAnswer], orders: Sequence[OptionOrder], fold: float
    ) -> dict[str, float]:
        if not self.is_faithful:
            return self._score_rows(name, rows, orders)
        right = [float(row.is_right) for row in rows]
        within = [one if row.order in orders else 0.0 for one, row in zip(right, rows, strict=True)]
        return self._build_metrics(name, [(one, 1 / fold) for one in within], right)

    def _vote(
        self,
        name: str,
        rows: Sequence[OrderedAnswer],
        orders: Sequence[OptionOrder],
        answers: Sequence[str],
        references: Sequence[EvaluatedRow],
    ) -> dict[str, float]:
        """Return the share of questions with a correct majority answer, in terms of the original options."""
        complete = self._group_by_question(rows, orders)
        letters = sorted(rows[0].order)
        votes: dict[Hashable, list[str]] = {}
        right: dict[Hashable, str] = {}
        for row, answer, reference in zip(rows, answers, references, strict=True):
            if row.order not in orders or row.question not in complete:
                continue
            original = dict(zip(letters, row.order, strict=True))
            votes.setdefault(row.question, []).append(original.get(answer, _NO_OPTION))
            right[row.question] = original[str(reference.gold).split("--")[1]]
        results = {question: majority(given) == right[question] for question, given in votes.items()}
        return self._spread_over_rows(name, rows, orders, results)


def _original_order(rows: Sequence[OrderedAnswer]) -> OptionOrder:
    """Return the order that most questions start with: the order of their first row, unless it failed."""
    firsts: dict[Hashable, OptionOrder] = {}
    for row in rows:
        firsts.setdefault(row.question, row.order)
    return majority(firsts.values())


def _read_reference(prediction: Any, row: EvaluatedRow) -> OrderedAnswer:
    parts = str(require_gold(row)).split("--")
    if len(parts) != _PARTS_OF_REFERENCE or parts[1] not in tuple(parts[2]):
        raise Misfit(
            f"the target is {row.gold!r:.60}; expected id--label--order, as in '7--C--BCDA'",
            "make the dataset's load return targets in this format",
        )
    question, label, order = parts
    return OrderedAnswer(question, tuple(order), to_text(prediction).strip() == label)
