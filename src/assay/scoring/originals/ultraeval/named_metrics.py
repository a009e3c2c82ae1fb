"""Metrics in a task config: a display name, a registered type, options, and an aggregation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from assay.core.errors import listing, suggest_name

PASS_K = "pass_k"
AGGREGATIONS = (PASS_K, "mean")


class NamedMetric(NamedTuple):
    """One metric of a task."""

    display: str
    """The name under which its value is reported."""
    type: str
    """Its registered name."""
    options: dict[str, Any]
    aggregation: str | None = None
    """How several values of one row are combined; None leaves it to the metric."""


def read_metrics(
    metrics: Mapping[str, Mapping[str, Any]], known: Mapping[str, Callable[..., Any]]
) -> list[NamedMetric]:
    """Read configured metrics; if a name is unknown, raise a ValueError that lists the known ones.

    The options of a metric are the keyword arguments of the function that computes it.
    """
    if not metrics:
        raise ValueError(f"no metric is configured; expected at least one of {listing(known)}")
    return [_read_metric(display, dict(config), known) for display, config in metrics.items()]


def _read_metric(
    display: str, config: dict[str, Any], known: Mapping[str, Callable[..., Any]]
) -> NamedMetric:
    given = config.pop("type", None)
    if given is None:
        raise ValueError(f"the metric {display!r} has no type; expected one of {listing(known)}")
    type_ = str(given).lower()
    if type_ not in known:
        raise ValueError(
            f"unknown metric {given!r}{suggest_name(type_, known)}; expected one of {listing(known)}"
        )
    aggregation = config.pop("aggregation", None)
    if aggregation is not None and aggregation not in AGGREGATIONS:
        raise ValueError(
            f"the metric {display!r}: unknown aggregation {aggregation!r}"
            f"{suggest_name(str(aggregation), AGGREGATIONS)}; expected one of {listing(AGGREGATIONS)}"
        )
    parameters = inspect.signature(known[type_]).parameters.values()
    options = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    for name in config:
        if name not in options:
            expected = f"one of {listing(options)}" if options else "none"
            raise ValueError(
                f"the metric {type_!r} has no option {name!r}{suggest_name(name, options)}; "
                f"expected {expected}"
            )
    return NamedMetric(display, type_, config, aggregation)
