"""Calls metrics over whole lists and collects their values, row values and failures.

A metric is anything that can be called with two lists; this module knows neither samples nor runs.
"""

from __future__ import annotations

import math
import random
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from assay.core.errors import (
    AssayError,
    PlanError,
    Problem,
    UsageError,
    calling_author,
    describe_exception,
    listing,
)
from assay.core.origin import Origin
from assay.core.score import JudgeReply, Ratio, Verdict
from assay.scoring.judges.binding import last_replies
from assay.scoring.metrics.list_metric import get_unit

_N_RESAMPLES = 200
_MAX_RESAMPLED = 50_000
"""The maximum number of rows that resampling may score in total; above it, a value has no interval."""
_MAX_RESAMPLING_S = 60.0
"""The maximum seconds of resampling, estimated from its first draw: a metric may call a service for each row.
"""

PlacedT = TypeVar("PlacedT")


class ListValues(NamedTuple):
    """The results of all metrics."""

    per_row: dict[str, list[float | None]]
    """For each name, the value of each row, None for a row with a problem. Some metrics have no row values.
    """
    whole: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    """For each name whose metric computes it: the 95 % interval of the value over all rows."""
    ratios: dict[str, list[Ratio | None]]
    """For each name that is a ratio of two sums over the rows: the rows' parts of both."""
    counts: dict[str, list[float | None]]
    """For each name that is a sum over the rows: the rows' parts."""
    owners: dict[str, Any]
    """The metric that each name comes from."""
    lower_is_better: frozenset[str]
    off_scale: frozenset[str]
    """Names of metrics that are not shares."""
    troubles: dict[int, str]
    """Rows that a metric could not judge, and why."""
    replies: dict[int, tuple[JudgeReply, ...]]
    """The judge's replies about rows, for all metrics that use one."""
    details: dict[int, tuple[dict[str, Any], ...]]
    """Row details from evaluators, by their own names."""
    lost: dict[str, str]
    """Names of metrics without a value over all rows, and why: they raised, or returned nan."""
    deciding: str | None
    """The first metric that was called, even if it failed; None if there is none."""

    def is_mean(self, name: str) -> bool:
        """Whether a metric is the mean of its row values."""
        if name in getattr(self.owners[name], "corpus_values", ()):
            return False
        known = [one for one in self.per_row.get(name, ()) if one is not None]
        if not known:
            return False
        return math.isclose(math.fsum(known) / len(known), self.whole[name], rel_tol=1e-9, abs_tol=1e-12)


def evaluate_metrics(
    metrics: Sequence[Any],
    predictions: Sequence[Any],
    references: Sequence[Any],
    wanted: Sequence[str] = (),
) -> ListValues:
    """Call metrics over lists; a row on which one raises is found and left out.

    `wanted` lists the names to report, in order; None means all. A metric without any of them is ignored,
    even if it fails.
    """
    per_row: dict[str, list[float | None]] = {}
    whole: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    ratios: dict[str, list[Ratio | None]] = {}
    counts: dict[str, list[float | None]] = {}
    owners: dict[str, Any] = {}
    lower: set[str] = set()
    off_scale: set[str] = set()
    troubles: dict[int, str] = {}
    replies: dict[int, tuple[JudgeReply, ...]] = {}
    details: dict[int, tuple[dict[str, Any], ...]] = {}
    put_off: list[AssayError] = []
    lost: dict[str, str] = {}
    deciding: str | None = None
    for metric in metrics if predictions else ():
        rows = [at for at in range(len(predictions)) if at not in troubles]
        try:
            found, fresh = _call_over_rows(metric, predictions, references, rows)
        except AssayError as error:
            # Its names are unknown: one of them may be wanted.
            put_off.append(error)
            lost[_metric_name(metric)] = str(error)
            deciding = deciding or _metric_name(metric)
            continue
        names = [name for name in found if not wanted or name in wanted]
        if not names:
            continue
        lost |= {name: f"{_get_label(metric)} returned nan" for name in names if math.isnan(found[name])}
        troubles |= fresh
        rows = [at for at in rows if at not in fresh]
        troubles |= _find_unjudged_rows(metric, rows)
        # Copied before the metric is called again with single rows.
        replies |= _collect_replies(metric, rows, replies)
        row_details = getattr(metric, "last_details", ())
        details |= dict(zip(rows, row_details, strict=True)) if len(row_details) == len(rows) else {}
        parts = dict(getattr(metric, "last_ratios", {}))
        sums = dict(getattr(metric, "last_counts", {}))
        intervals |= {name: known for name in names if (known := own_interval(metric, name)) is not None}
        lists = _row_values(metric, predictions, references, rows, names)
        for name in names:
            unit = get_unit(metric, name)
            whole[name] = found[name] / unit.scale
            owners[name] = metric
            if not getattr(metric, "higher_is_better", True):
                lower.add(name)
            if not unit.is_share:
                off_scale.add(name)
            if len(sums.get(name, ())) == len(rows):
                counts[name] = _place_values(sums[name], rows, len(predictions))
            if name in lists:
                per_row[name] = _place_values(lists[name], rows, len(predictions))
                troubles = _find_missing_numbers(metric, name, rows, per_row[name]) | troubles
            if len(parts.get(name, ())) == len(rows):
                shares = [Ratio(*one) for one in parts[name]]
                ratios[name] = _place_values(shares, rows, len(predictions))
        deciding = deciding or next((name for name in names if name in per_row), names[0])
    if put_off and not whole and not wanted:
        raise put_off[0]
    if lacking := [name for name in wanted if name not in whole and predictions]:
        # A metric requested by name that cannot be computed is not the dataset's fault.
        raise UsageError(put_off[0].problems) if put_off else _no_such_metric(lacking[0], metrics)
    return ListValues(
        _order_names(per_row, wanted),
        _order_names(whole, wanted),
        intervals,
        ratios,
        counts,
        owners,
        frozenset(lower),
        frozenset(off_scale),
        troubles,
        replies,
        details,
        {name: why for name, why in lost.items() if not wanted or name in wanted},
        wanted[0] if wanted else deciding,
    )


