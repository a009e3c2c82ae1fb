"""The state of one dataset among many that were checked or prepared together."""

from __future__ import annotations

from enum import StrEnum


class DatasetState(StrEnum):
    """Whether a dataset is fine, needs data or contains an error."""

    OK = "ok"
    NEEDS_DATA = "needs data"
    ERROR = "error"
