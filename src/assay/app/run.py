"""The main use case: evaluate datasets on a model and write a run folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from assay.app.allowed_failures import AllowedFailures
from assay.app.benchmarks import ResolvedDatasets, resolve_benchmarks
from assay.app.config_declarations import (
    apply_config_judge,
    find_judge_model,
    load_configs,
    read_summary_groups,
)
from assay.app.datasets import compile_datasets
from assay.app.dialects import detect_dialect
from assay.app.judge import judging, needs_judge, note_unused_judge, open_cache, open_judge
from assay.app.offline.watch import Watch, offline_watch
from assay.app.open_model import open_model
from assay.app.preliminary_tasks import PreliminaryTasks
from assay.app.progress import ProgressGauge, list_tracks
from assay.app.reuse import copy_journal, needs_start_over, reuse_note, start_over_note
from assay.app.run_names import short_name, slug, utc_now, versions
from assay.app.run_stages import AnsweredRun, open_run_model
from assay.app.score_summary import ScoredSamples, compute_totals, write_run_results
from assay.app.scorers import build_scorers, list_storable_scorers
from assay.app.settings import RunSettings, Settings
from assay.app.spending import (
    already_spent_error,
    build_stopped_manifest,
    check_budget,
    describe_stop,
    open_spending,
)
from assay.app.stored_runs import find_run
from assay.app.tracking import TrackingResult, track_run
from assay.core.compilation import CompiledDataset
from assay.core.disk_space import reporting_disk_full
from assay.core.download import Download
from assay.core.download_listeners import reporting_downloads
from assay.core.errors import BudgetReached
from assay.core.limit import Limit
from assay.core.model import ModelCard
from assay.core.ports import Backend
from assay.core.run import RunManifest, RunStatus, run_fingerprint
from assay.core.score import Metric
from assay.core.setting_names import naming_settings
from assay.core.summary_group import SummaryGroup
from assay.core.tally import Tally
from assay.core.task import CorpusScorer, Scorer, Task, TaskSettings
from assay.core.time_profile import get_recorder, measuring
from assay.engine.cache import SqliteCache
from assay.engine.execute import Execution
from assay.engine.journal import FileJournal
from assay.engine.limit import limit_task
from assay.engine.plan import check_plan, probe_model_card
from assay.engine.replay_backend import ScoringJournal
from assay.results.history import ScoringHistory
from assay.results.media_store import MediaStore
from assay.results.output_folder import require_writable
from assay.results.pages.report_file import write_report_page
from assay.results.read import StoredRun
from assay.results.store import JOURNAL, RunFolder, SampleWriter
from assay.results.subset_families import group_by_family
from assay.results.trackers.registry import parse_trackers, require_trackers
from assay.scoring.aggregate import MeanAggregator
from assay.sources.hub_source import streaming
from assay.sources.media_formats import detect_media_type

if TYPE_CHECKING:
    from assay.app.shared_work import SharedWork


class Observer:
    """Receives the events of a run; override the methods you need."""

    def on_compile(self, compiled: Sequence[CompiledDataset], tasks: Sequence[Task], card: ModelCard) -> None:
        """Handle the compiled datasets and their tasks, before any weights are read."""

    def on_download(self, download: Download) -> None:
        """Handle the progress of a download from the hub; called often."""

    def on_start_over(self, why: str) -> None:
        """Handle the reason why a finished run of the same command is not reused."""

    def on_start(
        self, manifest: RunManifest, folder: Path, earlier: RunManifest | None, n_journaled: int
    ) -> None:
        """Handle the start of a new or resumed run."""

    def on_preparation(self, tally: Tally) -> None:
        """Handle the progress of a task's preliminary requests; called often."""

    def on_requests(self, gauge: ProgressGauge) -> None:
        """Handle the start of sample requests; `gauge` computes the progress for `progress`."""

    def on_progress(self, tally: Tally) -> None:
        """Handle the progress of the run; called often."""

    def on_finish(self, run: FinishedRun) -> None:
        """Handle the result."""

    def on_failure(self) -> None:
        """Handle the end of a run by an error, while other runs of the same command continue."""