def _call_over_rows(
    metric: Any, predictions: Sequence[Any], references: Sequence[Any], rows: Sequence[int]
) -> tuple[dict[str, float], dict[int, str]]:
    """Return a metric's values over all rows it accepts, and why it rejects the others."""
    try:
        return _call_metric(metric, predictions, references, rows), {}
    except Exception as error:
        fresh = _raising_rows(metric, predictions, references, rows)
        if not fresh or len(fresh) == len(rows):
            # Not caused by a row: it would fail on any.
            raise error if isinstance(error, AssayError) else _metric_problem(metric, error) from error
        try:
            return _call_metric(
                metric, predictions, references, [at for at in rows if at not in fresh]
            ), fresh
        except Exception as again:
            raise _metric_problem(metric, again) from again


def _no_such_metric(name: str, metrics: Sequence[Any]) -> UsageError:
    known = listing(map(_get_label, metrics))
    what = f"the dataset's own code reports no metric {name!r}; its metrics are {known}"
    return UsageError(Problem("RESCORE-003", what, "`assay score RUN` without options shows what it reports"))


def _order_names(placed: dict[str, PlacedT], wanted: Sequence[str]) -> dict[str, PlacedT]:
    return {name: placed[name] for name in wanted if name in placed} if wanted else placed


def _place_values(values: Sequence[PlacedT | None], rows: Sequence[int], n: int) -> list[PlacedT | None]:
    """Return the values of some rows at their positions among all rows, None elsewhere."""
    by_row = dict(zip(rows, values, strict=True))
    return [by_row.get(at) for at in range(n)]


def _find_missing_numbers(
    metric: Any, name: str, rows: Sequence[int], values: Sequence[float | None]
) -> dict[int, str]:
    why = f"the metric {_get_label(metric)} returned no number for {name}"
    return {at: why for at in rows if values[at] is None}


def _find_unjudged_rows(metric: Any, rows: Sequence[int]) -> dict[int, str]:
    """Return the rows without a verdict from the judge; they are not scored as wrong answers."""
    verdicts = getattr(metric, "last_verdicts", ())
    if len(verdicts) != len(rows):
        return {}
    return {
        at: f"no verdict from the judge: {one.why}"
        for at, one in zip(rows, verdicts, strict=True)
        if one.verdict is not Verdict.SCORED
    }


def _collect_replies(
    metric: Any, rows: Sequence[int], before: Mapping[int, tuple[JudgeReply, ...]]
) -> dict[int, tuple[JudgeReply, ...]]:
    """Return the judge's replies about rows, appended to those for other metrics."""
    row_replies = zip(rows, last_replies(metric, len(rows)), strict=True)
    return {at: (*before.get(at, ()), *replies) for at, replies in row_replies}


class _NoNumbers(Exception):
    """A metric returned something other than names and numbers."""


def _call_metric(
    metric: Any, predictions: Sequence[Any], references: Sequence[Any], rows: Sequence[int]
) -> dict[str, float]:
    with calling_author("it"):
        returned = metric([predictions[at] for at in rows], [references[at] for at in rows])
    if not isinstance(returned, Mapping):
        raise _NoNumbers(f"returned {type(returned).__name__}, expected a dict of names and numbers")
    try:
        return {str(name): float(value) for name, value in returned.items()}
    except (TypeError, ValueError):
        raise _NoNumbers(f"returned {returned!r:.80}, expected a number for each name") from None


