"""How many samples may fail before a run that is complete counts as failed."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from assay.core.errors import Problem, UsageError
from assay.core.run import RunManifest, RunStatus

SETTING = "allow_failures"


class AllowedFailures(NamedTuple):
    """A number of samples, or a share of them; exact, since 0.57 % of 10,000 are 57."""

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
                    f"--allow-failures: found {text!r}, expected a number of samples or a share of them",
                    "write --allow-failures 5 for five samples, or --allow-failures 1% for one in a hundred",
                )
            )
        return cls(Fraction(match[1] or match[2]), is_percent=match[1] is None)

    def are_exceeded(self, n_failed: int, n_samples: int) -> bool:
        """Whether more samples failed than may."""
        return n_failed > (self.n * n_samples / 100 if self.is_percent else self.n)

    def __str__(self) -> str:
        return f"{float(self.n):g}%" if self.is_percent else f"{self.n}"


def read_allowed_failures(manifest: RunManifest) -> AllowedFailures:
    """Return how many samples of a run may fail; none of one that was made before that could be said."""
    said = manifest.settings.get(SETTING)
    return AllowedFailures() if said is None else AllowedFailures.parse(said.value)


def is_failed(manifest: RunManifest) -> bool:
    """Whether a finished run, or a scoring of it, counts as failed.

    It does where more samples failed than its settings let pass, where code that scores left a task without a
    score, and where no task has one, unless the person said that the files have no right answers. Allowing so
    many samples to fail allows that too.
    """
    if has_too_many_failures(manifest):
        return True
    is_allowed = bool(manifest.failures) and read_allowed_failures(manifest).n > 0
    has_fault = any(one.is_fault for one in manifest.unscored)
    lacks_scores = manifest.status is RunStatus.UNSCORED and not _has_no_answers(manifest)
    return (has_fault or lacks_scores) and not is_allowed


def _has_no_answers(manifest: RunManifest) -> bool:
    """Whether a person said of every task that it has no right answers."""
    return all(task.settings.get("said", {}).get("no_answers") for task in manifest.tasks)


def has_too_many_failures(manifest: RunManifest) -> bool:
    """Whether more samples of a complete run, or of a scoring of it, failed than its settings let pass."""
    n_samples = sum(task.n_samples for task in manifest.tasks)
    return read_allowed_failures(manifest).are_exceeded(sum(manifest.failures.values()), n_samples)