class FinishedRun(msgspec.Struct, frozen=True):
    """A complete run."""

    folder: Path
    manifest: RunManifest
    metrics: tuple[Metric, ...]
    tally: Tally
    run_notes: tuple[str, ...] = ()
    """Notes of the run itself, without those of compiling."""
    tasks: tuple[Task, ...] = ()
    """The evaluated tasks, with their authors' code, which is not stored."""
    tracked: tuple[TrackingResult, ...] = ()
    """Where the run was logged, by `track`."""


def run(
    datasets: tuple[str, ...],
    settings: Settings,
    observer: Observer | None = None,
    groups: Sequence[SummaryGroup] | None = None,
) -> FinishedRun:
    """Evaluate datasets on a model; resume if the same run was started before.

    `groups`: which tasks are also reported together; None: as configs among the datasets say. An offline run
    without an endpoint permanently removes internet sockets from the calling thread.
    """
    with prepare_run(datasets, settings, observer, groups) as prepared:
        finished = prepared.execute()
    return log_to_trackers(finished, settings.values)


def log_to_trackers(finished: FinishedRun, values: RunSettings) -> FinishedRun:
    """Log a run by the setting `track`, unless it stopped early; return it with the outcomes."""
    trackers = parse_trackers(values.track)
    if not trackers or not finished.manifest.status.is_finished:
        return finished
    tracked = track_run(StoredRun(finished.folder), trackers, is_offline=values.offline)
    return msgspec.structs.replace(finished, tracked=tracked)


class PreparedRun(NamedTuple):
    """A run that is ready to start: everything is checked, and no weights are loaded."""

    manifest: RunManifest
    execute: Callable[[], FinishedRun]


@contextmanager
def prepare_run(
    datasets: tuple[str, ...],
    settings: Settings,
    observer: Observer | None = None,
    groups: Sequence[SummaryGroup] | None = None,
    shared: SharedWork | None = None,
) -> Iterator[PreparedRun]:
    """Compile the datasets and check them against the model, which is open inside the context.

    `shared`: what the run has in common with other runs of the same command.
    """
    observer = observer or Observer()
    resolved = resolve_benchmarks(datasets, settings.values)
    values = resolved.values
    settings = settings.with_values(values)
    AllowedFailures.parse(values.allow_failures)
    require_trackers(parse_trackers(values.track), is_offline=values.offline)
    place = Path(values.out or values.runs_dir)
    require_writable(place, "--out" if values.out else "--runs-dir")
    fix = "free disk space and run the same command again: it resumes from the stored answers"
    with (
        naming_settings(settings.names),
        reporting_disk_full(place, fix),
        reporting_downloads(observer.on_download),
        offline_watch(values) as watch,
    ):
        if values.offline and values.judge is None:
            watch.permit(find_judge_model(resolved.names, values))
        watch.seal()
        with _prepare(resolved, settings, observer, groups, watch, shared) as prepared:
            yield prepared


@contextmanager
def _prepare(
    resolved: ResolvedDatasets,
    settings: Settings,
    observer: Observer,
    groups: Sequence[SummaryGroup] | None,
    watch: Watch,
    shared: SharedWork | None,
) -> Iterator[PreparedRun]:
    datasets, values, benchmarks = resolved
    open_ = open_model if shared is None else shared.open_model
    compile_ = compile_with_settings if shared is None else shared.compile
    with open_run_model(datasets, values, open_) as (backend, answered):
        with measuring("dataset"):
            compiled = compile_(datasets, values, backend, benchmarks)
        watch.look()
        tasks = [_limit_task(one, values) for one in compiled]
        card = probe_model_card(backend, tasks)
        check_plan(tasks, card)
        scorers = {task.spec.name: build_scorers(task) for task in tasks}
        if answered is not None:
            answered.require(tasks)
        if values.stage == "infer":
            # Built all the same, so that wrong metric names raise before the model is queried.
            scorers = {name: [] for name in scorers}
        configs = load_configs(datasets, values)
        judged, notes = values, tuple[str, ...]()
        if values.judge is None and needs_judge(scorers):
            judged, notes = apply_config_judge(configs, values)
        judge_name = judged.judge if needs_judge(scorers) else None
        notes += note_unused_judge(settings, scorers)
        if answered is None:
            check_budget(judged, judge_name)
        # Stored answers cannot act as a judge: it needs an open model.
        with open_judge(scorers, judged, backend if answered is None else None) as judge:
            observer.on_compile(compiled, tasks, card)
            if groups is None:
                groups = read_summary_groups(configs, {task.spec.name for task in tasks})
                groups += _read_task_groups(datasets, values, tasks)
            work = _RunParts(tasks, scorers, backend, answered, judge, judged, compiled, groups, notes, watch)
            manifest = _manifest(work, settings)
            yield PreparedRun(manifest, lambda: _execute(work, manifest, settings, observer))


