"""The stages of a run: query the model, then score its answers, at once or later.

`infer` queries the model and stores the answers. `score` uses the answers of an earlier run and never opens
the model. An answer applies to exactly the request that was sent, so evaluators, post-processors and
reference answers may have changed in the meantime. A changed prompt has no answer and is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from assay.app.settings import RunSettings
from assay.app.stored_runs import find_run
from assay.core.errors import Problem, StoreError, listing
from assay.core.origin import Origin
from assay.core.ports import Backend
from assay.core.task import Task
from assay.engine.replay_backend import RecordedFitter, ShotCounts, StoredAnswers, StoredModel
from assay.results.read import StoredRun, list_readable_runs
from assay.results.store import JOURNAL

_N_PROBED = 20
"""Number of samples of a task of which at least one must have an answer."""


class AnsweredRun:
    """An earlier run whose stored answers replace the model."""

    def __init__(self, run: StoredRun, values: RunSettings) -> None:
        card = run.manifest.card
        if card is None or not (run.path / JOURNAL).is_file():
            what = (
                "the run does not record what its model supports: it was made by an earlier version of Assay"
            )
            raise StoreError(Problem("STORE-007", what, "run it again with its model", Origin(str(run.path))))
        self.run = run
        self.answers = StoredAnswers(run.path / JOURNAL)
        notes = list(_note_other_model(run, values))
        self.model = StoredModel(run.manifest.model, card, self.answers, notes, run.manifest.tasks)
        self.fitting = RecordedFitter(_count_shown_shots(run))

    def require(self, tasks: Sequence[Task]) -> None:
        """Raise if the run has no answers for a task; single missing answers are allowed."""
        for task in tasks:
            seen = False
            for sample in islice(task.samples(), _N_PROBED):
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
            "its prompts, examples or rows have changed"
            if task.spec.name in known
            else f"the run contains only {listing(known)}"
        )
        what = f"the run has no answers for the requests of {task.spec.name!r}: {why}"
        fix = "run the same command without --stage score to query the model"
        raise StoreError(Problem("STORE-007", what, fix, Origin(str(self.run.path))))


@contextmanager
def open_run_model(
    datasets: tuple[str, ...],
    values: RunSettings,
    open_model: Callable[[RunSettings], Backend],
) -> Iterator[tuple[Backend, AnsweredRun | None]]:
    """Open the model with `open_model`, or the stored answers if the stage is `score`."""
    if values.stage == "score":
        answered = AnsweredRun(find_answered_run(datasets, values), values)
        backend: Backend = answered.model
    else:
        answered = None
        backend = open_model(values)
    try:
        yield backend, answered
    finally:
        backend.close()


def find_answered_run(datasets: tuple[str, ...], values: RunSettings) -> StoredRun:
    """Return the run whose answers are scored: the named one, else the latest that matches."""
    root = Path(values.runs_dir)
    if values.answers_from is not None:
        return find_run(values.answers_from, root)
    if values.out is not None:
        return StoredRun(Path(values.out))
    runs, problems = list_readable_runs(root)
    for run in reversed(runs):
        if _is_run_of(run, datasets, values):
            return run
    what = f"there is no run of {values.model!r} on {listing(datasets)} in this folder"
    if problems:
        what += f"; {len(problems)} runs cannot be read, `assay ls` lists them"
    fix = "query the model first (--stage infer), or name the run (--answers-from RUN)"
    raise StoreError(Problem("STORE-007", what, fix, Origin(str(root))))


def _is_run_of(run: StoredRun, datasets: tuple[str, ...], values: RunSettings) -> bool:
    """Return whether a run used this model and at least one of these datasets, as they are named."""
    recorded = run.manifest.settings
    wanted = {"model": values.model, "model_args": values.model_args}
    is_model = all(name in recorded and recorded[name].value == value for name, value in wanted.items())
    # Runs of earlier versions do not record it.
    is_model = is_model and ("thinking" not in recorded or recorded["thinking"].value == values.thinking)
    if "table" in recorded:
        is_model = is_model and recorded["table"].value.get("template") == values.table.get("template")
    sources = {name for task in run.manifest.tasks for name in (task.source, task.benchmark)}
    return is_model and not sources.isdisjoint(datasets)


def _note_other_model(run: StoredRun, values: RunSettings) -> Iterator[str]:
    """Yield a note if the answers come from another model than the one named now."""
    recorded = run.manifest.settings.get("model")
    if recorded is not None and recorded.value != values.model:
        yield f"the answers come from {recorded.value}; {values.model} was not queried"


def _count_shown_shots(run: StoredRun) -> ShotCounts:
    """Return the number of examples in the prompt where not all requested examples fitted."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for record in run.samples():
        shortened = {ask.track for ask in record.asks if ask.n_shots_left_out}
        if shortened:
            counts[record.task, record.sample.id] = {
                track: max(ask.n_shots for ask in record.asks if ask.track == track) for track in shortened
            }
    return counts
