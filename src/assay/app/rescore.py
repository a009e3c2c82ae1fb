"""Scoring a run's answers again, without its model: by another extractor, metric, normalisation or judge.

The scores of the run, and of every scoring before, are kept (results/history.py). The dataset is not needed
either, unless code of its author scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from assay.app.chosen_scorers import Choices, Plan, plan_scoring
from assay.app.judge import judging, needs_judge, open_judge
from assay.app.offline.watch import Watch, kept_offline
from assay.app.outcome import ScoredSamples, total, write_outcome
from assay.app.run import compile_asked
from assay.app.run_names import now, slug, versions
from assay.app.said_in_configs import configs_among, judge_in, with_named_judge
from assay.app.scorers import scorers_of
from assay.app.settings import HIDDEN, RunSettings
from assay.app.stored_tasks import AnswersOnly, StoredTask, stored_tasks
from assay.core.errors import AssayError, PlanError, Problem, StoreError, UsageError
from assay.core.model import ModelCard
from assay.core.origin import Origin
from assay.core.request import Kind
from assay.core.run import RunManifest, RunStatus, Scoring
from assay.core.score import Metric
from assay.core.task import CorpusScorer, Scorer
from assay.engine.execute import Execution, Tally
from assay.engine.stored_model import RecordedFitting, StoredAnswers, StoredModel
from assay.results.history import OWN_LABEL, Entry, History, number_of
from assay.results.read import StoredRun
from assay.results.scoring_changes import Changes, changes_between
from assay.results.scoring_place import run_of
from assay.results.store import JOURNAL, RunFolder, ScoreWriter
from assay.scoring.aggregate import MeanAggregator
from assay.scoring.scorers.registry import make_scorer

Scorers = Mapping[str, Sequence[Scorer | CorpusScorer]]


class Rescored(msgspec.Struct, frozen=True):
    """What a scoring came to."""

    folder: Path
    """Of the run, which shows it now."""
    entry: Entry
    manifest: RunManifest
    metrics: tuple[Metric, ...]
    tally: Tally
    changes: Changes
    """What is other than in the run's own scoring."""
    shown_before: Path
    """The scoring that the run showed until now."""
    came_up: tuple[str, ...] = ()


def rescore(
    run: Path,
    choices: Choices,
    *,
    label: str | None = None,
    offline: bool = False,
) -> Rescored:
    """Score the answers in a run folder again, keep what came out as a scoring of its own, and show it.

    What is kept offline, now or when it was run, takes internet sockets from the thread that calls this.
    """
    name = _label(label, choices)
    folder = RunFolder(run)
    folder.hold()
    try:
        _require_run(run)
        own = StoredRun(History(run).own).manifest
        values = _settings(own, choices, offline=offline)
        with kept_offline(values) as watch:
            if values.offline and values.judge is None:
                watch.permit(judge_in(_sources(own), values))
            watch.seal()
            return _rescore(folder, own, choices, name, values, watch)
    finally:
        folder.release()


def use(run: Path, wanted: str) -> Entry:
    """Show another scoring of a run."""
    folder = RunFolder(run)
    folder.hold()
    try:
        _require_run(run)
        history = History(run)
        entry = history.find(wanted)
        history.adopt()
        history.use(entry)
    finally:
        folder.release()
    return entry


def _require_run(run: Path) -> None:
    """Raise unless a folder holds a run whose model has answered everything."""
    if (owner := run_of(run)) is not None:
        what, fix = "this is one scoring of a run", f"name the run: {owner.name}"
    elif StoredRun(run).manifest.status is RunStatus.RUNNING:
        what, fix = (
            "the run is not complete: its model has still to answer",
            "end it first: the same `assay run`",
        )
    elif not (run / JOURNAL).is_file():
        what, fix = f"the answers of the model are not kept here: there is no {JOURNAL}", "run it again"
    else:
        return
    raise StoreError(Problem("RESCORE-001", what, fix, Origin(str(run))))


