"""Evaluate several models, or one model with several prompts, in one command.

All runs are prepared before the first one starts, so that every error appears before any weights are loaded.
Local models run one after the other, each closed before the next is loaded. Each model on a server has its
own thread, so servers work side by side. Every run gets an ordinary run folder; a group names them together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import Context, copy_context
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.app.offline.watch import deferring_seal, offline_switches
from assay.app.run import FinishedRun, Observer, PreparedRun, log_to_trackers, prepare_run
from assay.app.run_names import slug, utc_now
from assay.app.run_plan import PlannedRun, is_served, place_in_folder
from assay.app.shared_work import SharedWork
from assay.core.errors import AssayError, Problem, UsageError
from assay.core.tally import Tally
from assay.results.output_folder import require_writable
from assay.results.run_group import GroupMember, RunGroup, build_group_id, require_free_folder, write_group
from assay.results.subset_families import group_by_family

SAME_RUN = "GROUP-006"
_PATIENCE_S = 5.0
"""How long Ctrl-C waits for runs on other threads, which stop at their next answer."""


_PASSED_ON = (
    *("on_compile", "on_download", "on_start_over", "on_start"),
    *("on_preparation", "on_requests", "on_finish", "on_failure"),
)
"""Events that only the observer of a run handles."""


class EndedRun(NamedTuple):
    """A run of a group at its end."""

    planned: PlannedRun
    finished: FinishedRun | None
    """None if it failed."""
    error: AssayError | None


class FinishedGroup(NamedTuple):
    """The runs of one command."""

    folder: Path
    group: RunGroup
    runs: tuple[EndedRun, ...]
    """In the order of the command."""


def run_several(
    datasets: tuple[str, ...],
    plan: Sequence[PlannedRun],
    observe: Callable[[PlannedRun], Observer],
) -> FinishedGroup:
    """Evaluate every planned run; one that fails does not stop the others.

    `observe` returns the observer of a run. Raises all problems that can be found before weights are loaded.
    """
    place, plan = _place_runs(plan)
    values = plan[0].settings.values
    models = [one.settings.values.model for one in plan]
    with (
        offline_switches() if values.offline else nullcontext(),
        deferring_seal(models) if values.offline else nullcontext(),
        _prepare_all(datasets, plan, observe) as runs,
    ):
        _require_different_runs(runs)
        folder, group = _begin_group(place, runs)
        write_group(folder, group)
        try:
            _execute_all(runs)
        finally:
            group = _end_group(group, runs)
            write_group(folder, group)
    if (bug := next((one.bug for one in runs if one.bug is not None), None)) is not None:
        raise bug
    # One after the other: not every tracker accepts runs from several threads.
    for one in runs:
        if one.finished is not None:
            one.finished = log_to_trackers(one.finished, one.planned.settings.values)
    return FinishedGroup(folder, group, tuple(EndedRun(one.planned, one.finished, one.error) for one in runs))


def _place_runs(plan: Sequence[PlannedRun]) -> tuple[Path | None, list[PlannedRun]]:
    """Return the folder given by `--out`, if any, and the plan with a subfolder of it for each run."""
    out = plan[0].settings.values.out
    if out is None:
        return None, list(plan)
    require_writable(Path(out))
    names: list[str] = []
    for one in plan:
        name = slug(f"{one.model}-{one.prompt}" if one.prompt else one.model) or "run"
        # Two names can become one where a file system does not allow their characters.
        names.append(f"{name}-{len(names) + 1}" if name.casefold() in map(str.casefold, names) else name)
    require_free_folder(Path(out), names)
    return Path(out), [place_in_folder(one, Path(out), name) for one, name in zip(plan, names, strict=True)]


# --- preparing ---


class _Run:
    """One run: prepared on the main thread, then executed there or on the thread of its server.

    Each run has its own context, so that context variables of one do not reach another.
    """

    def __init__(self, planned: PlannedRun, observer: Observer) -> None:
        self.planned = planned
        self.observer = _StoppableObserver(observer)
        self.prepared: PreparedRun | None = None
        self.finished: FinishedRun | None = None
        self.error: AssayError | None = None
        self.bug: Exception | None = None
        self._context: Context = copy_context()
        self._stack = ExitStack()
        self._has_begun = False

    def prepare(self, datasets: tuple[str, ...], shared: SharedWork) -> None:
        """Open the model and compile the datasets; raise AssayError if that fails."""
        opening = prepare_run(datasets, self.planned.settings, self.observer, shared=shared)
        self.prepared = self._context.run(self._stack.enter_context, opening)

    def execute(self) -> None:
        """Evaluate and close the model; keep an error instead of raising it."""
        self._has_begun = True
        try:
            self._context.run(self._execute)
        except AssayError as error:
            self.error = error
            self.observer.on_failure()
        except Exception as error:  # noqa: BLE001
            # A bug: raised once the other runs have ended.
            error.add_note(f"while evaluating {self.planned.title}")
            self.bug = error
            self.observer.on_failure()

    def _execute(self) -> None:
        assert self.prepared is not None
        with self._stack:
            self.finished = self.prepared.execute()

    def close(self) -> None:
        """Close the model if the run never began; otherwise its end closes it."""
        if not self._has_begun:
            self._context.run(self._stack.close)


class _StoppableObserver(Observer):
    """Passes events on, and ends the run at the next event after `stop`."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._is_stopped = False
        for name in _PASSED_ON:
            setattr(self, name, getattr(observer, name))

    def stop(self) -> None:
        """Let the run end as after Ctrl-C. On any thread."""
        self._is_stopped = True

    def on_progress(self, tally: Tally) -> None:
        """Pass the progress on, or raise KeyboardInterrupt."""
        if self._is_stopped:
            raise KeyboardInterrupt
        self._observer.on_progress(tally)


