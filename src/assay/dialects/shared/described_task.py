"""The base class of tasks: the spec, and the request kinds of its methods."""

from __future__ import annotations

import msgspec

from assay.core.request import Kind
from assay.core.task import TaskSpec

METHOD_KINDS = {"ppl": Kind.SPAN, "prob": Kind.LABELS, "gen": Kind.GENERATE}
"""The request kind of each method."""


class DescribedTask:
    """The part of a task that follows from its spec."""

    def __init__(self, spec: TaskSpec) -> None:
        self._spec = spec

    @property
    def spec(self) -> TaskSpec:
        """Return the spec that the manifest stores."""
        return self._spec

    def record(self, name: str, value: object) -> None:
        """Add a setting that affects the samples but was determined outside the dialect."""
        settings = {**self._spec.settings, name: value}
        self._spec = msgspec.structs.replace(self._spec, settings=settings)

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return the request kinds of the task."""
        return frozenset(METHOD_KINDS[method] for method in self._spec.methods)