def _label(given: str | None, choices: Choices) -> str:
    """Return the name of a scoring: the one that was given, or one that says what was chosen."""
    if given is None:
        read = (choices.extract or "").partition(":")[0]
        judged = "judge" if choices.judge or choices.judge_prompt else None
        parts = [part for part in (read, *choices.metrics, choices.score_by, judged) if part]
        return slug("-".join(parts)) or "again"
    label = slug(given)
    if not label or label == OWN_LABEL:
        what = f"--name {given!r}: " + (
            "a name has letters or digits" if not label else "that is the run's own"
        )
        raise UsageError(Problem("RESCORE-009", what, "choose another name"))
    return label


def _rescore(
    folder: RunFolder, own: RunManifest, choices: Choices, label: str, values: RunSettings, watch: Watch
) -> Rescored:
    history = History(folder.path)
    tasks = stored_tasks(folder.path, own.tasks)
    answers = StoredAnswers(folder.path / JOURNAL)
    # What an earlier version of Assay did not note of a model matters to nobody who asks it nothing.
    card = own.card or ModelCard(own.model.name, frozenset(Kind), is_chat=False)
    with closing(StoredModel(own.model, card, answers)) as model:
        plan = plan_scoring(own, tasks, choices)
        scorers = _scorers(own, tasks, plan, values, model)
        values, judge_notes = _with_judge(own, scorers, choices, values)
        with open_judge(scorers, values, None) as judge:
            grader = None if judge is None else judge.identity()
            # Only now: whatever is wrong with the choices was told, and the folder is as it was.
            before = history.adopt()
            draft = history.draft(label)
            aggregator = MeanAggregator()
            with ScoreWriter(draft) as writer, judging(scorers, judge, grader, folder.path, values):
                sink = ScoredSamples(writer)
                execution = Execution(
                    list(tasks.values()),
                    model,
                    scorers,
                    journal=AnswersOnly(answers),
                    cache=answers,
                    sink=sink,
                    aggregator=aggregator,
                    on_progress=lambda _: watch.look(),
                    fitting=RecordedFitting({}),
                )
                tally = execution.run()
        totals = total(aggregator, own.tasks, own.summary_groups)
        came_up = (*watch.notes, *plan.notes, *judge_notes, *execution.notes(), *model.notes(), *totals.notes)
    manifest = msgspec.structs.replace(
        own,
        status=RunStatus.COMPLETE,
        notes=tuple(dict.fromkeys((*own.notes, _told(draft, choices), *came_up))),
        disagreements=sink.disagreements(own.tasks),
        judge=grader,
        groups=dict(totals.members),
        scorers=_recorded(plan),
        scoring=_scoring(draft, label, choices, folder.path),
    )
    write_outcome(RunFolder(draft), manifest, totals.metrics, sink.highlights)
    entry = history.keep(draft)
    history.use(entry)
    changes = changes_between(StoredRun(history.own), StoredRun(entry.path))
    return Rescored(folder.path, entry, manifest, totals.metrics, tally, changes, before.path, came_up)


def _sources(own: RunManifest) -> tuple[str, ...]:
    """Return the datasets of a run, as they were named."""
    return tuple(dict.fromkeys(spec.source for spec in own.tasks))


def _settings(own: RunManifest, choices: Choices, *, offline: bool) -> RunSettings:
    """Return the settings of the run, with the judge that is chosen now."""
    recorded = {
        name: setting.value for name, setting in own.settings.items() if name in RunSettings.__struct_fields__
    }
    values = msgspec.convert(recorded, RunSettings, strict=False)
    # The cache of a judge's answers is read even if the run itself was asked afresh.
    values = msgspec.structs.replace(
        values, fresh=False, retry_failed=False, stage="score", offline=offline or values.offline
    )
    if choices.judge is None:
        return values
    return msgspec.structs.replace(values, judge=choices.judge, judge_args=choices.judge_args)


