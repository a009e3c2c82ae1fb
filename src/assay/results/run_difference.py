"""What comes out when two runs of one thing are looked at layer by layer. `app.diff` makes it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from assay.results.manifest_differences import FactDifference
from assay.results.sample_difference import Layer, LayerDifference


class MatchedBy(StrEnum):
    """How the samples of two runs were paired."""

    ID = "id"
    ROW = "row"
    """The number of the row in the dataset's file."""
    CONTENT = "content"
    """The longest text of the record, and the right answer."""


class SampleDifference(msgspec.Struct, frozen=True):
    """A sample that two runs part over."""

    task: str
    sample_id: str
    other_id: str
    """In the second run."""
    findings: tuple[LayerDifference, ...]
    """Where they part first; of a sample that was asked for, everything."""


class LayerCount(msgspec.Struct, frozen=True):
    """Samples that part at one layer, and not before."""

    layer: Layer
    n: int
    examples: tuple[SampleDifference, ...]


class RunDifference(msgspec.Struct, frozen=True):
    """What sets two runs apart."""

    a: str
    b: str
    """Their folders."""
    results: tuple[FactDifference, ...]
    """Headline numbers that differ."""
    facts: tuple[FactDifference, ...]
    """What differs before any sample is looked at."""
    matched_by: MatchedBy
    methods: tuple[str, ...]
    n: int
    """Samples that are in both."""
    n_only_a: int
    n_only_b: int
    n_same: int
    layers: tuple[LayerCount, ...]
    """In the order in which a sample goes through them."""
