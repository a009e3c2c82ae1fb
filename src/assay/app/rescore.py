"""Score a run's answers again without its model: with another extractor, metric, normalisation or judge.

The scores of the run and of all earlier scorings are kept (results/history.py). The dataset is not needed
either, unless its author's code does the scoring.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.app.allowed_failures import SETTING as ALLOW_FAILURES
from assay.app.allowed_failures import AllowedFailures
from assay.app.config_declarations import find_judge_model
from assay.app.judge import judging, open_judge
from assay.app.metric_selection import list_reported_metrics
from assay.app.offline.watch import Watch, offline_watch
from assay.app.progress import ProgressGauge, list_tracks
from assay.app.rescoring_scorers import rebuild_scorers, resolve_judge, resolve_sources
from assay.app.run import Observer
from assay.app.run_names import slug, utc_now, versions
from assay.app.score_summary import ScoredSamples, compute_totals, write_run_results
from assay.app.scorer_selection import ScoringChoices, ScoringPlan, plan_scoring
from assay.app.settings import RunSettings
from assay.app.stored_tasks import ReadOnlyJournal, load_stored_tasks
from assay.core.errors import Problem, StoreError, UsageError
from assay.core.model import ModelCard
from assay.core.origin import Origin
from assay.core.request import Kind
from assay.core.run import RunManifest, RunStatus, Scoring, Setting
from assay.core.score import Metric
from assay.core.tally import Tally
from assay.engine.execute import Execution
from assay.engine.replay_backend import RecordedFitter, StoredAnswers, StoredModel
from assay.results.history import OWN_LABEL, ScoringHistory, StoredScoring, parse_draft_number
from assay.results.read import StoredRun
from assay.results.scoring_changes import ScoringChanges, compare_scorings
from assay.results.scoring_folders import find_parent_run
from assay.results.store import JOURNAL, RunFolder, ScoreWriter
from assay.results.subset_families import select_headline_metrics
from assay.scoring.aggregate import MeanAggregator


class RescoreResult(msgspec.Struct, frozen=True):
    """The result of a scoring."""

    folder: Path
    """The run folder, which now shows the scoring."""
    entry: StoredScoring
    manifest: RunManifest
    metrics: tuple[Metric, ...]
    tally: Tally
    changes: ScoringChanges
    """Differences from the run's own scoring."""
    shown_before: Path
    """The scoring that the run showed before."""
    run_notes: tuple[str, ...] = ()


def rescore(
    run: Path,
    choices: ScoringChoices,
    *,
    label: str | None = None,
    offline: bool = False,
    allowed: AllowedFailures | None = None,
    observer: Observer | None = None,
) -> RescoreResult:
    """Score the answers in a run folder again, store the result as a new scoring, and show it.

    `allowed`: how many samples may fail; None: as in the run. `observer` receives the progress. If the
    scoring or the run is offline, the calling thread permanently loses access to internet sockets.
    """
    name = _label(label, choices)
    folder = RunFolder(run)
    folder.lock()
    try:
        _require_run(run)
        own = StoredRun(ScoringHistory(run).own_folder).manifest
        values = _settings(own, choices, offline=offline)
        with offline_watch(values) as watch:
            if values.offline and values.judge is None:
                watch.permit(find_judge_model(resolve_sources(own, values).names, values))
            watch.seal()
            own = _set_allowed_failures(own, allowed)
            return _rescore(folder, own, choices, name, values, watch, observer or Observer())
    finally:
        folder.release()


def show_scoring(run: Path, wanted: str) -> StoredScoring:
    """Make another scoring the one that a run shows."""
    folder = RunFolder(run)
    folder.lock()
    try:
        _require_run(run)
        history = ScoringHistory(run)
        entry = history.find(wanted)
        history.adopt()
        history.use(entry)
    finally:
        folder.release()
    return entry


class ListedScoring(NamedTuple):
    """One scoring of a run with its results."""

    name: str
    manifest: RunManifest
    heads: tuple[Metric, ...]
    """The headline metrics."""
    differences: tuple[float | None, ...]
    """The difference of each headline from the first scoring; None if that has another metric."""
    is_shown: bool
    is_of_older_answers: bool
    """Whether the run was resumed after this scoring."""


