"""The model that grades answers: opened if a metric needs it, and queried through its own journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

from assay.app.open_model import open_in_process, open_model
from assay.app.settings import RunSettings, Settings
from assay.backends.cache_dir import cache_dir
from assay.core.model import ModelIdentity
from assay.core.ports import Backend, Judge
from assay.core.tally import JudgeTally
from assay.core.task import CorpusScorer, Scorer
from assay.engine.cache import NoCache, SqliteCache
from assay.engine.journal import FileJournal
from assay.engine.judging import BackendJudge
from assay.engine.spending import BudgetGate, Meter

JUDGEMENTS = "judgements.jsonl"
"""The judge's journal in a run folder."""

Scorers = Mapping[str, Sequence[Scorer | CorpusScorer]]


@runtime_checkable
class JudgedScorer(Protocol):
    """A scorer whose metrics may query a judge."""

    @property
    def needs_judge(self) -> bool:
        """Return whether one of its metrics does."""

    def bind(self, judge: Judge) -> None:
        """Pass the judge to its metrics."""


def needs_judge(scorers: Scorers) -> bool:
    """Return whether a metric of any task queries a judge."""
    return bool(_find_judged_scorers(scorers))


def note_unused_judge(settings: Settings, scorers: Scorers) -> tuple[str, ...]:
    """Return a note if a judge was named for this run and none of its metrics queries one."""
    values = settings.values
    is_named = settings.names.get("judge") in ("--judge", repr("judge"))
    if values.judge is None or not is_named or values.stage == "infer" or needs_judge(scorers):
        return ()
    return (
        f"the judge {values.judge} was not asked: no metric of this run uses a judge; for a table with free "
        "answers, add --match judge",
    )


@contextmanager
def open_judge(scorers: Scorers, values: RunSettings, backend: Backend | None) -> Iterator[Backend | None]:
    """Open the named judge if a metric needs one; reuse `backend` if the model itself is the judge."""
    if not _find_judged_scorers(scorers):
        yield None
        return
    if values.judge is None:
        # Imported here: most runs have no judge and should not wait for its parts.
        from assay.scoring.metrics.gpteval import missing_judge_error

        raise missing_judge_error()
    is_model = values.judge == values.model and not values.judge_args
    if is_model and backend is not None:
        yield backend
        return
    # If the model itself is the judge but only its stored answers are used, open it with its own settings.
    judge = open_model(values) if is_model else open_in_process(values.judge, values.judge_args)
    with closing(judge):
        yield judge


@contextmanager
def judging(
    scorers: Scorers,
    judge: Backend | None,
    identity: ModelIdentity | None,
    folder: Path,
    values: RunSettings,
    on_reply: Callable[[], None],
    meter: Meter | None = None,
    gate: BudgetGate | None = None,
) -> Iterator[JudgeTally | None]:
    """Pass the judge to the metrics that need it while a run lasts; yield its progress."""
    if judge is None or identity is None:
        yield None
        return
    cache = open_cache(judge, identity, values)
    journal = FileJournal(folder / JUDGEMENTS, forget_failures=values.retry_failed)
    with closing(cache), closing(journal):
        backend_judge = BackendJudge(judge, journal, cache, on_reply=on_reply, meter=meter, gate=gate)
        backend_judge.tally.notes = journal.notes()
        for scorer in _find_judged_scorers(scorers):
            scorer.bind(backend_judge)
        yield backend_judge.tally


def open_cache(backend: Backend, identity: ModelIdentity, values: RunSettings) -> SqliteCache | NoCache:
    """Open the cache of a model's answers, if caching is enabled and the model supports it."""
    if not values.cache or not backend.card.is_cacheable or identity.server == "unknown":
        return NoCache()
    return SqliteCache(cache_dir() / "responses", identity, is_read=not values.fresh)


def _find_judged_scorers(scorers: Scorers) -> list[JudgedScorer]:
    return [
        scorer
        for named in scorers.values()
        for scorer in named
        if isinstance(scorer, JudgedScorer) and scorer.needs_judge
    ]
