"""Import a log of another evaluation program as a run folder: the data of `assay import`."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import assay
from assay.app.run_names import short_name, slug, utc_now
from assay.app.score_summary import Totals, compute_totals
from assay.app.settings import RunSettings
from assay.core.ids import digest
from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.run import ImportedLog, LoggedMetric, RunManifest
from assay.core.score import Metric
from assay.core.task import Evaluation, TaskSpec
from assay.results.exchange.formats import LogFormat, detect_format, find_format
from assay.results.exchange.import_writer import ImportWriter, SeenTask
from assay.results.exchange.imported import ImportedRun, ImportedTask
from assay.results.exchange.log_files import build_log_error, hash_files
from assay.results.media_store import MediaStore
from assay.results.pages.report_file import write_report_page
from assay.results.read import StoredRun
from assay.results.report import render_report
from assay.results.store import RunFolder
from assay.scoring.aggregate import Disagreement, MeanAggregator
from assay.sources.media_formats import detect_media_type

UNNAMED_MODEL = "unknown model"
DIALECT = "imported"
_CLOSE = 1e-3
"""How far a number of a log may be from Assay's own before a note says so: logs round to 3 or 4 digits."""


class ImportResult(NamedTuple):
    """An imported run."""

    run: StoredRun
    format: LogFormat
    is_new: bool
    """False if the same log was imported into this folder before."""


def import_log(path: Path, *, format_name: str | None, out: Path | None, runs_dir: Path) -> ImportResult:
    """Write the run that a log describes into a run folder.

    Without `out`, the folder is named after tasks, model and content; the same log is imported once.
    """
    chosen = detect_format(path) if format_name is None else find_format(format_name)
    if not path.exists():
        detect_format(path)
    assert chosen.read is not None
    log = chosen.read(path)
    hashed = hash_files(log.files)
    folder = out or runs_dir / _name_run(log, hashed)
    if (earlier := _find_same_import(folder, hashed)) is not None:
        return ImportResult(earlier, chosen, is_new=False)
    _write_run(log, path, hashed, folder)
    return ImportResult(StoredRun(folder), chosen, is_new=True)


def _find_same_import(folder: Path, hashed: str) -> StoredRun | None:
    """Return the run in a folder if it was imported from the same files; raise if it has anything else."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if folder.is_dir() and (folder / "manifest.json").is_file():
        stored = StoredRun(folder)
        imported = stored.manifest.imported
        if imported is not None and imported.digest == hashed and stored.manifest.status.is_finished:
            return stored
    raise build_log_error(
        "LOG-008",
        "the folder is not empty and does not contain this import",
        "choose another --out, or omit it: each import then gets its own folder",
        folder,
    )


def _write_run(log: ImportedRun, path: Path, hashed: str, folder: Path) -> None:
    """Write the run folder beside its final place, and rename it when it is complete."""
    draft = folder.with_name(f".{folder.name}.importing")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        aggregator, counter = MeanAggregator(), _MethodCounter()
        disagreement = Disagreement(counter.n_methods)
        media = MediaStore(draft, RunSettings().keep_media, detect_media_type)
        with ImportWriter(draft, log, str(path), media) as writer:
            for records in writer.write_samples():
                counter.learn(records.record.task, len(records.scores))
                disagreement.add(records.record.task, records.record.sample, records.scores)
                for score in records.scores:
                    aggregator.add(score)
        if not writer.n_samples:
            raise build_log_error(
                "LOG-005",
                "the log has no samples, only totals",
                "write the log with its samples: "
                "lm-eval needs --log_samples, inspect log_samples, OpenCompass --dump-eval-details",
                path,
            )
        totals, notes = _compute_totals(log, writer, aggregator)
        imported = ImportedLog(
            log.format,
            str(path),
            hashed,
            utc_now(),
            assay.__version__,
            dict(log.settings),
            tuple(writer.list_unknown()),
            log.metrics,
        )
        manifest = RunManifest(
            folder.name,
            tuple(_build_spec(task, writer.seen[task.name], str(path)) for task in writer.tasks()),
            log.model or ModelIdentity("", UNNAMED_MODEL),
            {},
            dict(log.versions),
            log.started or "",
            status=totals.status,
            finished=log.finished,
            seconds=log.seconds,
            notes=tuple(dict.fromkeys((*log.notes, *writer.notes(), *notes, *totals.notes))),
            disagreements=disagreement.counts(),
            agreement_untold=disagreement.count_undecided(),
            judge=log.judge,
            failures={"logged": writer.n_failed} if writer.n_failed else {},
            unscored=totals.unscored,
            groups=dict(totals.members),
            summary_groups=log.groups,
            imported=imported,
        )
        written = RunFolder(draft)
        written.write_summary(totals.metrics)
        written.write_manifest(manifest)
        written.write_report(render_report(manifest, totals.metrics, writer.highlights))
        if folder.is_dir():
            folder.rmdir()
        draft.replace(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    # The page shows the name of the folder, so it is written last.
    write_report_page(folder)


class _MethodCounter:
    """Counts the methods of each task while its samples are read."""

    def __init__(self) -> None:
        self.n_methods: dict[str, int] = {}

    def learn(self, task: str, n: int) -> None:
        """Register the number of methods of one sample."""
        self.n_methods[task] = max(n, self.n_methods.get(task, 0))


def _compute_totals(
    log: ImportedRun, writer: ImportWriter, aggregator: MeanAggregator
) -> tuple[Totals, list[str]]:
    """Aggregate the scores; add the log's own numbers that no values of samples give."""
    for task in writer.tasks():
        seen = writer.seen[task.name]
        for method in seen.methods:
            lower = [name for name, facts in task.metrics.items() if facts.higher_is_better is False]
            own_scale = {name for name, facts in task.metrics.items() if facts.is_share is False}
            own_scale |= {
                name
                for name in seen.off_scale
                if (facts := task.metrics.get(name)) is None or facts.is_share is None
            }
            own_scale |= {
                one.metric
                for one in log.metrics
                if one.task == task.name and one.metric not in task.metrics and not 0 <= one.value <= 1
            }
            aggregator.describe(
                task.name,
                method,
                lower_is_better=lower,
                off_scale=own_scale,
                named=[*task.metrics, *(one.metric for one in log.metrics if one.task == task.name)],
            )
    specs = [_build_spec(task, writer.seen[task.name], "") for task in writer.tasks()]
    if log.exported:
        totals = compute_totals(aggregator, specs, log.groups)
        return totals._replace(metrics=log.exported), _check_exported(log.exported, totals.metrics)
    own = {(one.task, one.method, one.metric, one.group): one for one in aggregator.metrics()}
    added: list[Metric] = []
    notes: list[str] = []
    for logged in log.metrics:
        seen_task = writer.seen.get(logged.task)
        if seen_task is None:
            continue
        track = logged.method or str(next(iter(seen_task.methods), Method.GEN))
        ours = own.get((logged.task, track, logged.metric, logged.group))
        if ours is None or ours.value is None:
            added.append(_build_logged_metric(logged, track, writer.find_task(logged.task), seen_task))
        elif (note := _compare_metric(logged, ours)) is not None:
            notes.append(note)
    aggregator.take(Evaluation((), added))
    totals = compute_totals(aggregator, specs, log.groups)
    groups = {(one.task, one.metric): one for one in totals.metrics if one.task in totals.members}
    for logged in log.metrics:
        of_group = groups.get((logged.task, logged.metric))
        if of_group is not None and (note := _compare_metric(logged, of_group)) is not None:
            notes.append(note)
    return totals, notes


