"""The progress of a run as one frozen object, for terminals, log lines, programs and pages.

Creating it takes time proportional to the number of tasks, so it is created when something is drawn, not for
each sample. Independent of terminals; uses only the clock that is passed in.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from threading import Lock
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from assay.core.score import Metric
from assay.core.tally import JudgeTally, Tally
from assay.core.task import CorpusScorer, Scorer, Task
from assay.sources.datasets_library import showing_downloads

Phase: TypeAlias = Literal["loading", "beforehand", "samples", "scoring"]

_RECENT_S = 15.0
_FEWEST_ARRIVALS = 8
_SHORTEST_S = 1.0
_AT_ONCE = 0.02
"""Answers within this share at the start of the window count as one batch."""


class Track(NamedTuple):
    """One method of one task of the plan."""

    task: str
    method: str
    n_samples: int
    is_scored_late: bool = False
    """Whether its samples are scored only once all of them are answered."""


def list_tracks(tasks: Iterable[Task], scorers: Mapping[str, Sequence[Scorer | CorpusScorer]]) -> list[Track]:
    """Return the methods of the tasks; a task without scorers gets one entry for all its methods."""
    tracks = []
    for task in tasks:
        name, n = task.spec.name, task.spec.n_samples
        tracks += [Track(name, one.track, n, not isinstance(one, Scorer)) for one in scorers[name]]
        if not scorers[name]:
            tracks.append(Track(name, ", ".join(task.spec.methods), n))
    return tracks


class TrackProgress(msgspec.Struct, frozen=True):
    """The progress of one method of one task."""

    task: str
    method: str
    n_samples: int
    n_done: int
    """Samples that are answered, and scored unless scoring needs all samples."""
    score: Metric | None
    """Its headline metric over the samples so far; None before the first."""
    is_scored_late: bool
    """Whether the score is only known once all samples are answered."""


class JudgeProgress(msgspec.Struct, frozen=True):
    """The progress of the judge that metrics query."""

    n_prompts: int
    """Prompts for the judge so far: metrics query it once all samples of their task are answered."""
    n_replied: int
    n_failed: int
    """Of the replies, those that failed."""
    replies_per_s: float | None
    seconds_left: float | None
    """Until all prompts so far are answered; None while unknown."""


class WorkersProgress(msgspec.Struct, frozen=True):
    """The state of worker processes."""

    n_up: int
    """Workers that are ready."""
    n_awaited: int
    """Workers that are starting or wait for resources on a cluster."""
    n_nodes: int | None
    """Machines with workers; None if all are on this one."""
    n_lost: int
    """Workers that died or were stopped so far and were replaced."""


class RunProgress(msgspec.Struct, frozen=True):
    """How far a run is, how fast it is, and its scores so far."""

    phase: Phase
    """`loading` before the first answer, `beforehand` while tasks run requests that precede their samples,
    `samples`, and `scoring` once all samples are answered."""
    seconds: float
    """Since the start of the run."""
    seconds_silent: float
    """Since the last answer."""
    n_samples: int
    n_done: int
    share_done: float
    """From 0 to 1, including requests of unfinished samples."""
    n_requests: int
    """Requests created so far."""
    n_answered: int
    n_journaled: int
    """Answers from an earlier start of the run. They do not count in any rate."""
    n_cached: int
    samples_per_s: float | None
    requests_per_s: float | None
    tokens_per_s: float | None
    """Recent rate; None while unknown."""
    seconds_left: float | None
    is_left_at_least: bool
    """Whether `seconds_left` is a lower bound: the speed of a method without answers is unknown."""
    n_failed: int
    """Failed samples."""
    failures: dict[str, int]
    """Failed samples by the kind of their first failure."""
    last_failure: str | None
    concurrency: int | None
    """Maximum concurrent requests at a server; None if there is no server or it does not report one."""
    n_retries: int | None
    """Retried requests; None if there are no requests to a server."""
    tracks: tuple[TrackProgress, ...]
    judge: JudgeProgress | None = None
    """None until a judge is queried."""
    workers: WorkersProgress | None = None
    """None if the model runs in the run's own process or at a server."""
    device_busy_share: float | None = None
    """The part of the time, since the first likelihood, in which the device computed; None while unknown."""


class _Point(NamedTuple):
    """Counts at a point in time."""

    now: float
    n_asked: int
    """Answers, without those of an earlier start."""
    n_counted: int
    n_tokens: int
    """Requests whose tokens were counted, and these tokens."""


