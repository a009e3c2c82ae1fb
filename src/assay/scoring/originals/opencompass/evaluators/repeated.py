"""Several answers to each question: an evaluator over every run, and values over all runs.

An evaluator sees one answer to each row at a time; here a prediction is all answers to its row. Values over n
answers are computed for each question, never across questions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from assay.core.difference import Difference
from assay.core.score import JudgeReply
from assay.scoring.judges.binding import last_replies
from assay.scoring.metrics.checks import check_lengths
from assay.scoring.metrics.estimators import g_pass_at_k, mg_pass_at_k, pass_at_k
from assay.scoring.metrics.list_metric import MetricUnit, get_unit
from assay.scoring.metrics.pass_at_k import too_few_samples
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, Evaluator

OriginalSystem = Literal["opencompass", "aisbench"]

THRESHOLDS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The shares of k answers that G-Pass@k requires to be right."""
_PERCENT = 100.0
_SHARE = MetricUnit(_PERCENT, is_share=True)
_OWN_SCALE = MetricUnit(1.0, is_share=False)

REPEATED_DIFFERENCES: Mapping[str, Difference[object]] = {
    "several runs": Difference(
        "an evaluator without row results reports only the value of the last run",
        "it reports the mean of all runs, like every other evaluator",
    ),
    "answers to one question": Difference(
        "AISBench mixes answers to different questions in pass@k and cons@k: thirty questions, "
        "half of them always right, have pass@5 = 100 %",
        "answers to one question are grouped: the example has 50 %",
    ),
    "cons@k": Difference(
        "AISBench checks whether more than k/2 of all n answers are right",
        "the chance that more than half of k answers are right; with k = n the two are the same",
    ),
    "k above n": Difference(
        "G-Pass@k is 0 and pass@k is 1 if fewer than k answers were requested (with `faithful` "
        "also an error)",
        "an error, before the run",
    ),
    "a failed answer": Difference(
        "AISBench counts it as wrong, OpenCompass stops (with `faithful` such a row fails)",
        "a row counts with the answers it has; with fewer than the largest k it fails",
    ),
    "parts of a dataset": Difference(
        "OpenCompass also shows the values for k under `part/name`, which is the whole dataset",
        "it is shown once",
    ),
}
"""Differences from the originals with several answers, unless faithful."""


class _RunResults:
    """An evaluator's results for all runs."""

    def __init__(self, n_rows: int) -> None:
        self.values: dict[str, list[float]] = {}
        """For each name, the values of the runs."""
        self.means: dict[str, bool] = {}
        """For each name, whether its value was the mean of its rows in every run."""
        self.lists: dict[str, list[list[float]]] = {}
        """For each name and row, the value of each answer."""
        self.ratios: dict[str, list[list[tuple[float, float]]]] = {}
        self.intervals: dict[str, list[tuple[float, float]]] = {}
        self.units: dict[str, MetricUnit] = {}
        self.replies: list[tuple[JudgeReply, ...]] = [()] * n_rows
        """The judge's replies about each row, in all runs."""
        self.correct: list[list[float]] | None = [[] for _ in range(n_rows)]
        self.details: list[tuple[dict[str, Any], ...]] = [()] * n_rows
        """The evaluator's details of each row's answers."""
        self._n_rows = n_rows
        self._warned: set[str] = set()
        self._n_runs = 0

    def add(
        self,
        evaluator: Evaluator,
        values: Mapping[str, float],
        rows: Sequence[int],
        compared: Sequence[tuple[Any, EvaluatedRow]],
    ) -> None:
        """Add the latest call of an evaluator: which answers to which rows it compared with what."""
        self._n_runs += 1
        for row, details in zip(rows, _get_details(evaluator, compared), strict=True):
            self.details[row] += details
        for row, replies in zip(rows, last_replies(evaluator, len(rows)), strict=True):
            self.replies[row] += tuple(
                msgspec.structs.replace(one, about=f"answer {self._n_runs}, {one.about}") for one in replies
            )
        for name, value in values.items():
            unit = get_unit(evaluator, name)
            self._count(name, unit, is_zero=not value)
            self.values.setdefault(name, []).append(float(value))
            own = evaluator.last_score_lists.get(name, [])
            self.means[name] = self.means.get(name, True) and _is_mean(
                evaluator, name, own, value / unit.scale
            )
            self._place(self.lists, name, rows, own)
            self._place(self.ratios, name, rows, evaluator.last_ratios.get(name, []))
            if name in evaluator.last_intervals:
                self.intervals.setdefault(name, []).append(evaluator.last_intervals[name])
        correct = evaluator.last_correct
        if correct is None or self.correct is None:
            self.correct = None
            return
        for row, one in zip(rows, correct, strict=True):
            self.correct[row].append(one)

    def _count(self, name: str, unit: MetricUnit, *, is_zero: bool) -> None:
        """Take the unit of a run's value; a value of 0 is 0 on any scale, so it reveals none."""
        known = self.units.setdefault(name, unit)
        if not is_zero and name not in self._warned:
            self.units[name] = unit
            self._warned.add(name)
        elif not is_zero and known != unit:
            self.units[name] = _OWN_SCALE

    def _place(
        self, by_name: dict[str, list[list[Any]]], name: str, rows: Sequence[int], own: Sequence[Any]
    ) -> None:
        if len(own) != len(rows):
            return
        by_row = by_name.setdefault(name, [[] for _ in range(self._n_rows)])
        for row, one in zip(rows, own, strict=True):
            by_row[row].append(one)


