"""An author's own evaluator: an object with `score(predictions, references, ...) -> dict`.

It is called once with all rows that have an answer. Its `details` become the rows' values; its overall
numbers are shown unchanged, on the author's own scale.
"""

from __future__ import annotations

import copy
import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, overload

import msgspec

from assay.core.errors import AuthorError, Problem, calling_author, listing, suggest_name
from assay.core.metric_order import rank_metric
from assay.core.origin import Origin
from assay.scoring.metrics.checks import check_lengths
from assay.scoring.metrics.list_metric import MetricUnit
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, Evaluator


class RowTable(Sequence[dict[str, Any]]):
    """A table that can be read by row and by column."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows = [dict(row) for row in rows]

    @property
    def column_names(self) -> list[str]:
        """The columns, in order."""
        return list(dict.fromkeys(name for row in self._rows for name in row))

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    @overload
    def __getitem__(self, key: slice) -> Any: ...

    def __getitem__(self, key: int | str | slice) -> Any:
        if isinstance(key, str):
            if key not in self.column_names:
                raise KeyError(f"there is no column {key!r}; there are {self.column_names!r}")
            return [row.get(key) for row in self._rows]
        if isinstance(key, slice):
            # As in `datasets`: a slice of a table is a dict of its columns.
            return {name: [row.get(name) for row in self._rows[key]] for name in self.column_names}
        return dict(self._rows[key])

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(row) for row in self._rows)

    def select(self, indices: Iterable[int]) -> RowTable:
        """Return some rows."""
        return RowTable(self._rows[index] for index in indices)

    def to_list(self) -> list[dict[str, Any]]:
        """Return all rows."""
        return list(self)


_PERCENT = MetricUnit(100.0, is_share=True)
_OWN_SCALE = MetricUnit(1.0, is_share=False)
_CORRECT = ("correct", "is_correct", "cascade_correct")
"""Names in `details` for whether a row is correct; the first one present counts."""
_SHARES_OF_ROWS = ("acc", "accuracy", "em", "exact_match", "exact-match", "pass@1")
"""Names of values that may be a rounded share of rows, also with words before or after them."""


class AuthorEvaluator(Evaluator):
    """Wraps an author's object as a metric.

    `score` receives what its signature names: `predictions`, `references`, `test_set`, `origin_prompt`, or
    anything that the inferencer recorded for every answer.
    """

    is_costly: ClassVar[bool] = True
    has_details: ClassVar[bool] = True

    def __init__(
        self,
        author: Any,
        file: str | None = None,
        *,
        test_set: Callable[[Sequence[Mapping[str, Any]]], Any] = RowTable,
        is_faithful: bool = False,
    ) -> None:
        """Take an author's object; `file` is its location, `test_set` builds the table for `score`."""
        super().__init__(is_faithful=is_faithful)
        self.file = file
        self.label = type(author).__name__
        """The author's name for it."""
        self._author = author
        self._test_set = test_set
        self._notes: list[str] = []
        score = getattr(author, "score", None)
        if not callable(score):
            raise self._problem("has no method `score`", "define score(self, predictions, references)")
        self._score: Callable[..., Any] = score
        self._parameters = inspect.signature(score).parameters.values()
        self.units = {}

    def __call__(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, float]:
        """Return the numbers that `score` returns."""
        check_lengths(self, predictions, references)
        self._notes = []
        self.last_score_lists = {}
        self.last_intervals.clear()
        self.last_details = []
        returned = self._call_score(predictions, references)
        details = self._details(returned, len(predictions))
        values = {str(name): value for name, value in returned.items() if name != "details"}
        # The first value decides, unless details support another: the first in the originals' tables.
        found = dict(sorted(self._numbers(values).items(), key=lambda one: rank_metric(one[0])))
        correct = self._read_correct(details)
        self.last_details = _plain_details(details)
        self.units = {name: self._choose_unit(name, values[name], correct) for name in found}
        self._keep(found, correct)
        return found

    def notes(self) -> Sequence[str]:
        """Return notes about returned values that were left out."""
        return tuple(self._notes)

    def _call_score(
        self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]
    ) -> Mapping[str, Any]:
        with calling_author("score"):
            returned = self._score(**self._arguments(predictions, references))
        if not isinstance(returned, Mapping):
            raise self._problem(
                f"score returned {type(returned).__name__}, expected a dict of names and numbers",
                'return {"accuracy": 100 * right / len(predictions)}',
            )
        if "error" in returned and _number(returned["error"]) is None:
            raise self._problem(
                f"score returned an error: {returned['error']}", "fix the reported problem, and run again"
            )
        return returned

    def _arguments(self, predictions: Sequence[Any], references: Sequence[EvaluatedRow]) -> dict[str, Any]:
        """Return the arguments in the signature of `score`."""
        known: dict[str, Callable[[], Any]] = {
            "predictions": lambda: [_prediction(one) for one in predictions],
            # Copies: changes by the author's code must not affect the rows of the next call.
            "references": lambda: [copy.deepcopy(row.gold) for row in references],
            "test_set": lambda: self._test_set([copy.deepcopy(dict(row.fields)) for row in references]),
            "origin_prompt": lambda: [row.prompt for row in references],
        }
        for name in _find_recorded_names(predictions):
            known.setdefault(name, lambda name=name: [one[name] for one in predictions])  # type: ignore[misc]
        known.setdefault("gold", known["references"])
        given: dict[str, Any] = {}
        for parameter in self._parameters:
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                given = {name: make() for name, make in known.items()} | given
            elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                continue
            elif parameter.name in known:
                given[parameter.name] = known[parameter.name]()
            elif parameter.default is inspect.Parameter.empty:
                raise self._problem(
                    f"score has the unknown parameter {parameter.name!r}"
                    f"{suggest_name(parameter.name, known)}; expected one of {listing(known)}",
                    "read it from test_set, which contains the whole rows, or give it a default",
                )
        return given

    def _details(self, returned: Mapping[str, Any], n: int) -> list[Any] | None:
        given = returned.get("details")
        if given is None:
            return None
        rows = _order_details(given, n) if isinstance(given, Mapping) else given
        if not isinstance(rows, list | tuple):
            raise self._problem(
                f"details is {type(given).__name__}, expected a list with an entry for each row",
                'return {"details": [{"correct": True}, ...], ...}',
            )
        if len(rows) != n:
            raise self._problem(
                f"details has {len(rows):,} entries for {n:,} rows",
                "return one entry for each prediction, in order",
            )
        return list(rows)

    def _numbers(self, values: Mapping[str, Any]) -> dict[str, float]:
        found = {name: number for name, value in values.items() if (number := _number(value)) is not None}
        left = [name for name in values if name not in found]
        if left:
            self._notes.append(
                f"{self.label} returned {listing(left)}, which are not numbers and are left out"
            )
        unknown = [name for name, number in found.items() if math.isnan(number)]
        if unknown:
            self._notes.append(f"{self.label} returned nan for {listing(unknown)}, so there is no value")
        if not found:
            raise self._problem(
                f"score returned no number, only {listing(values) or 'nothing'}",
                'return {"accuracy": 100 * right / len(predictions)}',
            )
        return found

    def _read_correct(self, details: Sequence[Any] | None) -> list[float] | None:
        if details is None:
            return None
        flags = [_is_correct(one) for one in details]
        known = [one for one in flags if one is not None]
        if 0 < len(known) < len(flags):
            self._notes.append(
                f"{self.label} reports only for {len(known):,} of {len(flags):,} rows "
                "whether they are right, so row results are not used"
            )
        return known if len(known) == len(flags) else None

    def _choose_unit(self, name: str, value: Any, correct: Sequence[float] | None) -> MetricUnit:
        """Return a value's unit: a share if the value is 100 times the share of correct rows.

        Any other value is shown as the author returned it, whatever its name and the number of rows.
        """
        if correct is not None and _is_of_rows(name, value, 100 * math.fsum(correct) / len(correct), 0):
            return _PERCENT
        return _OWN_SCALE

    def _keep(self, values: dict[str, float], correct: Sequence[float] | None) -> None:
        """Store the row values, and the exact number if the author rounded it."""
        self.correct_by = None
        if correct is None:
            return
        mean = math.fsum(correct) / len(correct)
        shares = [name for name in values if self.units[name].is_share]
        # A value between 0 and 1 keeps its scale, and the rows still support it.
        shares += [name for name in values if name not in shares and _is_of_rows(name, values[name], mean, 2)]
        # If no value is the mean of the rows, they are still known by row.
        self.correct_by = shares[0] if shares else _CORRECT[0]
        # If no row or every row is correct, a share of some rows has the same value by chance.
        borne_out = shares if 0.0 < mean < 1.0 else shares[:1]
        self.last_score_lists = dict.fromkeys(borne_out or [self.correct_by], correct)
        for name in borne_out:
            values[name] = self.units[name].scale * mean

    def _problem(self, what: str, fix: str) -> AuthorError:
        where = Origin(self.file) if self.file else None
        return AuthorError(Problem("SCORE-006", f"the evaluator {self.label}: {what}", fix, where))


