"""What compiling a dataset gives, whatever language it was written in."""

from __future__ import annotations

from typing import Protocol

from assay.core.prompt import Prompt
from assay.core.sample import Sample
from assay.core.task import Task


class PreviewableTask(Task, Protocol):
    """A task that can show its prompts."""

    def shown(self, sample: Sample, method: str) -> Prompt:
        """Return a sample's prompt for a person to see."""


class CompiledDataset(Protocol):
    """A task together with what a person should see of how it came about."""

    @property
    def task(self) -> PreviewableTask:
        """Return the task."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what was inferred or let pass, in words."""

    @property
    def kind(self) -> str:
        """Return what kind of dataset it is, in a word."""

    def facts(self) -> list[tuple[str, str]]:
        """Return in words how the dataset was understood: names and what they stand for."""
