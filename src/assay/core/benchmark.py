"""A benchmark that can be named: what a list shows about it, without running or loading it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from assay.core.method import Method


class DataState(StrEnum):
    """Whether the rows of a benchmark can be read."""

    HERE = "here"
    """On this machine."""
    HUB = "hub"
    """The hub has a dataset of this name, as far as its files say."""
    MISSING = "missing"
    """To be placed under the data root by hand."""
    UNKNOWN = "unknown"
    """Only the benchmark's own code knows."""


class DataNeed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A dataset that a benchmark reads."""

    name: str
    """As the benchmark writes it: a hub name, or a path."""
    config: str = ""
    """The part of a hub dataset."""
    paths: tuple[str, ...] = ()
    """Where the original program keeps it, relative to its data folder."""
    on_hub: str = ""
    """Its name on the hub; empty if it has none."""


class Benchmark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One benchmark of a source."""

    name: str
    """Without its source."""
    target: str = ""
    """The dataset name that a run takes for it: a file, or a folder and a selection."""
    about: str = ""
    methods: tuple[Method, ...] = ()
    split: str = ""
    """The split that is evaluated, if its files say so."""
    data: tuple[DataNeed, ...] = ()
    members: tuple[str, ...] = ()
    """The names in a group."""
