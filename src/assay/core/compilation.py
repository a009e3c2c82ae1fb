"""What a dialect returns for each task of a dataset."""

from __future__ import annotations

from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from assay.core.method import Method
from assay.core.prompt import Prompt
from assay.core.sample import Sample
from assay.core.task import Task


class PreviewableTask(Task, Protocol):
    """A task that can show its prompts."""

    def preview_prompt(self, sample: Sample, method: Method) -> Prompt:
        """Return a sample's prompt, for display."""


TaskT = TypeVar("TaskT", bound=PreviewableTask, covariant=True)


class Compilation(msgspec.Struct, Generic[TaskT], frozen=True):
    """A task, with notes and facts for display."""

    task: TaskT
    notes: tuple[str, ...]
    """What was inferred or tolerated."""
    kind: str
    """The kind of dataset, such as `choice`."""
    facts: tuple[tuple[str, str], ...]
    """How the dataset was read, as names and descriptions."""


CompiledDataset: TypeAlias = Compilation[PreviewableTask]
"""A compiled task of any dialect."""