class RecentPace:
    """The recent rate of answers.

    Measured over the latest seconds or, if answers come rarely and in batches, over the latest few arrivals.
    The measurement starts with the first answer, so that the loading time of a model does not count.
    """

    def __init__(self) -> None:
        self._points: deque[_Point] = deque()

    def add(self, point: _Point) -> None:
        """Add the counts at a point in time; ignore them if nothing arrived."""
        if not point.n_asked or (self._points and point.n_asked == self._points[-1].n_asked):
            return
        self._points.append(point)
        while len(self._points) > _FEWEST_ARRIVALS and self._points[1].now <= point.now - _RECENT_S:
            self._points.popleft()

    @property
    def last_answer_at(self) -> float | None:
        """Return the time of the last answer; None before the first."""
        return self._points[-1].now if self._points else None

    def requests_per_s(self) -> float | None:
        """Return answers per second; None while the measured time is too short."""
        window = self._window()
        if window is None:
            return None
        first, last = window
        return (last.n_asked - first.n_asked) / (last.now - first.now)

    def tokens_per_request(self) -> float | None:
        """Return the mean over the requests with counted tokens in this time; None if there were none."""
        window = self._window()
        if window is None:
            return None
        first, last = window
        n = last.n_counted - first.n_counted
        return (last.n_tokens - first.n_tokens) / n if n else None

    def _window(self) -> tuple[_Point, _Point] | None:
        """Return the start and the end of the measured time; None while it is too short.

        It starts once the first batch is complete, because that batch's work began earlier.
        """
        if not self._points:
            return None
        begin, last = self._points[0].now, self._points[-1]
        at_once = begin + _AT_ONCE * (last.now - begin)
        first = max((point for point in self._points if point.now <= at_once), key=lambda point: point.now)
        return (first, last) if last.now - first.now >= _SHORTEST_S else None


def _no_scores() -> Sequence[Metric]:
    return ()


def _no_stats() -> Mapping[str, float]:
    return {}


