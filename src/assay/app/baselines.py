"""Baselines: write one from a run, open one, and find out whether a run may be compared with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from assay.app.run_names import versions
from assay.app.scorers import list_storable_scorers
from assay.app.stored_runs import find_run
from assay.core.errors import Problem, StoreError, UsageError
from assay.core.origin import Origin
from assay.core.run import RunStatus
from assay.core.sample import Sample
from assay.core.task import Task
from assay.results.baseline import (
    Baseline,
    DescribedRun,
    build_baseline,
    describe_run,
    describe_task,
    hash_content,
    is_baseline_file,
    read_baseline,
    write_baseline,
)
from assay.results.baseline_changes import (
    Accepted,
    BaselineChange,
    RowChanges,
    describe_minor_changes,
    find_row_changes,
    find_setting_changes,
    list_data_changes,
)
from assay.results.baseline_run import BaselineRun, ScoredRun
from assay.results.read import StoredRun
from assay.results.sample_join import are_of_different_programs, build_no_texts_error, pair_tasks


def save_baseline(run: StoredRun, path: Path, *, with_texts: bool = False) -> Baseline:
    """Write the baseline of a complete run; return it."""
    if run.manifest.status is not RunStatus.COMPLETE:
        what = f"the run {run.path.name!r} is {run.manifest.status}, so it has no scores to keep"
        fix = "complete it: the same `assay run` command resumes where it stopped"
        raise UsageError(Problem("GATE-003", what, fix, Origin(str(run.path))))
    baseline = build_baseline(run, with_texts=with_texts)
    write_baseline(baseline, path)
    return baseline


def open_baseline(path: str | Path) -> BaselineRun:
    """Return a baseline file as a side of a comparison."""
    return BaselineRun(Path(path), read_baseline(Path(path)))


def find_side(name: str, root: Path) -> ScoredRun:
    """Return a side of a comparison: a baseline file, or a run by its folder, id or prefix."""
    return open_baseline(name) if is_baseline_file(Path(name)) else find_run(name, root)


def require_stored_runs(sides: Sequence[ScoredRun], what: str) -> list[StoredRun]:
    """Return the sides if all are run folders; raise GATE-003 if one is a baseline, which has no texts."""
    for side in sides:
        if isinstance(side, BaselineRun):
            problem = f"{what} needs a run folder, and a baseline holds only ids and scores"
            where = Origin(str(side.path))
            raise UsageError(Problem("GATE-003", problem, "name the folder of its run instead", where))
    return [side for side in sides if isinstance(side, StoredRun)]


def align_with_baseline(
    sides: Sequence[ScoredRun], accept: Sequence[Accepted]
) -> tuple[list[ScoredRun], list[str]]:
    """Return sides that can be compared, and the accepted differences; without a baseline, the same sides.

    Raise an error that lists every difference from the baseline in rows, settings or version that was not
    accepted. Rows that changed are never compared.
    """
    base, *others = sides
    if not isinstance(base, BaselineRun):
        if any(isinstance(side, BaselineRun) for side in others):
            what = "a baseline is not the first side of the comparison"
            raise UsageError(Problem("GATE-003", what, "name the baseline first: assay compare FILE RUN"))
        return list(sides), []
    excluded: dict[str, set[str]] = {}
    notes: dict[str, None] = {}
    for run in require_stored_runs(others, "the second side"):
        if are_of_different_programs(base, run):
            raise build_no_texts_error()
        described = describe_run(run.manifest, with_texts=base.baseline.has_texts)
        samples: dict[str, list[Sample]] = {task.name: [] for task in described.tasks}
        if _may_have_other_rows(base.baseline, described):
            for record in run.samples():
                samples[record.task].append(record.sample)
        rows = _find_all_row_changes(base.baseline, described, samples)
        for change in _require_accepted(base, described, rows, accept):
            notes[f"accepted: {change.text}"] = None
        for task, changes in rows.items():
            excluded.setdefault(task, set()).update(changes.edited_ids)
        notes |= dict.fromkeys(describe_minor_changes(base.baseline, described))
    return [BaselineRun(base.path, base.baseline, excluded), *others], list(notes)


def check_plan_against_baseline(base: BaselineRun, tasks: Sequence[Task], accept: Sequence[Accepted]) -> None:
    """Raise the errors of `align_with_baseline` for a run that has not started, as far as they are known."""
    described = DescribedRun(
        tuple(describe_task(task.spec, with_texts=base.baseline.has_texts) for task in tasks),
        {task.spec.name: list_storable_scorers(task) for task in tasks},
        versions(),
        base.baseline.model,
        # The judge is known once the run starts.
        base.baseline.judge,
    )
    rows: dict[str, RowChanges] = {}
    if _may_have_other_rows(base.baseline, described):
        rows = _find_all_row_changes(
            base.baseline, described, {task.spec.name: task.samples() for task in tasks}
        )
    _require_accepted(base, described, rows, accept)


def _may_have_other_rows(baseline: Baseline, run: DescribedRun) -> bool:
    """Whether data or numbers of samples differ, so that the rows have to be read."""
    before, after = (
        {task.name: (task.data_hash, task.n_samples) for task in one.tasks} for one in (baseline, run)
    )
    return before != after


def _find_all_row_changes(
    baseline: Baseline, run: DescribedRun, samples: Mapping[str, Iterable[Sample]]
) -> dict[str, RowChanges]:
    """Return the changed rows of each task that both have, by the baseline's name of the task."""
    names = pair_tasks([task.name for task in baseline.tasks], [task.name for task in run.tasks])
    own = {task.name: task for task in baseline.tasks}
    found = {}
    for task in run.tasks:
        before = own.get(names.get(task.name, ""))
        if before is not None and (before.data_hash, before.n_samples) != (task.data_hash, task.n_samples):
            contents = [(sample.id, hash_content(sample)) for sample in samples[task.name]]
            found[before.name] = find_row_changes(baseline.samples.get(before.name, ()), contents)
    return found


def _require_accepted(
    base: BaselineRun, run: DescribedRun, rows: Mapping[str, RowChanges], accept: Sequence[Accepted]
) -> list[BaselineChange]:
    """Return the accepted differences; raise all others as one error."""
    changes = [*list_data_changes(rows), *find_setting_changes(base.baseline, run)]
    if refused := [one for one in changes if one.kind not in accept]:
        raise StoreError([one.build_problem(str(base.path)) for one in refused])
    return changes
