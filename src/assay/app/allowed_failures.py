"""The number of samples that may fail before a complete run counts as failed."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from assay.core.errors import Problem, UsageError
from assay.core.run import RunManifest, RunStatus

SETTING = "allow_failures"


class AllowedFailures(NamedTuple):
    """A number or percentage of samples; exact, because 0.57 % of 10,000 is 57."""

    n: Fraction = Fraction(0)
    is_percent: bool = False

    @classmethod
    def parse(cls, text: str | int) -> AllowedFailures:
        """Read `5` (samples) or `0.5%` (of all samples)."""
        match = re.fullmatch(r"(?:(\d+)|(\d+(?:\.\d+)?)\s*%)", str(text).strip())
        if match is None or (match[2] and Fraction(match[2]) > 100):
            raise UsageError(
                Problem(
                    "USAGE-020",
                    f"--allow-failures is {text!r}, expected a number of samples or a percentage",
                    "write --allow-failures 5 for five samples, or --allow-failures 1% for one percent",
                )
            )
        return cls(Fraction(match[1] or match[2]), is_percent=match[1] is None)

    def are_exceeded(self, n_failed: int, n_samples: int) -> bool:
        """Return whether more samples failed than allowed."""
        return n_failed > (self.n * n_samples / 100 if self.is_percent else self.n)

    def __str__(self) -> str:
        return f"{float(self.n):g}%" if self.is_percent else f"{self.n}"


def read_allowed_failures(manifest: RunManifest) -> AllowedFailures:
    """Return how many samples of a run may fail; 0 for runs made before the setting existed."""
    setting = manifest.settings.get(SETTING)
    return AllowedFailures() if setting is None else AllowedFailures.parse(setting.value)


def is_failed(manifest: RunManifest) -> bool:
    """Return whether a finished run, or a rescoring of it, counts as failed.

    It does if more samples failed than its settings allow, if scoring code left a task without a score, or if
    no task has a score although the files have reference answers. Allowing samples to fail also allows the
    last two.
    """
    if has_too_many_failures(manifest):
        return True
    is_allowed = bool(manifest.failures) and read_allowed_failures(manifest).n > 0
    has_fault = any(one.is_fault for one in manifest.unscored)
    lacks_scores = manifest.status is RunStatus.UNSCORED and not _has_no_answers(manifest)
    return (has_fault or lacks_scores) and not is_allowed


def _has_no_answers(manifest: RunManifest) -> bool:
    """Return whether the settings of every task state that it has no reference answers."""
    return all(task.settings.get("said", {}).get("no_answers") for task in manifest.tasks)


def has_too_many_failures(manifest: RunManifest) -> bool:
    """Return whether more samples of a complete run, or of a rescoring, failed than its settings allow."""
    n_samples = sum(task.n_samples for task in manifest.tasks)
    return read_allowed_failures(manifest).are_exceeded(sum(manifest.failures.values()), n_samples)
