"""The stages of a run: asking the model, and scoring what it answered, now or later, as often as wanted.

`infer` asks and keeps the answers. `score` takes the answers of an earlier run and never opens the model:
they count for exactly what was asked, so an evaluator or a post-processor may have changed since, and a row's
right answer too. A prompt that has changed is one that was never asked, and is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from assay.app.open_model import open_model
from assay.app.settings import RunSettings
from assay.core.errors import Problem, StoreError, listing
from assay.core.origin import Origin
from assay.core.ports import Backend
from assay.core.task import Task
from assay.engine.replay_backend import RecordedFitter, ShotCounts, StoredAnswers, StoredModel
from assay.results.read import StoredRun, find_run, list_readable_runs
from assay.results.store import JOURNAL

_LOOKED_AT = 20
"""Samples of a task of which one must have been asked."""


class AnsweredRun:
    """An earlier run, as the model in whose place it answers."""

    def __init__(self, run: StoredRun, values: RunSettings) -> None:
        card = run.manifest.card
        if card is None or not (run.path / JOURNAL).is_file():
            what = "the run does not say what its model could do: an earlier version of Assay made it"
            raise StoreError(Problem("STORE-007", what, "run it again with its model", Origin(str(run.path))))
        self.run = run
        self.answers = StoredAnswers(run.path / JOURNAL)
        notes = list(_note_other_model(run, values))
        self.model = StoredModel(run.manifest.model, card, self.answers, notes, run.manifest.tasks)
        self.fitting = RecordedFitter(_count_shown_shots(run))

    def require(self, tasks: Sequence[Task]) -> None:
        """Raise where the run holds no answer to what a task asks, and let single ones pass."""
        for task in tasks:
            seen = False
            for sample in islice(task.samples(), _LOOKED_AT):
                requests = self.fitting.requests(task, sample)
                seen = True
                if any(one.key in self.answers or self.answers.failure(one.key) for one in requests):
                    break
            else:
                if seen:
                    self._raise_no_answers(task)

    def _raise_no_answers(self, task: Task) -> None:
        known = [spec.name for spec in self.run.manifest.tasks]
        why = (
            "its prompts, its examples or its rows are others now"
            if task.spec.name in known
            else f"the run is of {listing(known)}"
        )
        what = f"the run holds no answer to what {task.spec.name!r} asks: {why}"
        fix = "ask the model: the same command without --stage score"
        raise StoreError(Problem("STORE-007", what, fix, Origin(str(self.run.path))))


@contextmanager
def open_run_model(
    datasets: tuple[str, ...], values: RunSettings
) -> Iterator[tuple[Backend, AnsweredRun | None]]:
    """Open the model, or what is kept of it where answers are only scored."""
    if values.stage == "score":
        kept = AnsweredRun(find_answered_run(datasets, values), values)
        backend: Backend = kept.model
    else:
        kept = None
        backend = open_model(values)
    try:
        yield backend, kept
    finally:
        backend.close()


def find_answered_run(datasets: tuple[str, ...], values: RunSettings) -> StoredRun:
    """Return the run whose answers are scored: the one that was named, or the latest that fits."""
    root = Path(values.runs_dir)
    if values.answers_from is not None:
        return find_run(values.answers_from, root)
    if values.out is not None:
        return StoredRun(Path(values.out))
    runs, problems = list_readable_runs(root)
    for run in reversed(runs):
        if _is_run_of(run, datasets, values):
            return run
    what = f"no run of {values.model!r} on {listing(datasets)} is kept here"
    if problems:
        what += f"; {len(problems)} runs cannot be read: `assay ls` names them"
    fix = "ask the model first: --stage infer; or name the run: --answers-from RUN"
    raise StoreError(Problem("STORE-007", what, fix, Origin(str(root))))


def _is_run_of(run: StoredRun, datasets: tuple[str, ...], values: RunSettings) -> bool:
    """Whether a run is of this model and one of these datasets, as they were named."""
    recorded = run.manifest.settings
    asked = {"model": values.model, "model_args": values.model_args}
    is_model = all(name in recorded and recorded[name].value == value for name, value in asked.items())
    sources = {task.source for task in run.manifest.tasks}
    return is_model and not sources.isdisjoint(datasets)


def _note_other_model(run: StoredRun, values: RunSettings) -> Iterator[str]:
    """Yield a note where the answers are not of the model that is named now."""
    asked = run.manifest.settings.get("model")
    if asked is not None and asked.value != values.model:
        yield f"the answers are those of {asked.value}, not of {values.model}, which was not asked"


def _count_shown_shots(run: StoredRun) -> ShotCounts:
    """Return how many examples were shown where not all that were asked for fitted."""
    shown: dict[tuple[str, str], dict[str, int]] = {}
    for record in run.samples():
        shortened = {ask.track for ask in record.asks if ask.n_shots_left_out}
        if shortened:
            shown[record.task, record.sample.id] = {
                track: max(ask.n_shots for ask in record.asks if ask.track == track) for track in shortened
            }
    return shown