def _build_logged_metric(logged: LoggedMetric, method: str, task: ImportedTask, seen: SeenTask) -> Metric:
    """Return a number of a log that has no values per sample: without an interval."""
    facts = task.metrics.get(logged.metric)
    higher = facts is None or facts.higher_is_better is not False
    return Metric(
        logged.task,
        method,
        logged.metric,
        logged.group,
        logged.value,
        None,
        None,
        logged.n or seen.n_samples,
        logged.n or seen.n_samples,
        0,
        0,
        0,
        logged.stderr,
        higher_is_better=higher,
    )


def _compare_metric(logged: LoggedMetric, ours: Metric) -> str | None:
    """Return a note if a number of the log differs from Assay's own."""
    what = f"{logged.task}: {logged.metric}"
    if ours.value is None:
        return f"{what} is {logged.value:.6g} in the log, but its samples have no values to compute it from"
    if math.isclose(logged.value, ours.value, rel_tol=_CLOSE, abs_tol=_CLOSE):
        return None
    return (
        f"{what} is {logged.value:.6g} in the log, and {ours.value:.6g} computed from the {ours.n_counted:,} "
        "samples in it: the log may hold other samples, or the metric is not a mean over samples"
    )


def _check_exported(exported: Sequence[Metric], computed: Sequence[Metric]) -> list[str]:
    """Return notes about metrics of an exported run whose counts do not fit its samples."""
    mine = {(one.task, one.method, one.metric, one.group): one for one in computed}
    notes = []
    for one in exported:
        other = mine.get((one.task, one.method, one.metric, one.group))
        if other is not None and one.is_headline and (one.n, one.n_failed) != (other.n, other.n_failed):
            notes.append(
                f"{one.task} {one.method}: {one.metric} was computed over {one.n:,} samples, "
                f"but the log has {other.n:,}"
            )
    return notes


def _build_spec(task: ImportedTask, seen: SeenTask, path: str) -> TaskSpec:
    if task.spec is not None:
        return task.spec
    settings = dict(task.settings)
    if task.shots is not None:
        settings["shots"] = task.shots
    return TaskSpec(
        task.name,
        DIALECT,
        task.source or path,
        seen.data_hash,
        tuple(seen.methods),
        seen.n_samples,
        task.n_rows or seen.n_samples,
        settings,
        family=task.family,
    )


def _name_run(log: ImportedRun, hashed: str) -> str:
    names = list(dict.fromkeys(task.family or task.name for task in log.tasks)) or [log.format]
    name = names[0] if len(names) == 1 else f"{names[0]}+{len(names) - 1}"
    model = log.model.name if log.model else "unknown"
    return slug(f"{name}-{short_name(model)}") + f"-{digest((hashed, log.format))[:8]}"
