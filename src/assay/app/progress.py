"""How a run goes, in one frozen object that every face draws from: a terminal, a line, a program, a page.

Making one costs about as much as there are tasks, so it is made when something is drawn and not with each
sample. Knows no terminal and no clock but the one it is given.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from assay.core.score import Metric
from assay.core.task import CorpusScorer, Scorer, Task
from assay.engine.execute import Tally
from assay.engine.judging import JudgeTally

Phase: TypeAlias = Literal["loading", "beforehand", "samples", "scoring"]

_RECENT_S = 15.0
_FEWEST_ARRIVALS = 8
_SHORTEST_S = 1.0
_AT_ONCE = 0.02
"""Of the time looked at, the share within which answers at its beginning are one batch."""


class Track(NamedTuple):
    """One method of one task, as it stands in the plan."""

    task: str
    method: str
    n_samples: int
    is_scored_late: bool = False
    """Whether its samples are scored when all of them are there."""


def list_tracks(tasks: Iterable[Task], scorers: Mapping[str, Sequence[Scorer | CorpusScorer]]) -> list[Track]:
    """Return the methods of the tasks; where nothing is scored, they stand together."""
    tracks = []
    for task in tasks:
        name, n = task.spec.name, task.spec.n_samples
        tracks += [Track(name, one.track, n, not isinstance(one, Scorer)) for one in scorers[name]]
        if not scorers[name]:
            tracks.append(Track(name, ", ".join(task.spec.methods), n))
    return tracks


class TrackProgress(msgspec.Struct, frozen=True):
    """How far one method of one task is."""

    task: str
    method: str
    n_samples: int
    n_done: int
    """Samples that are answered, and scored where that needs no others."""
    score: Metric | None
    """What it is judged by, over the samples so far; None before the first."""
    is_scored_late: bool
    """Whether there is no score before all samples are answered."""


class JudgeProgress(msgspec.Struct, frozen=True):
    """How far the judge is that metrics ask."""

    n_prompts: int
    """What it was given to judge so far: metrics ask when all samples of their task are answered."""
    n_replied: int
    n_failed: int
    """Of what is replied to, how often no reply came."""
    replies_per_s: float | None
    seconds_left: float | None
    """To the end of what it was given; None while too little is known."""


class WorkersProgress(msgspec.Struct, frozen=True):
    """Who answers, where several processes do."""

    n_up: int
    """Workers that can be given work."""
    n_awaited: int
    """Workers that are starting, or wait for room on a cluster."""
    n_nodes: int | None
    """Machines that workers are on; None where all are on this one."""
    n_lost: int
    """Workers that died or were ended so far, and were replaced."""


class RunProgress(msgspec.Struct, frozen=True):
    """How far a run is, how fast it is, and what has come out so far."""

    phase: Phase
    """`loading` before the first answer, `beforehand` while tasks ask what comes before their samples,
    `samples`, and `scoring` once all samples are answered."""
    seconds: float
    """Since the run began."""
    seconds_silent: float
    """Since the last answer."""
    n_samples: int
    n_done: int
    share_done: float
    """From 0 to 1, requests of a sample that is under way included."""
    n_requests: int
    """Requests made so far."""
    n_answered: int
    n_journaled: int
    """Of them, those that an earlier start of the run had answered. They are in no rate."""
    n_cached: int
    samples_per_s: float | None
    requests_per_s: float | None
    tokens_per_s: float | None
    """Of late; None while too little is known."""
    seconds_left: float | None
    is_left_at_least: bool
    """Whether it takes longer still, perhaps: a method was not asked yet, and nobody knows what it takes."""
    n_failed: int
    """Samples."""
    failures: dict[str, int]
    """Failed samples by their first trouble."""
    last_failure: str | None
    concurrency: int | None
    """Calls that may be under way at a server; None where there is none, or it does not tell."""
    n_retries: int | None
    """Calls that were made again; None where there are no calls."""
    tracks: tuple[TrackProgress, ...]
    judge: JudgeProgress | None = None
    """None before a judge was asked, and where none is."""
    workers: WorkersProgress | None = None
    """None where the model answers in the run's own process, or at a server."""


class _Point(NamedTuple):
    """What was counted at a time."""

    now: float
    n_asked: int
    """Answers, without those of an earlier start."""
    n_counted: int
    n_tokens: int
    """Requests whose tokens were counted, and these tokens."""


