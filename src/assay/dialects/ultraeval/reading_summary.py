"""Describe how a dataset was understood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def describe_settings(settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return names and descriptions, from the settings in the manifest."""
    rows = [
        ("transform", _group_by_method(settings["transform"], _describe_script)),
        ("metrics", _group_by_method(settings["metrics"], _describe_metrics)),
    ]
    if any(settings["shots"].values()):
        rows.append(("shots", f"{_group_by_method(settings['shots'], str)}, from {settings['shots_from']}"))
    return tuple(rows)


def _group_by_method(values: Mapping[str, Any], in_words: Callable[[Any], str]) -> str:
    """Return the description of each method; methods with the same description are grouped."""
    groups: dict[str, list[str]] = {}
    for method, value in values.items():
        groups.setdefault(in_words(value), []).append(method)
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{words} for {', '.join(methods)}" for words, methods in groups.items())


def _describe_script(script: Mapping[str, Any]) -> str:
    others = [name for name in script["available"] if name != script["file"]]
    return f"{script['file']} (also available: {', '.join(others)})" if others else str(script["file"])


def _describe_metrics(metrics: Mapping[str, Mapping[str, Any]]) -> str:
    named = [f"{name} ({metric['type']})" for name, metric in metrics.items()]
    return ", ".join(named) or "accuracy"
