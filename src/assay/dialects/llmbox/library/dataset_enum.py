"""Names of the subjects and tasks of public benchmarks, under the names that dataset files import."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import msgspec


def constants() -> dict[str, Any]:
    """Return every constant by its name, made anew: a file that changes one changes only its own."""
    stored = files(__package__).joinpath("dataset_enum.json").read_bytes()
    return msgspec.json.decode(stored, type=dict[str, Any])
