"""Progress of a run as text, shared by the panel and the plain lines."""

from __future__ import annotations

from assay.app.progress import Phase, RunProgress, TrackProgress, WorkersProgress
from assay.core.errors import format_count
from assay.results.rows import format_metric_interval, format_metric_value

PHASES: dict[Phase, str] = {
    "loading": "waiting for the model",
    "beforehand": "preparing",
    "samples": "samples",
    "scoring": "scoring",
}
_SILENT_S = 15.0
_SCORES_IN_A_LINE = 3


def format_duration(seconds: float | None) -> str:
    """Return a duration such as `2:03` or `1:02:03`; `?` if unknown."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def format_time_left(progress: RunProgress) -> str:
    """Return the remaining time: `2:03 left`, `at least 2:03 left`."""
    least = "at least " if progress.is_left_at_least and progress.seconds_left is not None else ""
    return f"{least}{format_duration(progress.seconds_left)} left"


def format_rate(number: float) -> str:
    """Return a rate with few digits, readable while it changes."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def format_score(track: TrackProgress) -> str:
    """Return a method's score so far, or when it will be available."""
    if track.score is not None:
        return format_metric_value(track.score)
    return "at the end" if track.is_scored_late else "-"


def format_interval(track: TrackProgress) -> str:
    """Return the interval of a method's score so far."""
    return "" if track.score is None else format_metric_interval(track.score)


def format_failures(progress: RunProgress) -> str:
    """Return the failed samples by reason: `3 failed (2 timeout, 1 too_long)`."""
    reasons = sorted(progress.failures.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{n:,} {reason}" for reason, n in reasons)
    return f"{progress.n_failed:,} failed ({listed})"


def list_pace_facts(progress: RunProgress) -> list[str]:
    """Return the speed, workers and concurrency."""
    rates = {
        "samples/s": progress.samples_per_s,
        "requests/s": progress.requests_per_s,
        "tokens/s": progress.tokens_per_s,
    }
    facts = [f"{format_rate(rate)} {unit}" for unit, rate in rates.items() if rate]
    if progress.workers is not None:
        facts.append(_format_workers(progress.workers))
    if progress.concurrency is not None:
        facts.append(f"{progress.concurrency:,} concurrent requests")
    if progress.n_retries:
        facts.append(f"{progress.n_retries:,} retries")
    if progress.seconds_silent > _SILENT_S and progress.phase == "samples":
        facts.append(f"no answer for {format_duration(progress.seconds_silent)}")
    return facts


def _format_workers(workers: WorkersProgress) -> str:
    """Return the workers: `3 workers on 2 nodes, 1 more awaited, 2 lost`."""
    words = format_count(workers.n_up, "worker")
    if workers.n_nodes:
        words += f" on {format_count(workers.n_nodes, 'node')}"
    if workers.n_awaited:
        words += f", {workers.n_awaited:,} {'more ' if workers.n_up else ''}awaited"
    return f"{words}, {workers.n_lost:,} lost" if workers.n_lost else words


def list_judge_facts(progress: RunProgress) -> list[str]:
    """Return the progress of the judge."""
    judge = progress.judge
    if judge is None:
        return []
    facts = [f"judged {judge.n_replied:,} of {judge.n_prompts:,}"]
    if judge.n_replied < judge.n_prompts:
        facts.append(f"{format_duration(judge.seconds_left)} left to judge")
        facts += [f"{format_rate(judge.replies_per_s)} judged/s"] if judge.replies_per_s else []
    if judge.n_failed:
        facts.append(f"the judge failed on {judge.n_failed:,}")
    return facts


def list_reuse_facts(progress: RunProgress) -> list[str]:
    """Return the number of reused answers."""
    known = {"from an earlier start": progress.n_journaled, "from the cache": progress.n_cached}
    return [f"{n:,} answers {where}" for where, n in known.items() if n]


def list_count_facts(progress: RunProgress) -> list[str]:
    """Return the numbers of unanswered, truncated and failed samples over all methods."""
    scores = [track.score for track in progress.tracks if track.score is not None]
    counts = {
        "unanswered": sum(score.n_unanswered for score in scores),
        "truncated": sum(score.n_truncated for score in scores),
    }
    facts = [f"{n:,} {what}" for what, n in counts.items() if n]
    return [*facts, format_failures(progress)] if progress.n_failed else facts


def is_active(track: TrackProgress) -> bool:
    """Whether a method is in progress."""
    return 0 < track.n_done < track.n_samples


def format_progress_line(progress: RunProgress) -> str:
    """Return the progress as one line, for output that is not a terminal."""
    things = {"beforehand": "preparatory requests"}.get(progress.phase, "samples")
    parts = [f"{progress.n_done:,} of {progress.n_samples:,} {things}"]
    if progress.phase in ("loading", "scoring"):
        parts.append(PHASES[progress.phase])
    else:
        parts.append(format_time_left(progress))
    parts += list_judge_facts(progress) + list_pace_facts(progress) + list_reuse_facts(progress)
    scored = [track for track in progress.tracks if track.score is not None]
    active = [track for track in scored if is_active(track)] or scored[-_SCORES_IN_A_LINE:]
    parts += [
        f"{track.task} {track.method} {format_score(track)} [{format_interval(track)}]"
        for track in active[:_SCORES_IN_A_LINE]
    ]
    parts += list_count_facts(progress)
    if progress.last_failure is not None:
        parts.append(f"last {flatten_line(progress.last_failure)}")
    return ", ".join(parts)


def flatten_line(text: str, at_most: int = 200) -> str:
    """Return a message of a model or server as one line, truncated."""
    flat = " ".join(text.split())
    return flat if len(flat) <= at_most else flat[: at_most - 3] + "..."