@contextmanager
def _prepare_all(
    datasets: tuple[str, ...], plan: Sequence[PlannedRun], observe: Callable[[PlannedRun], Observer]
) -> Iterator[list[_Run]]:
    """Prepare all runs, and close those that remain open; raise the problems of all of them together."""
    shared = SharedWork()
    runs = [_Run(planned, observe(planned)) for planned in plan]
    errors: list[tuple[PlannedRun, AssayError]] = []
    try:
        for one in runs:
            try:
                one.prepare(datasets, shared)
            except AssayError as error:
                errors.append((one.planned, error))
        if errors:
            raise _combine_errors(errors, len(plan))
        yield runs
    finally:
        for one in runs:
            one.close()


def _combine_errors(errors: Sequence[tuple[PlannedRun, AssayError]], n_runs: int) -> AssayError:
    """Return one error with the problems of several runs, each with the names of its runs."""
    titles: dict[bytes, list[str]] = {}
    known: dict[bytes, Problem] = {}
    for planned, error in errors:
        for problem in error.problems:
            key = msgspec.json.encode(problem)
            known[key] = problem
            titles.setdefault(key, []).append(planned.title)
    problems = [
        # A problem of every run is one of the dataset or of the command.
        problem
        if len(titles[key]) == n_runs
        else msgspec.structs.replace(problem, what=f"{', '.join(titles[key])}: {problem.what}")
        for key, problem in known.items()
    ]
    n_hidden = max(error.total - len(error.problems) for _, error in errors)
    kinds = {type(error) for _, error in errors}
    kind = kinds.pop() if len(kinds) == 1 else AssayError
    return kind(problems, total=len(problems) + n_hidden)


def _require_different_runs(runs: Sequence[_Run]) -> None:
    """Raise GROUP-006 if two runs have the same model and the same prompts: they would share one folder."""
    titles: dict[str, list[str]] = {}
    for one in runs:
        assert one.prepared is not None
        titles.setdefault(one.prepared.manifest.id, []).append(one.planned.title)
    problems = []
    for same in titles.values():
        if len(same) > 1:
            what = f"{' and '.join(map(repr, same))} are the same model with the same prompts"
            fix = "name each model and each prompt once, or give them different arguments"
            problems.append(Problem(SAME_RUN, what, fix))
    if problems:
        raise UsageError(problems)


# --- executing ---


def _execute_all(runs: Sequence[_Run]) -> None:
    """Execute local models on this thread, and each server's on its own."""
    local, *lanes = _divide_into_lanes(runs)
    if not local and len(lanes) == 1:
        local, lanes = lanes[0], []
    threads = [
        # Daemon threads: a process that is asked to end does not wait for a server.
        threading.Thread(target=_execute_in_order, args=(lane,), name=lane[0].planned.model, daemon=True)
        for lane in lanes
    ]
    for thread in threads:
        thread.start()
    try:
        _execute_in_order(local)
        for thread in threads:
            thread.join()
    except BaseException:
        for one in runs:
            one.observer.stop()
        for thread in threads:
            thread.join(_PATIENCE_S / len(threads))
        raise


def _execute_in_order(lane: Sequence[_Run]) -> None:
    for one in lane:
        try:
            one.execute()
        except KeyboardInterrupt:
            if threading.current_thread() is threading.main_thread():
                raise
            # The main thread was interrupted, and reports it.
            return


def _divide_into_lanes(runs: Sequence[_Run]) -> list[list[_Run]]:
    """Return the runs that need this machine's memory, and those of each model on a server."""
    local: list[_Run] = []
    served: dict[Any, list[_Run]] = {}
    for one in runs:
        values = one.planned.settings.values
        # A local judge would be loaded by every thread at once.
        has_local_judge = values.judge is not None and not is_served(values.judge)
        needs_server = is_served(values.model) and values.stage != "score" and not has_local_judge
        lane = served.setdefault(one.planned.model, []) if needs_server else local
        lane.append(one)
    return [local, *served.values()]


# --- the group ---


def _begin_group(place: Path | None, runs: Sequence[_Run]) -> tuple[Path, RunGroup]:
    """Return the folder and the record of the group before its runs start."""
    members = []
    ids = []
    for one in runs:
        assert one.prepared is not None
        id_ = one.prepared.manifest.id
        ids.append(id_)
        values = one.planned.settings.values
        relative = Path(values.out).name if values.out else f"../{id_}"
        members.append(GroupMember(id_, relative, one.planned.model, one.planned.prompt))
    assert runs[0].prepared is not None
    families = group_by_family(runs[0].prepared.manifest.tasks)
    title = families[0].name if len(families) == 1 else f"{families[0].name}+{len(families) - 1}"
    group_id = build_group_id(slug(title), ids)
    folder = place or Path(runs[0].planned.settings.values.runs_dir) / group_id
    return folder, RunGroup(group_id, utc_now(), tuple(members))


def _end_group(group: RunGroup, runs: Sequence[_Run]) -> RunGroup:
    """Return the record of the group at its end."""
    members = tuple(
        msgspec.structs.replace(member, problems=() if one.error is None else one.error.problems)
        for member, one in zip(group.runs, runs, strict=True)
    )
    is_finished = all(one.finished is not None or one.error is not None for one in runs)
    return msgspec.structs.replace(group, runs=members, finished=utc_now() if is_finished else None)