def _order_details(details: Mapping[Any, Any], n: int) -> list[Any]:
    """Return the entries of rows numbered from 0, by number; any others unchanged."""
    numbered = {int(str(key)): one for key, one in details.items() if str(key).isdecimal()}
    # Besides the rows, the originals store the kind of the dataset as `type`.
    return [numbered[row] for row in range(n)] if numbered.keys() == set(range(n)) else list(details.values())


def _plain_details(details: Sequence[Any] | None) -> list[tuple[dict[str, Any], ...]]:
    """Return the details of each row as plain data; nothing unless every row has names and values."""
    if details is None or not all(isinstance(one, Mapping) for one in details):
        return []
    try:
        encoded = msgspec.json.encode([dict(one) for one in details], enc_hook=_to_plain)
    except (TypeError, ValueError, RecursionError):
        return []
    return [(one,) for one in msgspec.json.decode(encoded, type=list[dict[str, Any]])]


def _to_plain(value: Any) -> Any:
    """Return an array or number of another library as a Python value, and anything else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _prediction(recorded: Any) -> Any:
    """Return the answer itself from one that was recorded with more data."""
    return recorded["prediction"] if isinstance(recorded, Mapping) and "prediction" in recorded else recorded


def _find_recorded_names(predictions: Sequence[Any]) -> list[str]:
    """Return the data recorded for every answer."""
    if not all(isinstance(one, Mapping) for one in predictions):
        return []
    return [name for name in predictions[0] if all(name in one for one in predictions)]


def _number(value: Any) -> float | None:
    """Return a Python or numpy number; True is 1, and a text is none."""
    if hasattr(value, "item") and not isinstance(value, numbers.Number | bool):
        try:
            value = value.item()  # numpy's and torch's
        except (ValueError, RuntimeError):
            return None
    return float(value) if isinstance(value, numbers.Real | bool) else None


def _is_correct(detail: Any) -> float | None:
    if not isinstance(detail, Mapping):
        return None
    for name in _CORRECT:
        value = detail.get(name)
        if value is not None:
            number = _number(value)
            return float(bool(number)) if number is not None else None
    return None


def _is_share_name(name: str) -> bool:
    words = name.casefold().replace("_", " ").replace("-", " ").split()
    return name.casefold() in _SHARES_OF_ROWS or any(word in _SHARES_OF_ROWS for word in words)


def _is_of_rows(name: str, value: Any, exact: float, least_digits: int) -> bool:
    """Whether a value matches the rows: exactly, or rounded if its name is that of a share."""
    number = float(value)
    if isinstance(value, numbers.Integral) and not _is_share_name(name):
        return False
    if math.isclose(number, exact, rel_tol=1e-6, abs_tol=1e-9):
        return True
    digits = range(least_digits, least_digits + 5)
    return _is_share_name(name) and any(math.isclose(number, round(exact, one)) for one in digits)