class RecentPace:
    """How fast answers come of late.

    Over the latest seconds; where answers come seldom, in batches, over the latest few arrivals. It begins
    with the first answer: the time that a model takes to load says nothing of its pace.
    """

    def __init__(self) -> None:
        self._points: deque[_Point] = deque()

    def add(self, point: _Point) -> None:
        """Take the counts at a time; what has not grown is no arrival."""
        if not point.n_asked or (self._points and point.n_asked == self._points[-1].n_asked):
            return
        self._points.append(point)
        while len(self._points) > _FEWEST_ARRIVALS and self._points[1].now <= point.now - _RECENT_S:
            self._points.popleft()

    @property
    def last(self) -> float | None:
        """Return when something came the last time; None: nothing yet."""
        return self._points[-1].now if self._points else None

    def requests_per_s(self) -> float | None:
        """Return answers per second; None before there is a stretch of time to tell by."""
        stretch = self._stretch()
        if stretch is None:
            return None
        first, last = stretch
        return (last.n_asked - first.n_asked) / (last.now - first.now)

    def tokens_per_request(self) -> float | None:
        """Return the mean over the requests that were counted meanwhile; None where none were."""
        stretch = self._stretch()
        if stretch is None:
            return None
        first, last = stretch
        n = last.n_counted - first.n_counted
        return (last.n_tokens - first.n_tokens) / n if n else None

    def _stretch(self) -> tuple[_Point, _Point] | None:
        """Return the beginning and the end of what the pace is told by; None while that is too short.

        It begins when the first batch is whole: what came with that took time before.
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
    """Tells how a run goes, whenever it is looked at.

    Answers of a batch come all at once, and then none for long while the run's own thread computes. So
    another thread may look again meanwhile: it reads counts, and leaves alone what the run's thread adds up.
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
        """Take the plan of a run, and where to ask for its scores and its model's counters.

        `n_kept`: answers of an earlier start that lie in the journal. `is_rescoring`: answers are all known,
        and none is told as one of a cache.
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
        """Note how far the run is, for its pace: now and then, also where it is seldom looked at."""
        costs = list(tally.costs.values())
        n_asked = tally.n_answered - tally.n_journaled
        n_counted, n_tokens = sum(cost.n_requests for cost in costs), sum(cost.n_tokens for cost in costs)
        with self._pacing:
            self._pace.add(_Point(self._clock(), n_asked, n_counted, n_tokens))
            if (judge := tally.judge) is not None:
                # What was known without asking took no time; what is shared takes that of the other.
                n_known = judge.n_journaled + judge.n_cached
                self._judge_pace.add(_Point(self._clock(), judge.n_replied - n_known, 0, 0))

    def look(self, tally: Tally) -> RunProgress:
        """Return how the run goes now; on the run's own thread."""
        stats = self._stats()
        scores: dict[tuple[str, str], Metric] = {}
        for metric in self._scores():
            # An author may lead with several metrics; the first of them decides.
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
        return self._seen(tally, tracks, *calls, _workers(stats))

    def look_again(self, tally: Tally, earlier: RunProgress) -> RunProgress:
        """Return how the run goes now, on any thread: by its counts, and the scores of the look before."""
        tracks = tuple(
            msgspec.structs.replace(track, n_done=tally.landed.get(track.task, 0)) for track in earlier.tracks
        )
        # Counts of workers are read on any thread, and change while no answer comes.
        workers = None if earlier.workers is None else _workers(self._stats())
        return self._seen(tally, tracks, earlier.concurrency, earlier.n_retries, workers)

    def _seen(
        self,
        tally: Tally,
        tracks: tuple[TrackProgress, ...],
        concurrency: int | None,
        n_retries: int | None,
        workers: WorkersProgress | None,
    ) -> RunProgress:
        self.note(tally)
        now = self._clock()
        with self._pacing:
            per_s, tokens = self._pace.requests_per_s(), self._pace.tokens_per_request()
            silent_s = now - (self._began if self._pace.last is None else self._pace.last)
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
            judge=None if tally.judge is None or not tally.judge.n_prompts else self._judging(tally.judge),
            workers=workers,
        )

    def _judging(self, judge: JudgeTally) -> JudgeProgress:
        with self._pacing:
            per_s, last = self._judge_pace.requests_per_s(), self._judge_pace.last
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
        """Return how long what is still to be asked takes at the pace of late, from the last answer on.

        Samples that are not begun yet have as many requests as the others; what an earlier start has
        answered takes no time. A model may score all options before it writes the first text, so that the
        pace is each method's own, where it is known.
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
            # Of a method that was not asked yet nothing is known: it takes what the others do, at least.
            usual = sum(pace.seconds for pace in paces) / max(sum(pace.n_timed > 0 for pace in paces), 1)
            each = [pace.seconds if pace.n_timed else usual for pace in paces]
            left_s = sum(n * one for n, one in zip(owed, each, strict=True)) * max(0.0, 1 - n_known / n_owed)
        return max(0.0, left_s - silent_s)


def _has_untimed_method(tally: Tally) -> bool:
    """Whether a method has still to be asked for the first time, while another was."""
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