class ProgressGauge:
    """Computes the progress of a run on demand.

    The answers of a batch arrive together; then none arrive while the run's thread computes. Another thread
    may call `look_again` in the meantime: it only reads counts and does not touch the run thread's sums.
    """

    def __init__(
        self,
        tracks: Sequence[Track] = (),
        *,
        scores: Callable[[], Sequence[Metric]] = _no_scores,
        stats: Callable[[], Mapping[str, float]] = _no_stats,
        n_kept: int = 0,
        is_beforehand: bool = False,
        is_rescoring: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the plan of a run, and functions that return its scores and its model's counters.

        `n_kept`: answers of an earlier start in the journal. `is_rescoring`: all answers are stored, so
        that none is reported as cached.
        """
        self._tracks = tracks
        self._scores = scores
        self._stats = stats
        self._n_kept = n_kept
        self._is_beforehand = is_beforehand
        self._is_rescoring = is_rescoring
        self._clock = clock
        self._began = clock()
        self._pace = RecentPace()
        self._judge_pace = RecentPace()
        self._pacing = Lock()

    def note(self, tally: Tally) -> None:
        """Record the counts for the recent rate; call it now and then, even if nothing is drawn."""
        costs = list(tally.costs.values())
        n_asked = tally.n_answered - tally.n_journaled
        n_counted, n_tokens = sum(cost.n_requests for cost in costs), sum(cost.n_tokens for cost in costs)
        with self._pacing:
            self._pace.add(_Point(self._clock(), n_asked, n_counted, n_tokens))
            if (judge := tally.judge) is not None:
                # Stored replies took no time.
                n_known = judge.n_journaled + judge.n_cached
                self._judge_pace.add(_Point(self._clock(), judge.n_replied - n_known, 0, 0))

    def look(self, tally: Tally) -> RunProgress:
        """Return the current progress; call it on the run's own thread."""
        stats = self._stats()
        scores: dict[tuple[str, str], Metric] = {}
        for metric in self._scores():
            # An author may mark several headline metrics; the first decides.
            scores.setdefault((metric.task, metric.method), metric)
        tracks = tuple(
            TrackProgress(
                track.task,
                track.method,
                track.n_samples,
                tally.landed.get(track.task, 0),
                scores.get((track.task, track.method)),
                track.is_scored_late,
            )
            for track in self._tracks
        )
        calls = _counter(stats, "concurrency"), _counter(stats, "retries")
        busy = stats.get("device_busy_share") or None
        return self._describe_progress(tally, tracks, *calls, _workers(stats), busy)

    def look_again(self, tally: Tally, earlier: RunProgress) -> RunProgress:
        """Return the current progress on any thread: current counts, and the scores of `earlier`."""
        tracks = tuple(
            msgspec.structs.replace(track, n_done=tally.landed.get(track.task, 0)) for track in earlier.tracks
        )
        # Worker counts can be read on any thread, and change while no answer arrives.
        workers = None if earlier.workers is None else _workers(self._stats())
        calls = earlier.concurrency, earlier.n_retries
        return self._describe_progress(tally, tracks, *calls, workers, earlier.device_busy_share)

    def _describe_progress(
        self,
        tally: Tally,
        tracks: tuple[TrackProgress, ...],
        concurrency: int | None,
        n_retries: int | None,
        workers: WorkersProgress | None,
        device_busy_share: float | None,
    ) -> RunProgress:
        self.note(tally)
        now = self._clock()
        with self._pacing:
            per_s, tokens = self._pace.requests_per_s(), self._pace.tokens_per_request()
            silent_s = now - (self._began if self._pace.last_answer_at is None else self._pace.last_answer_at)
        return RunProgress(
            phase=self._phase(tally),
            seconds=now - self._began,
            seconds_silent=silent_s,
            n_samples=tally.n_samples,
            n_done=tally.n_done,
            share_done=tally.share_done,
            n_requests=tally.n_requests,
            n_answered=tally.n_answered,
            n_journaled=tally.n_journaled,
            n_cached=0 if self._is_rescoring else tally.n_cached,
            samples_per_s=None if per_s is None else per_s * tally.n_begun / max(tally.n_requests, 1),
            requests_per_s=per_s,
            tokens_per_s=None if per_s is None or tokens is None else per_s * tokens,
            seconds_left=self._seconds_left(tally, per_s, silent_s),
            is_left_at_least=_has_untimed_method(tally),
            n_failed=tally.n_failed,
            failures=dict(tally.failures),
            last_failure=tally.last_failure,
            concurrency=concurrency,
            n_retries=n_retries,
            tracks=tracks,
            judge=None
            if tally.judge is None or not tally.judge.n_prompts
            else self._describe_judge(tally.judge),
            workers=workers,
            device_busy_share=device_busy_share,
        )

    def _describe_judge(self, judge: JudgeTally) -> JudgeProgress:
        with self._pacing:
            per_s, last = self._judge_pace.requests_per_s(), self._judge_pace.last_answer_at
        left_s = None
        if per_s and last is not None:
            silent_s = self._clock() - last
            left_s = max(0.0, (judge.n_prompts - judge.n_replied) / per_s - silent_s)
        return JudgeProgress(judge.n_prompts, judge.n_replied, judge.n_failed, per_s, left_s)

    def _phase(self, tally: Tally) -> Phase:
        if not tally.n_answered:
            return "loading"
        if self._is_beforehand:
            return "beforehand"
        return "samples" if tally.n_done < tally.n_samples else "scoring"

    def _seconds_left(self, tally: Tally, per_s: float | None, silent_s: float) -> float | None:
        """Return the estimated time for the remaining requests, counted from the last answer.

        Samples not started yet are assumed to have as many requests as the others. Answers of an earlier
        start take no time. A model may score all options before it generates the first text, so each method
        has its own rate where one is known.
        """
        if not per_s or not tally.n_begun:
            return None
        n_times = max(tally.n_samples, tally.n_begun) / tally.n_begun
        n_owed = tally.n_requests * n_times - tally.n_answered
        n_known = max(0, self._n_kept - tally.n_journaled)
        left_s = (n_owed - n_known) / per_s
        paces = list(tally.methods.values())
        if n_owed > 0 and len(paces) > 1:
            owed = [max(0.0, pace.n_requests * n_times - pace.n_answered) for pace in paces]
            # The speed of a method without answers is unknown: assume at least that of the others.
            usual = sum(pace.seconds for pace in paces) / max(sum(pace.n_timed > 0 for pace in paces), 1)
            each = [pace.seconds if pace.n_timed else usual for pace in paces]
            left_s = sum(n * one for n, one in zip(owed, each, strict=True)) * max(0.0, 1 - n_known / n_owed)
        return max(0.0, left_s - silent_s)


def _has_untimed_method(tally: Tally) -> bool:
    """Return whether a method has no answer yet while another has."""
    paces = list(tally.methods.values())
    is_owed = tally.n_begun < tally.n_samples
    return any(pace.n_timed for pace in paces) and any(
        not pace.n_timed and (is_owed or pace.n_answered < pace.n_requests) for pace in paces
    )


def _counter(stats: Mapping[str, float], name: str) -> int | None:
    return int(stats[name]) if name in stats else None


def _workers(stats: Mapping[str, float]) -> WorkersProgress | None:
    if "workers" not in stats:
        return None
    n_up, n_lost = int(stats["workers"]), int(stats["workers_lost"])
    return WorkersProgress(n_up, int(stats["workers_awaited"]), _counter(stats, "nodes"), n_lost)


def showing_library_downloads(is_shown: bool) -> AbstractContextManager[None]:
    """Show or hide the download progress of the `datasets` library inside the block."""
    return showing_downloads(is_shown)
