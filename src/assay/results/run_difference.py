"""The result of `assay diff`: differences between two runs, layer by layer. `app.diff` computes it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from assay.results.manifest_differences import FactDifference
from assay.results.sample_difference import Layer, LayerDifference


class MatchedBy(StrEnum):
    """How the samples of two runs were paired."""

    ID = "id"
    ROW = "row"
    """The row number in the dataset's file."""
    CONTENT = "content"
    """The longest text of the record and the right answer."""
    QUESTION = "question"
    """The text of the question, for runs of different programs."""


class SampleDifference(msgspec.Struct, frozen=True):
    """A sample that differs between two runs."""

    task: str
    sample_id: str
    other_id: str
    """The sample's id in the second run."""
    findings: tuple[LayerDifference, ...]
    """The first difference; for a single requested sample, all differences."""


class LayerCount(msgspec.Struct, frozen=True):
    """Samples whose first difference is at one layer."""

    layer: Layer
    n: int
    examples: tuple[SampleDifference, ...]


class RunDifference(msgspec.Struct, frozen=True):
    """All differences between two runs."""

    a: str
    b: str
    """Their folders."""
    results: tuple[FactDifference, ...]
    """Headline metrics that differ."""
    facts: tuple[FactDifference, ...]
    """Differences in model, data, settings and versions."""
    matched_by: MatchedBy
    methods: tuple[str, ...]
    n: int
    """Matched samples."""
    n_only_a: int
    n_only_b: int
    n_same: int
    layers: tuple[LayerCount, ...]
    """In the order in which a sample passes through them."""