def _read_task_groups(
    datasets: Sequence[str], values: RunSettings, tasks: Sequence[Task]
) -> tuple[SummaryGroup, ...]:
    """Return the scores that groups of lm-eval's task files combine."""
    own = [task for task in tasks if task.spec.dialect == "lm_eval"]
    if len(own) < 2:
        return ()
    from assay.app.lm_eval_tasks import find_task_folders, read_group_scores

    names = [
        name for name in datasets if detect_dialect(name, values.dialect, values.dataset_args) == "lm_eval"
    ]
    return read_group_scores(names, find_task_folders(values.include_path, values.dataset_args), own)


def compile_with_settings(
    datasets: tuple[str, ...],
    values: RunSettings,
    backend: Backend | None,
    benchmarks: Mapping[str, str] | None = None,
) -> list[CompiledDataset]:
    """Compile datasets with the settings; without a model, prompts are plain text unless chat is on.

    `benchmarks`: the benchmark's name for each dataset name that stands for one.
    """
    with streaming(values.stream):
        return compile_datasets(
            datasets,
            task_settings(values, backend.card if backend else None),
            given=values.table,
            meta=values.meta,
            data_root=values.data_root,
            split=values.split,
            dialect=values.dialect,
            backend=backend,
            benchmarks=benchmarks,
        )


def task_settings(values: RunSettings, card: ModelCard | None) -> TaskSettings:
    """Return the settings of every task; whether prompts are chats depends on the model."""
    is_chat = values.chat == "on" or (values.chat == "auto" and card is not None and card.is_chat)
    return TaskSettings(
        is_scored=values.stage != "infer",
        methods=values.method,
        is_chat=is_chat,
        shots=values.shots,
        shots_from=values.shots_from,
        shot_policy=values.shot_policy,
        seed=values.seed or 0,
        has_default_seed=values.seed is None,
        is_faithful=values.fidelity == "faithful",
        score_by=values.score_by,
        max_tokens=values.max_tokens,
        temperature=values.temperature,
        top_p=values.top_p,
        stop=values.stop,
        windows=values.windows,
        window_tokens=values.window_tokens,
        stride=values.stride,
        samples=values.samples,
        cot=values.cot,
        limit=None if values.limit is None else Limit.parse(values.limit),
        takes_parameters=card is not None and card.takes_parameters,
        include_path=values.include_path,
        dataset_args=values.dataset_args,
    )


def _limit_task(one: CompiledDataset, values: RunSettings) -> Task:
    """Limit the samples of a task; a dialect whose authors see the whole list has already done so."""
    if values.limit is None or one.task.spec.settings.get("limit") is not None:
        return one.task
    return limit_task(one.task, Limit.parse(values.limit), values.seed or 0)


class _RunParts(NamedTuple):
    """All parts of a run."""

    tasks: Sequence[Task]
    scorers: Mapping[str, Sequence[Scorer | CorpusScorer]]
    """Empty lists if answers are not scored."""
    backend: Backend
    answered: AnsweredRun | None
    """The earlier run whose answers are scored."""
    judge: Backend | None
    values: RunSettings
    """The settings, with the judge that a config names."""
    compiled: Sequence[CompiledDataset]
    groups: Sequence[SummaryGroup]
    notes: tuple[str, ...]
    """Notes about the judge."""
    watch: Watch
    """Keeps the run offline."""