def _scorers(
    own: RunManifest,
    tasks: Mapping[str, StoredTask],
    plan: Plan,
    values: RunSettings,
    model: StoredModel,
) -> Scorers:
    """Return the scorers of each task, in the order of its methods."""
    authors = _authors_scorers(own, plan, values, model) if plan.by_author else {}
    return {
        name: [
            make_scorer(plan.named[name, method]) if (name, method) in plan.named else authors[name, method]
            for method in task.spec.methods
            if (name, method) in plan.named or (name, method) in authors
        ]
        for name, task in tasks.items()
    }


def _authors_scorers(
    own: RunManifest, plan: Plan, values: RunSettings, model: StoredModel
) -> dict[tuple[str, str], Scorer | CorpusScorer]:
    """Compile the run's datasets again, for the code in them."""
    try:
        compiled = compile_asked(_sources(own), values, model)
    except AssayError as error:
        raise _no_code(own, plan, f"it cannot be read any more: {error.problems[0]}") from error
    found: dict[tuple[str, str], Scorer | CorpusScorer] = {}
    specs = {spec.name: spec for spec in own.tasks}
    for one in compiled:
        name = one.task.spec.name
        if not any(task == name for task, _ in plan.by_author):
            continue
        if one.task.spec.data_hash != specs[name].data_hash:
            raise _no_code(own, plan, "it has changed since")
        for scorer in scorers_of(one.task):
            found[name, scorer.track] = scorer
    if lost := {task for task, _ in plan.by_author} - {task for task, _ in found}:
        raise _no_code(own, plan, f"it has no task {sorted(lost)[0]!r} any more")
    return found


def _no_code(own: RunManifest, plan: Plan, why: str) -> PlanError:
    name = min(plan.by_author)[0]
    source = next(spec.source for spec in own.tasks if spec.name == name)
    who = (
        "code of its dataset scores it"
        if name in own.scorers
        else "the run, of an earlier version, does not say how it was scored: its dataset is needed"
    )
    what = f"task {name!r}: {who}, and {why}"
    fix = (
        f"score by named parts (--extract, --metric); or as another run: "
        f"assay run {source} --stage score --answers-from {own.id}"
    )
    return PlanError(Problem("RESCORE-006", what, fix, Origin(source)))


def _with_judge(
    own: RunManifest, scorers: Scorers, choices: Choices, values: RunSettings
) -> tuple[RunSettings, tuple[str, ...]]:
    """Return the settings with the judge: the one chosen now, else the run's, else the one in its config."""
    if not needs_judge(scorers):
        if choices.judge is not None:
            what = "a judge is named, and nothing that is scored asks one"
            raise UsageError(
                Problem("RESCORE-008", what, "leave --judge away, or choose a method that writes")
            )
        return values, ()
    notes: tuple[str, ...] = ()
    if values.judge is None:
        values, notes = with_named_judge(configs_among(_sources(own), values), values)
    if HIDDEN in (values.judge_args or values.model_args).values() and choices.judge is None:
        what = f"the judge {values.judge!r} was given a secret, which is not stored"
        raise UsageError(Problem("RESCORE-008", what, "name it again: --judge MODEL --judge-arg KEY=VALUE"))
    return values, notes


def _told(draft: Path, choices: Choices) -> str:
    chosen = ", ".join(f"{name} {_shown(value)}" for name, value in choices.recorded().items())
    return (
        f"scored again as {draft.name}: {chosen or 'as the run was'}; the run's own score is kept beside it"
    )


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _recorded(plan: Plan) -> dict[str, tuple[Any, ...]]:
    recorded: dict[str, tuple[Any, ...]] = {task: () for task, _ in plan.by_author}
    for (task, _), spec in plan.named.items():
        recorded[task] = (*recorded.get(task, ()), spec)
    return recorded


def _scoring(draft: Path, label: str, choices: Choices, run: Path) -> Scoring:
    size = (run / JOURNAL).stat().st_size
    return Scoring(number_of(draft), label, now(), choices.recorded(), versions(), size)
