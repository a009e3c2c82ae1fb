"""Subject and task names of public benchmarks, under the names that dataset files import."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import msgspec


def constants() -> dict[str, Any]:
    """Return every constant by name. Each call creates new objects, so files do not affect each other."""
    stored = files(__package__).joinpath("dataset_enum.json").read_bytes()
    return msgspec.json.decode(stored, type=dict[str, Any])
