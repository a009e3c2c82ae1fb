"""Datasets with subsets: grouping tasks by dataset, and metrics over all subsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay.core.run import RunManifest
from assay.core.score import Metric
from assay.core.task import TaskSpec


class Family(NamedTuple):
    """The tasks of one dataset: its subsets, or a single task."""

    name: str
    tasks: tuple[TaskSpec, ...]

    @property
    def title(self) -> str:
        """The name with the number of subsets."""
        return self.name if len(self.tasks) == 1 else f"{self.name} ({len(self.tasks)} subsets)"

    def members(self, category: str | None) -> tuple[TaskSpec, ...]:
        """Return the tasks of a category; all tasks for None."""
        return tuple(task for task in self.tasks if category is None or category in task.categories)


def group_by_family(tasks: Sequence[TaskSpec]) -> list[Family]:
    """Return the datasets of a run in order, each with its tasks."""
    found: dict[str, list[TaskSpec]] = {}
    for task in tasks:
        found.setdefault(task.family or task.name, []).append(task)
    return [Family(name, tuple(members)) for name, members in found.items()]


def map_task_families(manifest: RunManifest) -> dict[str, Family]:
    """Return the dataset of each task, by the task's name."""
    return {task.name: family for family in group_by_family(manifest.tasks) for task in family.tasks}


def is_subset_mean(metric: Metric, manifest: RunManifest) -> bool:
    """Whether a metric is a mean over a dataset's subsets and not of a single task."""
    return metric.task not in {task.name for task in manifest.tasks}


class DisagreementShare(NamedTuple):
    """The number of a dataset's samples on which methods disagree."""

    name: str
    n: int
    n_samples: int
    n_unknown: int = 0
    """Samples whose agreement is unknown."""

    def __str__(self) -> str:
        if self.n_unknown == self.n_samples:
            return "agreement is unknown: the methods do not return comparable answers"
        rest = f"; agreement is unknown for {self.n_unknown:,}" if self.n_unknown else ""
        return f"the methods disagree on {self.n:,} of {self.n_samples:,} samples{rest}"


def count_disagreements(manifest: RunManifest) -> list[DisagreementShare]:
    """Return the number of disagreements of each dataset."""
    shares = []
    for family in group_by_family(manifest.tasks):
        counted = [task for task in family.tasks if task.name in manifest.disagreements]
        if counted:
            n = sum(manifest.disagreements[task.name] for task in counted)
            n_unknown = sum(manifest.agreement_untold.get(task.name, 0) for task in counted)
            shares.append(
                DisagreementShare(family.name, n, sum(task.n_samples for task in counted), n_unknown)
            )
    return shares


def average_over_subsets(
    metrics: Sequence[Metric], name: str, manifest: RunManifest
) -> Iterator[tuple[str, str, float]]:
    """Yield dataset, method and value of a metric, averaged over all samples of all subsets."""
    owner = map_task_families(manifest)
    sums: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for metric in metrics:
        if metric.metric == name and metric.group is None and metric.value is not None:
            key = (owner[metric.task].name, metric.method)
            sums.setdefault(key, []).append((metric.n_scored or metric.n, metric.value))
    for (dataset, method), parts in sums.items():
        yield dataset, method, sum(n * value for n, value in parts) / sum(n for n, _ in parts)


def select_headline_metrics(metrics: Sequence[Metric], manifest: RunManifest) -> list[Metric]:
    """Return the headline metrics: the mean over a dataset's subsets if there is one, otherwise each task's.

    Runs of earlier versions may have several headlines; the first one decides.
    """
    heads = [metric for metric in metrics if metric.is_headline and metric.group is None]
    owner = map_task_families(manifest)
    means = {(metric.task, metric.method) for metric in heads if is_subset_mean(metric, manifest)}
    first: dict[tuple[str, str], Metric] = {}
    for metric in heads:
        if is_subset_mean(metric, manifest) or (owner[metric.task].name, metric.method) not in means:
            first.setdefault((metric.task, metric.method), metric)
    return list(first.values())
