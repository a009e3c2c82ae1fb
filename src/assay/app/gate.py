"""The gate: decide whether a run is worse than another run, or than a baseline file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from assay.app.allowed_failures import is_failed
from assay.app.baselines import open_baseline
from assay.app.compare import ComparisonWithFlips, compare_sides
from assay.core.errors import Problem, UsageError
from assay.core.origin import Origin
from assay.core.score import Metric
from assay.results.baseline_changes import Accepted
from assay.results.baseline_run import BaselineRun, ScoredRun
from assay.results.gate import Gate, GateRule, decide, require_complete
from assay.results.output_folder import build_not_writable_error
from assay.results.read import StoredRun


class GateResult(msgspec.Struct, frozen=True):
    """A gate's outcome with the comparison that it is based on."""

    gate: Gate
    compared: ComparisonWithFlips
    has_failed_samples: bool
    """Whether more samples of a new run failed than its settings permit."""


def compare_with_baseline(
    run: StoredRun | str | Path,
    baseline: BaselineRun | str | Path,
    rule: GateRule | str = "worse",
    *,
    accept: Sequence[Accepted] = (),
    methods: Sequence[str] = (),
    metric: str | None = None,
    per_group: bool = False,
    n_flips: int = 5,
) -> GateResult:
    """Compare a run with a baseline file and decide by a rule such as `worse:2`.

    Raise an error that lists what differs if the baseline is of other rows, settings or another version,
    unless that is accepted.
    """
    base = baseline if isinstance(baseline, BaselineRun) else open_baseline(baseline)
    new = run if isinstance(run, StoredRun) else StoredRun(Path(run))
    return check_gate([base, new], rule, accept, methods, metric, per_group=per_group, n_flips=n_flips)


def check_gate(
    sides: Sequence[ScoredRun],
    rule: GateRule | str,
    accept: Sequence[Accepted] = (),
    methods: Sequence[str] = (),
    metric: str | None = None,
    *,
    per_group: bool = False,
    n_flips: int = 0,
) -> GateResult:
    """Compare each further side with the first, and decide by a rule."""
    chosen = GateRule.parse(rule) if isinstance(rule, str) else rule
    for side in sides:
        _require_finished(side)
    found = compare_sides(sides, methods, metric, n_flips, accept=accept, by_group=per_group)
    require_complete(sides, found.comparison, methods)
    notes = dict.fromkeys((*found.comparison.notes, *_note_unanswered(sides)))
    comparison = msgspec.structs.replace(found.comparison, notes=tuple(notes))
    return GateResult(
        decide(comparison, chosen, per_group=per_group),
        msgspec.structs.replace(found, comparison=comparison),
        any(is_failed(side.manifest) for side in sides[1:]),
    )


def _require_finished(side: ScoredRun) -> None:
    status = side.manifest.status
    if not status.is_finished:
        what = f"the run {side.path.name!r} is not complete: its status is {status}"
        fix = "complete it: the same `assay run` command resumes where it stopped"
        raise UsageError(Problem("GATE-004", what, fix, Origin(str(side.path))))


def write_gate_file(path: Path, content: bytes, flag: str, *, appends: bool = False) -> None:
    """Write a report of a gate; `flag` names the file in an error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab" if appends else "wb") as file:
            file.write(content)
    except OSError as error:
        raise build_not_writable_error(path, error, flag) from error


def _note_unanswered(sides: Sequence[ScoredRun]) -> Iterator[str]:
    """Yield where a side has unanswered samples, which count as wrong."""
    base, *others = (_select_headlines(side) for side in sides)
    for new in others:
        for key, metric in new.items():
            before = base[key].n_unanswered if key in base else 0
            if metric.n_unanswered or before:
                task, method = key
                yield (
                    f"{task} {method}: unanswered samples count as wrong: {before:,} before, "
                    f"{metric.n_unanswered:,} now"
                )


def _select_headlines(side: ScoredRun) -> dict[tuple[str, str], Metric]:
    names = {task.name for task in side.manifest.tasks}
    return {
        (one.task, one.method): one
        for one in side.metrics()
        if one.is_headline and one.group is None and one.task in names
    }
