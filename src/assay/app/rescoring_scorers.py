"""Rebuild the scorers and the judge of a finished run: registered parts and code of dataset authors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from assay.app.benchmarks import ResolvedDatasets, resolve_benchmarks
from assay.app.config_declarations import apply_config_judge, load_configs
from assay.app.judge import needs_judge
from assay.app.run import compile_with_settings
from assay.app.scorer_selection import ScoringChoices, ScoringPlan
from assay.app.scorers import build_scorers
from assay.app.settings import RunSettings
from assay.app.stored_tasks import StoredTask
from assay.core.errors import AssayError, PlanError, Problem, UsageError
from assay.core.origin import Origin
from assay.core.run import RunManifest
from assay.core.secrets import HIDDEN
from assay.core.task import CorpusScorer, Scorer
from assay.engine.replay_backend import StoredModel
from assay.scoring.scorers.registry import make_scorer


@runtime_checkable
class MetricChooser(Protocol):
    """A scorer in an author's code whose metrics can be selected."""

    def choose(self, names: Sequence[str]) -> None:
        """Report only these metrics; the first is the headline."""


Scorers = Mapping[str, Sequence[Scorer | CorpusScorer]]


def resolve_sources(own: RunManifest, values: RunSettings) -> ResolvedDatasets:
    """Return the datasets of a run, which were named on its command line."""
    return resolve_benchmarks([spec.display_source for spec in own.tasks], values)


def rebuild_scorers(
    own: RunManifest,
    tasks: Mapping[str, StoredTask],
    plan: ScoringPlan,
    values: RunSettings,
    model: StoredModel,
) -> Scorers:
    """Return the scorers of each task, in the order of its methods."""
    authors = _authors_scorers(own, plan, values, model) if plan.by_author else {}
    return {
        name: [
            make_scorer(plan.named[name, method]) if (name, method) in plan.named else authors[name, method]
            for method in task.spec.methods
        ]
        for name, task in tasks.items()
    }


def _authors_scorers(
    own: RunManifest, plan: ScoringPlan, values: RunSettings, model: StoredModel
) -> dict[tuple[str, str], Scorer | CorpusScorer]:
    """Compile the run's datasets again to get the authors' scorers."""
    if own.imported is not None:
        raise _missing_code_error(own, plan, "")
    try:
        sources = resolve_sources(own, values)
        compiled = compile_with_settings(sources.names, sources.values, model, sources.benchmarks)
    except AssayError as error:
        raise _missing_code_error(own, plan, f"it can no longer be read: {error.problems[0]}") from error
    scorers: dict[tuple[str, str], Scorer | CorpusScorer] = {}
    specs = {spec.name: spec for spec in own.tasks}
    for one in compiled:
        name = one.task.spec.name
        if not any(task == name for task, _ in plan.by_author):
            continue
        if one.task.spec.data_hash != specs[name].data_hash:
            raise _missing_code_error(own, plan, "it has changed since the run")
        for scorer in build_scorers(one.task):
            scorers[name, scorer.track] = scorer
            if (names := plan.by_author.get((name, scorer.track))) and isinstance(scorer, MetricChooser):
                scorer.choose(names)
    if lost := plan.by_author.keys() - scorers.keys():
        raise _missing_code_error(own, plan, f"it no longer scores {' by '.join(min(lost))}")
    return scorers


def _missing_code_error(own: RunManifest, plan: ScoringPlan, why: str) -> PlanError:
    name = min(plan.by_author)[0]
    if own.imported is not None:
        what = f"task {name!r}: it was scored by {own.imported.format}, whose rules are not in its log"
        fix = "score its responses with registered parts: --extract and --metric, or --score-by"
        return PlanError(Problem("RESCORE-006", what, fix, Origin(own.imported.path)))
    source = next(spec.display_source for spec in own.tasks if spec.name == name)
    who = (
        "it is scored by code of its dataset"
        if name in own.scorers
        else "the run was made by an earlier version and does not record how it was scored, so its dataset "
        "is needed"
    )
    what = f"task {name!r}: {who}, but {why}"
    fix = (
        f"score with registered parts (--extract, --metric), or as a new run: "
        f"assay run {source} --stage score --answers-from {own.id}"
    )
    return PlanError(Problem("RESCORE-006", what, fix, Origin(source)))


def resolve_judge(
    own: RunManifest, scorers: Scorers, choices: ScoringChoices, values: RunSettings
) -> tuple[RunSettings, tuple[str, ...]]:
    """Return the settings with a judge: the one chosen now, else the run's, else the one in its config."""
    if not needs_judge(scorers):
        if choices.judge is not None:
            what = "--judge names a judge, but no selected scorer uses one"
            raise UsageError(
                Problem("RESCORE-008", what, "remove --judge, or choose a method that generates text")
            )
        return values, ()
    notes: tuple[str, ...] = ()
    if values.judge is None:
        values, notes = apply_config_judge(load_configs(resolve_sources(own, values).names, values), values)
    # If the judge is the model itself, it opens with the model's settings.
    is_model = values.judge == values.model and not values.judge_args
    if HIDDEN in (values.model_args if is_model else values.judge_args).values():
        what = f"the judge {values.judge!r} needs a secret, which Assay does not store"
        raise UsageError(Problem("RESCORE-008", what, "pass it again: --judge MODEL --judge-arg KEY=VALUE"))
    return values, notes