def _execute(work: _RunParts, manifest: RunManifest, settings: Settings, observer: Observer) -> FinishedRun:
    values = settings.values
    # Other models of the same command may have run since it was prepared.
    manifest = msgspec.structs.replace(manifest, started=utc_now())
    tasks, scorers, backend = work.tasks, work.scorers, work.backend

    def progress(tally: Tally) -> None:
        work.watch.look()
        observer.on_progress(tally)

    folder = RunFolder(Path(values.out) if values.out else Path(values.runs_dir) / manifest.id)
    if values.fresh:
        folder.archive()
    elif work.answered is None and needs_start_over(folder.path, manifest, values):
        archived = folder.archive()
        assert archived is not None
        note = start_over_note(manifest, archived)
        observer.on_start_over(note)
        manifest = msgspec.structs.replace(manifest, notes=(*manifest.notes, note))
    history = ScoringHistory(folder.path)
    earlier = folder.claim(manifest, history.own_folder)
    if earlier is not None and manifest.label is None:
        manifest = msgspec.structs.replace(manifest, label=earlier.label)
    if earlier is not None and manifest.prompt is None:
        manifest = msgspec.structs.replace(manifest, prompt=earlier.prompt)
    started = time.monotonic()
    tally = Tally()
    try:
        n_scorings = history.restore_own_files()
        folder.write_manifest(manifest)
        if work.answered is None and values.reuse and values.answers_from is not None:
            notes = copy_journal(find_run(values.answers_from, Path(values.runs_dir)), folder.path)
            manifest = msgspec.structs.replace(manifest, notes=(*manifest.notes, *notes))
        spending = open_spending(
            work.values,
            folder.path,
            asks_model=work.answered is None,
            asks_judge=work.judge is not None,
        )
        cache = (
            open_cache(backend, manifest.model, values) if work.answered is None else work.answered.answers
        )
        stored = FileJournal(folder.path / JOURNAL, forget_failures=values.retry_failed)
        observer.on_start(manifest, folder.path, earlier, len(stored))
        journal = stored if work.answered is None else ScoringJournal(stored)
        aggregator = MeanAggregator()
        media = MediaStore(folder.path, values.keep_media, detect_media_type)
        with (
            closing(cache),
            closing(stored),
            SampleWriter(folder.path, media) as writer,
            judging(
                scorers,
                work.judge,
                manifest.judge,
                folder.path,
                values,
                lambda: progress(execution.tally),
                spending.judge,
                spending.gate,
            ) as judge_tally,
        ):
            preliminary = PreliminaryTasks(
                backend, journal, cache, observer.on_preparation, spending.model, spending.gate
            )
            chosen = preliminary.prepare(tasks)
            if chosen:
                manifest = msgspec.structs.replace(manifest, tasks=tuple(task.spec for task in tasks))
                folder.write_manifest(manifest)
            sink = ScoredSamples(writer, scorers)
            execution = Execution(
                tasks,
                backend,
                scorers,
                journal=journal,
                cache=cache,
                sink=sink,
                aggregator=aggregator,
                on_progress=progress,
                fitting=None if work.answered is None else work.answered.fitting,
                keeps_going=values.keep_going or stored.has_answers or work.answered is not None,
                meter=spending.model,
                gate=spending.gate,
            )
            tally = execution.tally
            tally.judge = judge_tally
            observer.on_requests(
                ProgressGauge(
                    list_tracks(work.tasks, work.scorers),
                    scores=aggregator.headlines,
                    stats=backend.stats,
                    n_kept=len(stored),
                )
            )
            progress(execution.tally)
            execution.run()
        work.watch.look()
        with measuring("score"):
            totals = compute_totals(aggregator, manifest.tasks, work.groups)
        came_up = (
            *work.watch.notes,
            *work.notes,
            *stored.notes(),
            *(cache.notes() if isinstance(cache, SqliteCache) else ()),
            *(judge_tally.notes if judge_tally else ()),
            *_note_stored_scorings(n_scorings),
            *(reuse_note(manifest, tally) if work.answered is None else ()),
            *chosen,
            *execution.notes(),
            *backend.notes(),
            *media.notes(),
            *totals.notes,
        )
        finished = msgspec.structs.replace(
            manifest,
            status=RunStatus.ANSWERED if values.stage == "infer" else totals.status,
            finished=utc_now(),
            seconds=round(time.monotonic() - started, 3),
            costs=(*tally.costs.values(), *preliminary.costs),
            charges=spending.charges(),
            stats={
                **_counters(tally),
                **preliminary.counters,
                **{f"model_{name}": n for name, n in backend.stats().items()},
                **_seconds_by_phase(),
            },
            notes=(*manifest.notes, *came_up),
            disagreements=sink.disagreement.counts(),
            agreement_untold=sink.disagreement.count_undecided(),
            groups=totals.members,
            failures=tally.failures,
            unscored=() if values.stage == "infer" else totals.unscored,
            summary_groups=tuple(work.groups),
            speed=execution.speed(),
        )
        with measuring("report"):
            if values.stage == "infer":
                folder.drop_results()
                folder.write_manifest(finished)
                write_report_page(folder.path)
            else:
                write_run_results(folder, finished, totals.metrics, sink.highlights)
        if (recorder := get_recorder()) is not None:
            # With the time of the report, which is written by now.
            times = {**finished.stats, **_seconds_by_phase()}
            finished = msgspec.structs.replace(finished, stats=times)
            folder.write_manifest(finished)
            folder.write_trace(recorder.build_trace())
    except BudgetReached as reached:
        seconds = round(time.monotonic() - started, 3)
        manifest = build_stopped_manifest(
            manifest, spending, tally, preliminary.costs, seconds, _counters(tally)
        )
        folder.write_manifest(manifest)
        if spending.gate is not None and not spending.gate.n_sent:
            raise already_spent_error(spending.gate) from None
        notes = describe_stop(reached, tally, values)
        manifest = msgspec.structs.replace(manifest, notes=(*manifest.notes, *notes, *backend.notes()))
        folder.write_manifest(manifest)
        stopped = FinishedRun(folder.path, manifest, (), tally, (*notes, *backend.notes()), tuple(tasks))
        observer.on_finish(stopped)
        return stopped
    finally:
        folder.release()
    result = FinishedRun(folder.path, finished, totals.metrics, tally, came_up, tuple(tasks))
    observer.on_finish(result)
    return result


