"""pass@k: how often one of k generated programs passes its tests. Programs run only in the sandbox."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from typing import Any, ClassVar

from assay.core.errors import PlanError, Problem, Problems
from assay.scoring.metrics.checks import check_lengths
from assay.scoring.metrics.estimators import pass_at_k
from assay.scoring.metrics.list_metric import ListMetric
from assay.scoring.sandbox import Limits, ProgramResult, Protections, Sandbox

PLACEHOLDER = "{pred}"

_SLOW_TO_IMPORT = frozenset({"numpy"})
"""Packages that the sandbox preloads if references import them."""


class PassAtK(ListMetric):
    """The unbiased pass@k over rows: each reference is a program with `{pred}` in place of the sample.

    A sample passes if the resulting program runs to its last line.
    """

    scale: ClassVar[float] = 100.0
    takes_samples: ClassVar[bool] = True

    def __init__(
        self, k: int | None = None, *, limits: Limits | None = None, workers: int | None = None
    ) -> None:
        """Create the metric; without `k`, `setup_metric` takes it from the run's `pass_at_k`."""
        self.k: int | None = None
        self.limits = limits or Limits()
        self.workers = workers
        self.ran: list[list[ProgramResult]] = []
        """The result of each sample of each row in the latest call."""
        self.protections: Protections | None = None
        """The sandbox protections of the latest call."""
        if k is not None:
            self.set_k(k)

    def set_k(self, k: int) -> None:
        """Set k."""
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            raise PlanError(
                Problem(
                    "CODE-003",
                    f"pass@k with k = {k!r}; expected a whole number of at least 1",
                    "--dataset-arg pass_at_k=1",
                )
            )
        self.k = k

    def setup_metric(self, model_args: Any = None, dataset_args: Any = None, *_: Any, **__: Any) -> None:
        """Take k from the run's arguments; the default is 1."""
        if (k := getattr(dataset_args, "pass_at_k", None)) is not None:
            self.set_k(k)
        elif self.k is None:
            self.set_k(1)

    def check_plan(self, n_samples: int) -> None:
        """Raise if k is unknown or cannot be estimated from `n` answers."""
        k = self._require_k()
        if n_samples < k:
            raise too_few_samples(k, n_samples, "")

    def notes(self) -> Sequence[str]:
        """Return a note about the sandbox protections."""
        return () if self.protections is None else (f"programs ran in a {self.protections}",)

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `pass@k` in percent. A prediction is a list of samples, or a single sample as text."""
        check_lengths(self, predictions, references)
        k = self._require_k()
        rows = _rows(predictions, references)
        _check_counts(rows, k)
        imported = _imports(references)
        _check_installed(imported)
        programs = [
            reference.replace(PLACEHOLDER, sample) for samples, reference in rows for sample in samples
        ]
        with Sandbox(self.limits, preload=sorted(imported & _SLOW_TO_IMPORT)) as sandbox:
            self.protections = sandbox.protections()
            # As in HumanEval's own scorer, code under `if __name__ == "__main__":` does not run.
            outcomes = sandbox.run_many(programs, workers=self.workers, is_main=False)
            self.ran = [list(islice(outcomes, len(samples))) for samples, _ in rows]
        return self._mean(
            f"pass@{k}", [pass_at_k(len(row), sum(ran.is_ok for ran in row), k) for row in self.ran]
        )

    def _require_k(self) -> int:
        if self.k is None:
            fix = "--dataset-arg pass_at_k=1, or PassAtK(k=1)"
            raise PlanError(Problem("CODE-003", "PassAtK has no k", fix))
        return self.k


Row = tuple[list[str], str]
"""The samples of a row, and the program they are inserted into."""


def _rows(predictions: Sequence[Any], references: Sequence[Any]) -> list[Row]:
    problems = Problems()
    rows: list[Row] = []
    for number, (prediction, reference) in enumerate(zip(predictions, references, strict=True), start=1):
        samples = [prediction] if isinstance(prediction, str) else list(prediction)
        if not isinstance(reference, str) or PLACEHOLDER not in reference:
            seen = f"PassAtK, row {number}: the reference is {_shorten(reference)}"
            what = f"{seen}; expected a program with {PLACEHOLDER}"
            problems.add(Problem("CODE-005", what, f"write {PLACEHOLDER} where the model's code belongs"))
        elif not all(isinstance(sample, str) for sample in samples):
            what = f"PassAtK, row {number}: the samples are {_shorten(samples)}; expected texts"
            problems.add(Problem("CODE-005", what, "make `post_processing` return texts"))
        else:
            rows.append((samples, reference))
    problems.raise_if_any()
    return rows


def _check_counts(rows: Sequence[Row], k: int) -> None:
    fewest = min(len(samples) for samples, _ in rows)
    if fewest < k:
        first = next(number for number, (samples, _) in enumerate(rows, start=1) if len(samples) == fewest)
        raise too_few_samples(k, fewest, f" (row {first})")


def too_few_samples(k: int, n: int, where: str) -> PlanError:
    """Return the error for a k that cannot be estimated from n answers."""
    return PlanError(
        Problem(
            "CODE-004",
            f"pass@{k} cannot be estimated from {n} samples{where}; expected at least {k}",
            f"--samples {k} or more, or a smaller k",
        )
    )


def _imports(references: Iterable[str]) -> set[str]:
    """Return the packages that the references import, whatever a model writes."""
    return {name for reference in set(references) for name in _iter_imports(reference)}


def _iter_imports(reference: str) -> Iterator[str]:
    for stand_in in ("pass", "    pass"):
        try:
            tree = ast.parse(reference.replace(PLACEHOLDER, stand_in))
        except SyntaxError:
            continue
        for statement in tree.body:
            if isinstance(statement, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in statement.names)
            elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
                yield statement.module.partition(".")[0]
        return


def _check_installed(packages: Iterable[str]) -> None:
    """Raise an error for references that no sample could pass here because a package is missing."""
    problems = Problems()
    for name in sorted(packages):
        if find_spec(name) is None:
            what = f"PassAtK: the references import {name!r}, which is not installed; no sample could pass"
            problems.add(Problem("CODE-006", what, f"install {name}"))
    problems.raise_if_any()


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