def _row_values(
    metric: Any,
    predictions: Sequence[Any],
    references: Sequence[Any],
    rows: Sequence[int],
    names: Sequence[str],
) -> dict[str, list[float | None]]:
    """Return the row values: those the metric stored, else those of one of Assay's own metrics.

    An author's metric is never called with single rows: the original calls it with all rows, and it may have
    no value for one row, like a correlation.
    """
    lists = dict(getattr(metric, "last_score_lists", None) or {})
    by_name: dict[str, list[float | None]] = {}
    for name in names:
        given = lists.get(name)
        if given is not None and len(given) == len(rows):
            by_name[name] = [_number(one) for one in given]
    # A sum over the rows is not a row value.
    missing = [
        name for name in names if name not in by_name and name not in getattr(metric, "last_counts", ())
    ]
    if missing and getattr(metric, "scores_single_rows", False):
        try:
            alone = [_call_metric(metric, predictions, references, [at]) for at in rows]
        except Exception:  # noqa: BLE001 (it took all rows together: it has nothing to say of one alone)
            return by_name
        for name in missing:
            values = [_number(one.get(name)) for one in alone]
            if None not in values:
                scale = get_unit(metric, name).scale
                by_name[name] = [one / scale for one in values if one is not None]
    return by_name


def is_costly(metric: Any) -> bool:
    """Whether a metric is called only once over all rows, never for single rows or an interval."""
    return bool(getattr(metric, "is_costly", False))


def _metric_name(metric: Any) -> str:
    """Return the name under which a metric that raised is reported."""
    return str(getattr(metric, "name", type(metric).__name__))


def _get_label(metric: Any) -> str:
    """Return the author's name of a metric: its own label, else its class."""
    return str(getattr(metric, "label", type(metric).__name__))


def _raising_rows(
    metric: Any, predictions: Sequence[Any], references: Sequence[Any], rows: Sequence[int]
) -> dict[int, str]:
    troubles = {}
    for at in rows:
        try:
            _call_metric(metric, predictions, references, [at])
        except Exception as error:  # noqa: BLE001 (reported as that row's failure)
            # It received one row, which its own message calls the first.
            place = _find_raising_line(metric, error)
            where = f" ({place})" if place is not None and place.line else ""
            troubles[at] = _describe_error(metric, error).replace(", row 1:", ":") + where
    return troubles


def _describe_error(metric: Any, error: Exception) -> str:
    what = str(error) if isinstance(error, _NoNumbers) else f"raised {describe_exception(error)}"
    return f"the metric {_get_label(metric)} {what}"


def _metric_problem(metric: Any, error: Exception) -> PlanError:
    return PlanError(
        Problem(
            "SCORE-003",
            _describe_error(metric, error),
            "correct the metric or its references, and run again: the model's answers are kept",
            _find_raising_line(metric, error),
        )
    )


def _find_raising_line(metric: Any, error: Exception) -> Origin | None:
    """Return the line in the metric's own file that raised."""
    file = getattr(metric, "file", None)
    if file is None:
        file = getattr(sys.modules.get(type(metric).__module__), "__file__", None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return Origin(file, line=lines[-1] if lines else None) if file else None


def whole_value(
    metric: Any, name: str, predictions: Sequence[Any], references: Sequence[Any]
) -> float | None:
    """Return a metric over some rows; None if it has no value, like a correlation over equal rows."""
    if not predictions:
        return None
    try:
        with warnings.catch_warnings():
            # Warnings were already shown during the call over all rows.
            warnings.simplefilter("ignore")
            value = _number(_call_metric(metric, predictions, references, range(len(predictions))).get(name))
    except Exception:  # noqa: BLE001 (these rows were taken before, among others)
        return None
    return None if value is None else value / get_unit(metric, name).scale


def own_interval(metric: Any, name: str) -> tuple[float, float] | None:
    """Return the 95 % interval that the latest call computed itself; None if it has none."""
    known = getattr(metric, "last_intervals", {}).get(name)
    if known is None:
        return None
    scale = get_unit(metric, name).scale
    return known[0] / scale, known[1] / scale


def resample_interval(
    metric: Any, name: str, predictions: Sequence[Any], references: Sequence[Any]
) -> tuple[float | None, float | None]:
    """Return a 95 % interval from rows drawn with replacement; None if that would take too long."""
    n = len(predictions)
    if n < 2 or n * _N_RESAMPLES > _MAX_RESAMPLED or is_costly(metric):
        return None, None
    draw = random.Random("resampled rows")
    found: list[float] = []
    started_s = monotonic()
    for _ in range(_N_RESAMPLES):
        rows = [draw.randrange(n) for _ in range(n)]
        drawn = [predictions[row] for row in rows], [references[row] for row in rows]
        value = whole_value(metric, name, *drawn)
        if value is None or (not found and (monotonic() - started_s) * _N_RESAMPLES > _MAX_RESAMPLING_S):
            return None, None
        found.append(value)
    found.sort()
    edge = max(0, round(_N_RESAMPLES * 0.025) - 1)
    return found[edge], found[-edge - 1]


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)