def list_scorings(run: Path) -> list[ListedScoring]:
    """Return the scorings of a run, the run's own first."""
    history = ScoringHistory(run)
    current = history.current
    scorings = [(one.name, one.path, one == current) for one in history.entries()]
    if current is None:
        # A resumed run shows its own files; its earlier scorings stay in the list.
        scorings = [("run", run, True), *((name, path, False) for name, path, _ in scorings)]
    journal = run / JOURNAL
    journal_bytes = journal.stat().st_size if journal.is_file() else 0
    first: dict[tuple[str, str, str], float | None] = {}
    listed: list[ListedScoring] = []
    for number, (name, path, is_shown) in enumerate(scorings):
        stored = StoredRun(path)
        heads = tuple(select_headline_metrics(stored.metrics(), stored.manifest))
        if number == 0:
            first = {(one.task, one.method, one.metric): one.value for one in heads}
        scoring = stored.manifest.scoring
        less = (_subtract(one.value, first.get((one.task, one.method, one.metric))) for one in heads)
        is_older = scoring is not None and scoring.journal_bytes != journal_bytes
        listed.append(ListedScoring(name, stored.manifest, heads, tuple(less), is_shown, is_older))
    return listed


def _subtract(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


def _require_run(run: Path) -> None:
    """Raise unless a folder contains a run whose model has answered all requests."""
    if (owner := find_parent_run(run)) is not None:
        what, fix = "this is a scoring of a run, not a run", f"name the run: {owner.name}"
    elif StoredRun(run).manifest.status in (RunStatus.RUNNING, RunStatus.STOPPED):
        what, fix = (
            "the run is not complete: its model has not answered all requests",
            "resume it first with the same `assay run` command",
        )
    elif not (run / JOURNAL).is_file():
        what, fix = f"the run has no stored answers: there is no {JOURNAL}", "run it again"
    else:
        return
    raise StoreError(Problem("RESCORE-001", what, fix, Origin(str(run))))


def _label(given: str | None, choices: ScoringChoices) -> str:
    """Return the name of a scoring: the given one, or one that describes the choices."""
    if given is None:
        read = (choices.extract or "").partition(":")[0]
        judged = "judge" if choices.judge or choices.judge_prompt or choices.match == "judge" else None
        match = None if choices.match == "judge" else choices.match
        several = choices.several_right and f"{choices.several_right}-right"
        args = [f"{name}-{value}" for name, value in choices.metric_args.items()]
        parts = [
            part for part in (read, *choices.metrics, *args, choices.score_by, match, several, judged) if part
        ]
        return slug("-".join(parts)) or "again"
    label = slug(given)
    if not label or label == OWN_LABEL:
        what = f"--name {given!r}: " + (
            "a name needs letters or digits" if not label else "this is the name of the run's own scoring"
        )
        raise UsageError(Problem("RESCORE-009", what, "choose another name"))
    return label


def _rescore(
    folder: RunFolder,
    own: RunManifest,
    choices: ScoringChoices,
    label: str,
    values: RunSettings,
    watch: Watch,
    observer: Observer,
) -> RescoreResult:
    def progress(tally: Tally) -> None:
        watch.look()
        observer.on_progress(tally)

    history = ScoringHistory(folder.path)
    tasks = load_stored_tasks(folder.path, own.tasks)
    answers = StoredAnswers(folder.path / JOURNAL)
    # Runs of earlier versions lack the model card, which does not matter without requests.
    card = own.card or ModelCard(own.model.name, frozenset(Kind), is_chat=False)
    with closing(StoredModel(own.model, card, answers, specs=own.tasks)) as model:
        plan = plan_scoring(
            own, tasks, choices, list_reported_metrics(StoredRun(history.own_folder).metrics())
        )
        scorers = rebuild_scorers(own, tasks, plan, values, model)
        values, judge_notes = resolve_judge(own, scorers, choices, values)
        with open_judge(scorers, values, None) as judge:
            grader = None if judge is None else judge.identity()
            # Only now: all errors in the choices were raised, and the folder is unchanged so far.
            before = history.adopt()
            draft = history.draft(label)
            aggregator = MeanAggregator()
            with (
                ScoreWriter(draft) as writer,
                judging(
                    scorers, judge, grader, folder.path, values, lambda: progress(execution.tally)
                ) as judge_tally,
            ):
                sink = ScoredSamples(writer, scorers)
                execution = Execution(
                    list(tasks.values()),
                    model,
                    scorers,
                    journal=ReadOnlyJournal(answers),
                    cache=answers,
                    sink=sink,
                    aggregator=aggregator,
                    on_progress=progress,
                    fitting=RecordedFitter({}),
                )
                execution.tally.judge = judge_tally
                observer.on_start(own, folder.path, None, 0)
                observer.on_requests(
                    ProgressGauge(
                        list_tracks(tasks.values(), scorers), scores=aggregator.headlines, is_rescoring=True
                    )
                )
                tally = execution.run()
        watch.look()
        totals = compute_totals(aggregator, own.tasks, own.summary_groups)
        if judge_tally is not None:
            judge_notes = (*judge_notes, *judge_tally.notes)
        came_up = (*watch.notes, *plan.notes, *judge_notes, *execution.notes(), *model.notes(), *totals.notes)
    manifest = msgspec.structs.replace(
        own,
        status=totals.status,
        notes=tuple(dict.fromkeys((*own.notes, _describe_scoring(draft, choices), *came_up))),
        disagreements=sink.disagreement.counts(),
        agreement_untold=sink.disagreement.count_undecided(),
        judge=grader,
        groups=dict(totals.members),
        failures=tally.failures,
        unscored=totals.unscored,
        scorers=_record_scorers(plan),
        scoring=_build_scoring(draft, label, choices, folder.path),
    )
    write_run_results(RunFolder(draft), manifest, totals.metrics, sink.highlights)
    entry = history.keep(draft)
    history.use(entry)
    changes = compare_scorings(StoredRun(history.own_folder), StoredRun(entry.path))
    return RescoreResult(folder.path, entry, manifest, totals.metrics, tally, changes, before.path, came_up)


def _settings(own: RunManifest, choices: ScoringChoices, *, offline: bool) -> RunSettings:
    """Return the settings of the run, with the judge chosen now."""
    recorded = {
        name: setting.value for name, setting in own.settings.items() if name in RunSettings.__struct_fields__
    }
    values = msgspec.convert(recorded, RunSettings, strict=False)
    # Read the judge's cache even if the run itself ignored its cache.
    values = msgspec.structs.replace(
        values, fresh=False, retry_failed=False, stage="score", offline=offline or values.offline
    )
    if choices.judge is None:
        return values
    return msgspec.structs.replace(values, judge=choices.judge, judge_args=choices.judge_args)


def _set_allowed_failures(own: RunManifest, allowed: AllowedFailures | None) -> RunManifest:
    """Return the manifest of a run, with the allowed failures of the scoring."""
    if allowed is None:
        return own
    settings = {**own.settings, ALLOW_FAILURES: Setting(str(allowed), "flag")}
    return msgspec.structs.replace(own, settings=settings)


def _describe_scoring(draft: Path, choices: ScoringChoices) -> str:
    chosen = ", ".join(f"{name} {_format_choice(value)}" for name, value in choices.to_manifest().items())
    return f"scored again as {draft.name}: {chosen or 'same choices as the run'}; the run's own score is kept"


def _format_choice(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _record_scorers(plan: ScoringPlan) -> dict[str, tuple[Any, ...]]:
    recorded: dict[str, tuple[Any, ...]] = {task: () for task, _ in plan.by_author}
    for (task, _), spec in plan.named.items():
        recorded[task] = (*recorded.get(task, ()), spec)
    return recorded


def _build_scoring(draft: Path, label: str, choices: ScoringChoices, run: Path) -> Scoring:
    size = (run / JOURNAL).stat().st_size
    return Scoring(parse_draft_number(draft), label, utc_now(), choices.to_manifest(), versions(), size)
