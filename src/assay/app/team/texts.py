"""Types of texts that arrive over the network and are stored in the database."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

BoundedText: TypeAlias = Annotated[str, msgspec.Meta(max_length=4_000, pattern=r"^[^\u0000]*$")]
"""A name or some sentences. Bounded because errors repeat it; PostgreSQL rejects text with a zero byte."""
