"""Protocols for compiled datasets of any dialect."""

from __future__ import annotations

from typing import Protocol

from assay.core.prompt import Prompt
from assay.core.sample import Sample
from assay.core.task import Task


class PreviewableTask(Task, Protocol):
    """A task that can show its prompts."""

    def shown(self, sample: Sample, method: str) -> Prompt:
        """Return a sample's prompt, for display."""


class CompiledDataset(Protocol):
    """A task, with notes and facts for display."""

    @property
    def task(self) -> PreviewableTask:
        """Return the task."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return messages about what was inferred or tolerated."""

    @property
    def kind(self) -> str:
        """Return the kind of dataset, in one word."""

    def facts(self) -> list[tuple[str, str]]:
        """Return how the dataset was read, as (name, description) pairs."""