def _manifest(work: _RunParts, settings: Settings) -> RunManifest:
    specs = tuple(task.spec for task in work.tasks)
    with measuring("hash"):
        model = work.backend.identity()
    grader = None if work.judge is None else work.judge.identity()
    fingerprint = run_fingerprint(specs, model, grader)
    names = [family.name for family in group_by_family(specs)]
    name = names[0] if len(names) == 1 else f"{names[0]}+{len(names) - 1}"
    return RunManifest(
        slug(f"{name}-{short_name(model.name)}") + f"-{fingerprint[:8]}",
        specs,
        model,
        settings.to_manifest(),
        versions(),
        utc_now(),
        notes=tuple(note for one in work.compiled for note in one.notes),
        judge=grader,
        card=work.backend.card,
        scorers={task.spec.name: list_storable_scorers(task) for task in work.tasks},
        label=settings.values.label,
        prompt=settings.values.prompt_label,
    )


def _note_stored_scorings(n: int) -> tuple[str, ...]:
    """Return a note if a run with later scorings is resumed."""
    if not n:
        return ()
    return (
        f"later scorings of these answers are kept ({n}); the run now shows its own score; "
        "`assay score RUN --list-scorings` lists them",
    )


def _seconds_by_phase() -> dict[str, float]:
    """Return where the time went so far, if that is recorded."""
    recorder = get_recorder()
    if recorder is None:
        return {}
    return {
        **{f"seconds_{phase}": n for phase, n in recorder.compute_seconds().items()},
        **{f"seconds_ahead_{phase}": n for phase, n in recorder.compute_seconds_ahead().items()},
    }


def _counters(tally: Tally) -> dict[str, float]:
    return {
        "requests": tally.n_requests,
        "requests_journaled": tally.n_journaled,
        "requests_cached": tally.n_cached,
        "requests_shared": tally.n_shared,
    }