def _get_details(
    evaluator: Evaluator, compared: Sequence[tuple[Any, EvaluatedRow]]
) -> Sequence[tuple[dict[str, Any], ...]]:
    """Return the details of each row in the latest call: the evaluator's own, else as the originals do."""
    correct = evaluator.last_correct
    if len(evaluator.last_details) == len(compared):
        return evaluator.last_details
    if correct is None:
        return [()] * len(compared)
    return [
        ({"pred": answer, "answer": row.gold, "correct": bool(one) and not math.isnan(one)},)
        for (answer, row), one in zip(compared, correct, strict=True)
    ]


def _is_mean(evaluator: Evaluator, name: str, own: Sequence[float], value: float) -> bool:
    known = [one for one in own if not math.isnan(one)]
    if not known or name in evaluator.corpus_values or name in evaluator.last_ratios:
        return False
    return math.isclose(math.fsum(known) / len(known), value, rel_tol=1e-9, abs_tol=1e-12)


class RepeatedEvaluator(Evaluator):
    """An evaluator over n answers to each row.

    Returns the mean of every value over the runs. If the evaluator reports which answers are right, and a k
    above 1 is requested, it also returns for each k the unbiased estimates from n answers: `pass@k`,
    `cons@k`, `G-Pass@k_T` and `mG-Pass@k`; and `avg@n`, the share of right answers.
    """

    takes_samples: ClassVar[bool] = True

    def __init__(
        self,
        evaluator: Evaluator,
        n: int,
        ks: Sequence[int],
        *,
        is_faithful: bool = False,
        system: OriginalSystem = "opencompass",
    ) -> None:
        """Wrap an evaluator; `system` selects the names and grouping of the faithful mode."""
        super().__init__(is_faithful=is_faithful)
        if n < 1 or not ks or min(ks) < 1:
            raise ValueError(f"n is {n} and k is {list(ks)!r}; expected whole numbers of at least 1")
        self._evaluator = evaluator
        self._n = n
        self._ks = tuple(dict.fromkeys(ks))
        self._system = system
        self._notes: tuple[str, ...] = ()
        self.last_replies: list[tuple[JudgeReply, ...]] = []
        """The judge's replies about each row in the latest call, for all of its answers."""
        self.units: dict[str, MetricUnit] = {}
        self.label = getattr(evaluator, "label", type(evaluator).__name__)
        """The evaluator's display name."""
        self.check_plan(n)

    @property
    def is_costly(self) -> bool:
        """Whether the evaluator is called only once."""
        return bool(getattr(self._evaluator, "is_costly", False))

    @property
    def file(self) -> str | None:
        """The file of an author's evaluator."""
        return getattr(self._evaluator, "file", None)

    def __getattr__(self, name: str) -> Any:
        # An evaluator with a judge inside has `bind`; one without has no such method.
        if name in ("bind", "needs_judge"):
            return getattr(self._evaluator, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def check_plan(self, n_samples: int) -> None:
        """Raise if k answers cannot be estimated from this number of answers."""
        if max(self._ks) > n_samples:
            raise too_few_samples(max(self._ks), n_samples, "")
        self._evaluator.check_plan(1)

    def setup_metric(self, *args: Any, **kwargs: Any) -> None:
        """Pass on the run's context."""
        self._evaluator.setup_metric(*args, **kwargs)

    def notes(self) -> Sequence[str]:
        """Return the evaluator's notes on its last run, and why values for k may be missing."""
        return (*self._evaluator.notes(), *self._notes)

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return the values over all runs. A prediction is the tuple of its row's answers, at most n."""
        check_lengths(self, predictions, references)
        answers = [tuple(one) if isinstance(one, list | tuple) else (one,) for one in predictions]
        self.last_score_lists = {}
        self.last_ratios.clear()
        self.last_intervals.clear()
        self.last_details = []
        self.units = {}
        self._notes = ()
        self.__dict__["higher_is_better"] = self._evaluator.higher_is_better
        if self._n == 1 or (self.is_faithful and not self._evaluator.has_details):
            return self._score_single_run([one[-1:] for one in answers], references)
        runs = self._runs(answers, references)
        self.last_replies = runs.replies
        self.last_details = runs.details if any(runs.details) else []
        is_usable = self._find_usable_rows(answers, runs)
        values = self._average_runs(runs, is_usable)
        if runs.correct is None and max(self._ks) > 1:
            self._notes = (f"{self.label} does not report which answers are right, so there is no pass@k",)
        if runs.correct is not None and max(self._ks) > 1:
            values |= self._score_k_answers(
                self._group_answers(runs.correct), is_usable, _find_dataset_part(references)
            )
        return values

    def _score_single_run(
        self, answers: Sequence[tuple[Any, ...]], references: Sequence[EvaluatedRow]
    ) -> dict[str, float]:
        """Return the evaluator's values for one run, under its own names."""
        found = self._evaluator([one[0] if one else None for one in answers], references)
        self.last_score_lists = self._evaluator.last_score_lists
        self.last_replies = last_replies(self._evaluator, len(references))
        self.last_details = self._evaluator.last_details
        self.last_ratios.update(self._evaluator.last_ratios)
        self.last_intervals.update(self._evaluator.last_intervals)
        self.units = {name: get_unit(self._evaluator, name) for name in found}
        return found

    def _runs(self, answers: Sequence[tuple[Any, ...]], references: Sequence[EvaluatedRow]) -> _RunResults:
        runs = _RunResults(len(answers))
        for run in range(max(map(len, answers))):
            rows = [row for row, own in enumerate(answers) if len(own) > run]
            compared = [(answers[row][run], references[row]) for row in rows]
            found = self._evaluator([one for one, _ in compared], [row for _, row in compared])
            runs.add(self._evaluator, found, rows, compared)
        return runs

    def _find_usable_rows(self, answers: Sequence[tuple[Any, ...]], runs: _RunResults) -> list[bool]:
        """Return which rows have enough answers that arrived and were judged."""
        least = self._n if self.is_faithful else max(self._ks)
        if runs.correct is None:
            return [len(own) >= (self._n if self.is_faithful else 1) for own in answers]
        return [len(_drop_missing(own)) >= least for own in runs.correct]

    def _average_runs(self, runs: _RunResults, is_usable: Sequence[bool]) -> dict[str, float]:
        values = {}
        for name, by_run in runs.values.items():
            title = self._title(name)
            unit = self.units[title] = runs.units[name]
            own = (
                [
                    _mean(row) if usable else math.nan
                    for row, usable in zip(runs.lists[name], is_usable, strict=True)
                ]
                if name in runs.lists
                else None
            )
            if own is not None:
                self.last_score_lists = {**self.last_score_lists, title: own}
            if name in runs.ratios:
                shares = [
                    (math.fsum(one for one, _ in row), math.fsum(size for _, size in row))
                    if usable
                    else (0.0, 0.0)
                    for row, usable in zip(runs.ratios[name], is_usable, strict=True)
                ]
                self.last_ratios[title] = shares
                below = math.fsum(size for _, size in shares)
                values[title] = (
                    unit.scale * math.fsum(one for one, _ in shares) / below if below else math.nan
                )
            elif own is not None and runs.means[name]:
                values[title] = unit.scale * _mean(own)
            else:
                values[title] = _mean(by_run)
                if len(runs.intervals.get(name, ())) == len(by_run):
                    # Runs share their rows, so more runs do not narrow the interval as much.
                    lows, highs = zip(*runs.intervals[name], strict=True)
                    self.last_intervals[title] = (_mean(lows), _mean(highs))
        return values

    def _title(self, name: str) -> str:
        if self.is_faithful and self._system == "aisbench" and name == "pass@1":
            name = "accuracy"
        return f"{name} ({self._n} runs average)"

    def _group_answers(self, correct: Sequence[Sequence[float]]) -> Sequence[Sequence[float]]:
        """Return the answers that count together, for each row."""
        if not (self.is_faithful and self._system == "aisbench") or len({*map(len, correct)}) > 1:
            return correct
        # AISBench lists all first answers, then all second ones, and takes n in a row as one question.
        n = len(correct[0])
        laid = [row[run] for run in range(n) for row in correct]
        return [laid[row * n : (row + 1) * n] for row in range(len(correct))]

    def _score_k_answers(
        self, correct: Sequence[Sequence[float]], is_usable: Sequence[bool], part: str | None
    ) -> dict[str, float]:
        """Return the values for each k; with `faithful` also over the subset of the dataset."""
        by_row = [
            self._score_row(_drop_missing(row)) if usable else None
            for row, usable in zip(correct, is_usable, strict=True)
        ]
        names = next((row for row in by_row if row is not None), {})
        lists = {name: [math.nan if row is None else row[name] for row in by_row] for name in names}
        if part is not None and self.is_faithful and self._system == "opencompass":
            lists = {f"{part}/{name}": values for name, values in lists.items()} | lists
        self.last_score_lists = {**self.last_score_lists, **lists}
        self.units = {**self.units, **dict.fromkeys(lists, _SHARE)}
        return {name: _PERCENT * _mean(values) for name, values in lists.items()}

    def _score_row(self, correct: Sequence[float]) -> dict[str, float]:
        n, right = len(correct), int(sum(correct))
        values: dict[str, float] = {}
        if not self.is_faithful or self._system == "aisbench":
            values[f"avg@{self._n}"] = right / n
            for k in self._ks:
                values[f"pass@{k}"] = pass_at_k(n, right, k)
                values[f"cons@{k}"] = self._consensus(n, right, k)
        if self._system == "opencompass":
            for k in self._ks:
                for threshold in THRESHOLDS:
                    values[f"G-Pass@{k}_{threshold}"] = g_pass_at_k(n, right, k, threshold)
                values[f"mG-Pass@{k}"] = mg_pass_at_k(n, right, k)
        return values

    def _consensus(self, n: int, right: int, k: int) -> float:
        if self.is_faithful:
            return float(right > k / 2)
        return g_pass_at_k(n, right, k, (k // 2 + 1) / k)


def _find_dataset_part(references: Sequence[EvaluatedRow]) -> str | None:
    """Return the dataset subset that rows belong to, by OpenCompass's name."""
    first = references[0].fields.get("subdivision") if references else None
    return first.partition("_")[0] if isinstance(first, str) else None


def _drop_missing(values: Sequence[float]) -> list[float]:
    return [one for one in values if not math.isnan(one)]


def _mean(values: Sequence[float]) -> float:
    """Return the mean of the known values; NaN if there are none."""
    known = _drop_missing(values)
    return math.fsum(known) / len(known) if known else math.nan
