"""Column features of the `datasets` library, in the plain form in which it stores them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.media import Medium

_LABELS_SHOWN = 6


def read_label_names(features: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the names of integer labels by column."""
    return {
        column: tuple(feature["names"])
        for column, feature in features.items()
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and feature.get("names")
    }


def read_media_columns(features: Mapping[str, Any]) -> dict[str, Medium]:
    """Return the columns whose values are images, audio or video."""
    kinds = {
        column: str(feature.get("_type", "")).lower()
        for column, feature in features.items()
        if isinstance(feature, dict)
    }
    return {column: Medium(kind) for column, kind in kinds.items() if kind in set(Medium)}


def read_type_names(features: Mapping[str, Any]) -> dict[str, str]:
    """Return a short type name for every column."""
    return {column: _type_name(feature) for column, feature in features.items()}


def _type_name(feature: Any) -> str:
    if isinstance(feature, list):
        return f"list of {_type_name(feature[0])}"
    kind = feature.get("_type")
    if kind == "Value":
        return str(feature["dtype"]).removeprefix("large_")
    if kind == "ClassLabel":
        names = feature.get("names") or []
        listed = ", ".join(names[:_LABELS_SHOWN]) + (", ..." if len(names) > _LABELS_SHOWN else "")
        return f"label ({listed})"
    if "feature" in feature:
        return f"list of {_type_name(feature['feature'])}"
    if kind is None:
        return "{" + ", ".join(f"{name}: {_type_name(inner)}" for name, inner in feature.items()) + "}"
    return str(kind).lower()
