"""What became of one of many datasets that were looked at or prepared together."""

from __future__ import annotations

from enum import StrEnum


class DatasetState(StrEnum):
    """Whether a dataset is fine, lacks data or has a mistake in it."""

    OK = "ok"
    NEEDS_DATA = "needs data"
    ERROR = "error"
