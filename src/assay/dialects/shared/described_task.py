"""What every task has that is described by a spec: the spec, and the kinds of ask that its methods make."""

from __future__ import annotations

import msgspec

from assay.core.request import Kind
from assay.core.task import TaskSpec

METHOD_KINDS = {"ppl": Kind.SPAN, "prob": Kind.LABELS, "gen": Kind.GENERATE}
"""What each method asks for."""


class DescribedTask:
    """The part of a task that follows from its spec."""

    def __init__(self, spec: TaskSpec) -> None:
        self._spec = spec

    @property
    def spec(self) -> TaskSpec:
        """Return what the manifest records."""
        return self._spec

    def record(self, name: str, value: object) -> None:
        """Record one more setting: something that decides the samples, found out beside the dialect."""
        settings = {**self._spec.settings, name: value}
        self._spec = msgspec.structs.replace(self._spec, settings=settings)

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return the kinds of ask it will make."""
        return frozenset(METHOD_KINDS[method] for method in self._spec.methods)
