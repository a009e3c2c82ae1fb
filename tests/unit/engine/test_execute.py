from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from assay.core.errors import Problem, UsageError
from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.ports import ResponseCache
from assay.core.request import Labels, Request, make_request
from assay.core.response import LabelProbs, Outcome, Response
from assay.core.sample import Sample
from assay.core.score import Metric, Score, Verdict
from assay.core.tally import MethodPace, Tally
from assay.core.task import AnsweredRequest, Evaluation
from assay.engine import pending_samples
from assay.engine.cache import NoCache, SqliteCache
from assay.engine.execute import Execution
from assay.engine.journal import FileJournal
from fakes.engine import FakeBackend, FakeScorer, FakeTask


class Notes:
    """A sink and aggregator that remembers the order in which samples landed."""

    def __init__(self) -> None:
        self.landed: list[str] = []
        self.scores: dict[str, Score] = {}
        self.aggregated: list[Score] = []
        self.evaluations: list[Evaluation] = []
        self.lost: dict[tuple[str, str], str] = {}

    def write(self, task: str, sample: Sample, requests: Sequence[Request], scores: Sequence[Score]) -> None:
        self.landed.append(f"{task}/{sample.id}")
        self.scores.update((score.sample_id, score) for score in scores)

    def write_scores(self, scores: Sequence[Score]) -> None:
        pass

    def lose(self, task: str, track: str, why: str) -> None:
        self.lost[task, track] = why

    def add(self, score: Score) -> None:
        self.aggregated.append(score)

    def take(self, evaluation: Evaluation) -> None:
        self.evaluations.append(evaluation)

    def metrics(self) -> Sequence[Metric]:
        return ()


class LateScorer:
    """Scores when all samples are there, and cannot judge the first of them."""

    track = Method.GEN

    def __init__(self) -> None:
        self.taken: list[Score] = []

    def add(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> None:
        self.taken.append(FakeScorer().score(sample, answers))

    def finish(self) -> Evaluation:
        first, *others = self.taken
        return Evaluation([msgspec.structs.replace(first, verdict=Verdict.FAILED, value=None), *others])


def execute(
    tasks: Sequence[FakeTask],
    backend: FakeBackend,
    path: Path,
    *,
    cache: ResponseCache | None = None,
    retry: bool = False,
    scorer: FakeScorer | LateScorer | None = None,
) -> tuple[Notes, Tally]:
    notes = Notes()
    journal = FileJournal(path, forget_failures=retry)
    try:
        execution = Execution(
            tasks,
            backend,
            {task.name: [scorer or FakeScorer()] for task in tasks},
            journal=journal,
            cache=cache or NoCache(),
            sink=notes,
            aggregator=notes,
            on_progress=lambda tally: None,
        )
        tally = execution.run()
    finally:
        journal.close()
    return notes, tally


@pytest.mark.parametrize("window", [1, 3, 100])
def test_samples_land_in_the_datasets_order_whatever_the_backend_does(tmp_path: Path, window: int) -> None:
    notes, tally = execute([FakeTask(10)], FakeBackend(window), tmp_path / "j")
    assert notes.landed == [f"t/s{i}" for i in range(10)]
    assert [score.answer for score in notes.scores.values()] == [str(i)[::-1] for i in range(10)]
    assert notes.aggregated == list(notes.scores.values())
    assert (tally.n_done, tally.n_samples, tally.n_failed) == (10, 10, 0)
    assert (tally.n_begun, tally.n_requests, tally.n_answered, tally.share_done) == (10, 10, 10, 1.0)


def test_several_tasks_share_one_queue(tmp_path: Path) -> None:
    backend = FakeBackend(window=7)
    notes, _ = execute(
        [FakeTask(5, name="a"), FakeTask(5, name="b", prompts=lambda n: f"b{n}")], backend, tmp_path / "j"
    )
    assert notes.landed == [*(f"a/s{i}" for i in range(5)), *(f"b/s{i}" for i in range(5))]
    assert len(backend.asked) == 10


def test_an_interrupted_run_repeats_nothing_that_was_answered(tmp_path: Path) -> None:
    first = FakeBackend(window=4, stop_after=9)
    with pytest.raises(KeyboardInterrupt):
        execute([FakeTask(20)], first, tmp_path / "j")
    second = FakeBackend(window=6)
    notes, tally = execute([FakeTask(20)], second, tmp_path / "j")
    assert len(first.asked) == 9
    assert set(first.asked).isdisjoint(second.asked)
    assert len(second.asked) == 11
    assert notes.landed == [f"t/s{i}" for i in range(20)]
    assert tally.n_journaled == 9


def test_a_changed_prompt_is_asked_again(tmp_path: Path) -> None:
    execute([FakeTask(5)], FakeBackend(), tmp_path / "j")
    backend = FakeBackend()
    notes, _ = execute([FakeTask(5, prompts=lambda n: "new" if n == 3 else str(n))], backend, tmp_path / "j")
    assert backend.asked == ["t/s3/gen/answer/0"]
    assert notes.scores["s3"].answer == "wen"


def test_equal_asks_are_sent_once_and_journaled_for_each(tmp_path: Path) -> None:
    backend = FakeBackend(window=3)
    notes, tally = execute([FakeTask(9, prompts=lambda n: "same")], backend, tmp_path / "j")
    assert len(notes.scores) == 9
    assert {score.answer for score in notes.scores.values()} == {"emas"}
    assert len(backend.asked) + tally.n_shared == 9
    assert len(backend.asked) < 9
    again = FakeBackend()
    execute([FakeTask(9, prompts=lambda n: "same")], again, tmp_path / "j")
    assert again.asked == []


def test_a_resumed_run_sends_no_ask_again_that_another_sample_shares(tmp_path: Path) -> None:
    """Sample 0 is answered when the run is interrupted; those with the same prompt have not begun."""
    task = FakeTask(12, prompts=lambda n: "shared" if n % 4 == 0 else str(n))
    first = FakeBackend(window=1, stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        execute([task], first, tmp_path / "j")
    assert first.asked == ["t/s0/gen/answer/0", "t/s1/gen/answer/0"]
    second = FakeBackend(window=1)
    notes, tally = execute([task], second, tmp_path / "j")
    assert [one.split("/")[1] for one in second.asked] == ["s2", "s3", "s5", "s6", "s7", "s9", "s10", "s11"]
    assert {notes.scores[f"s{n}"].answer for n in (0, 4, 8)} == {"derahs"}
    assert (tally.n_journaled, tally.n_shared) == (2, 2)
    third = FakeBackend()
    _, tally = execute([task], third, tmp_path / "j")
    assert (third.asked, tally.n_journaled) == ([], 12), "each request has a line of its own"


def test_a_failed_ask_is_shared_with_no_other_sample_after_a_resume(tmp_path: Path) -> None:
    task = FakeTask(2, prompts=lambda n: "fails!")
    with pytest.raises(KeyboardInterrupt):
        execute([FakeTask(2, prompts=["fails!", "other"].__getitem__)], FakeBackend(1, 1), tmp_path / "j")
    second = FakeBackend(window=1)
    execute([task], second, tmp_path / "j")
    assert second.asked == ["t/s1/gen/answer/0"]


class LabelTask(FakeTask):
    """Samples with one LABELS ask each."""

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        ask = Labels(self.prompts(sample.fields["n"]), (("A",), ("B",)))
        return [make_request(self.name, sample.id, "gen", "answer", 0, ask)]


class LabelBackend(FakeBackend):
    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        for one in requests:
            self.asked.append(one.id)
            yield Response(one.id, one.key, LabelProbs((0.5, 0.25), 0.75, 3))


def test_small_answers_are_remembered_for_asks_that_repeat_later(tmp_path: Path) -> None:
    class AnyAnswer(FakeScorer):
        def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
            return Score("t", sample.id, Method.GEN, "accuracy", Verdict.SCORED, 1.0)

    task = LabelTask(6, prompts=lambda n: str(n % 2))
    backend = LabelBackend()
    _, tally = execute([task], backend, tmp_path / "j", scorer=AnyAnswer())
    assert backend.asked == ["t/s0/gen/answer/0", "t/s1/gen/answer/0"]
    assert (tally.n_shared, tally.n_answered) == (4, 6)


def test_the_share_done_counts_samples_that_have_not_begun() -> None:
    tally = Tally(n_samples=8, n_begun=4, n_requests=12, n_answered=6)
    assert tally.share_done == 0.25
    assert Tally(n_samples=8).share_done == 0.0
    assert Tally(n_samples=8, n_done=8).share_done == 1.0


def test_a_methods_pace_is_the_mean_of_its_latest_answers() -> None:
    pace = MethodPace()
    for seconds in (1.0, 2.0, 6.0):
        pace.time(seconds)
    assert (pace.n_timed, pace.seconds) == (3, 3.0)
    for _ in range(20_000):
        pace.time(0.5)
    assert pace.seconds == pytest.approx(0.5)


def test_texts_are_not_held_in_memory_for_asks_that_repeat_later(tmp_path: Path) -> None:
    """The cache and the journal keep them; a run of a million long texts must not."""
    backend = FakeBackend(window=1)
    _, tally = execute([FakeTask(3, prompts=["same", "other", "same"].__getitem__)], backend, tmp_path / "j")
    assert (len(backend.asked), tally.n_shared) == (3, 0)


def test_the_cache_serves_another_run_and_only_new_rows_are_asked(tmp_path: Path) -> None:
    identity = ModelIdentity("fake", "fake")
    for n, expected in ((5, 5), (8, 3)):
        cache = SqliteCache(tmp_path / "cache", identity)
        backend = FakeBackend()
        _, tally = execute([FakeTask(n)], backend, tmp_path / f"j{n}", cache=cache)
        cache.close()
        assert len(backend.asked) == expected
    assert tally.n_cached == 5


def test_what_the_cache_knew_is_stored_before_the_whole_list_is_scored(tmp_path: Path) -> None:
    """Scoring a list may take long, and be killed."""
    journal = tmp_path / "j2"

    class Looking(LateScorer):
        def finish(self) -> Evaluation:
            assert len(journal.read_bytes().splitlines()) == 6
            return super().finish()

    cache = SqliteCache(tmp_path / "cache", ModelIdentity("fake", "fake"))
    execute([FakeTask(6)], FakeBackend(), tmp_path / "j1", cache=cache)
    cache.flush()
    notes, tally = execute([FakeTask(6)], FakeBackend(), journal, cache=cache, scorer=Looking())
    cache.close()
    assert tally.n_cached == 6
    assert [len(one.scores) for one in notes.evaluations] == [6]


def test_failures_are_counted_kept_and_asked_again_on_request_only(tmp_path: Path) -> None:
    task = FakeTask(6, prompts=lambda n: f"{n}!" if n % 3 == 0 else str(n))
    notes, tally = execute([task], FakeBackend(), tmp_path / "j")
    assert tally.n_failed == 2
    assert tally.failures == {"injected": 2}
    assert tally.last_failure == "s3: injected: asked to fail"
    assert tally.landed == {"t": 6}
    assert notes.scores["s3"].verdict is Verdict.FAILED
    same = FakeBackend()
    execute([task], same, tmp_path / "j")
    assert same.asked == []
    again = FakeBackend()
    execute([task], again, tmp_path / "j", retry=True)
    assert sorted(again.asked) == ["t/s0/gen/answer/0", "t/s3/gen/answer/0"]


class WatchingBackend(FakeBackend):
    """Looks, whenever it is asked for its next response, at what the journal's file holds by then."""

    def __init__(self, path: Path, *, comes_together: bool) -> None:
        super().__init__(window=3)
        self._path = path
        self._comes_together = comes_together
        self._n_given = 0
        self.seen: list[int] = []

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        for response in super().run(requests):
            self.seen.append(self._path.read_bytes().count(b"\n"))
            self._n_given += 1
            yield response

    @property
    def has_more_at_hand(self) -> bool:
        return self._comes_together and self._n_given % self.window != 0


@pytest.mark.parametrize(
    ("comes_together", "seen"), [(False, [0, 1, 2, 3, 4, 5]), (True, [0, 0, 0, 3, 3, 3])]
)
def test_what_came_is_safe_before_the_next_is_waited_for(
    tmp_path: Path, comes_together: bool, seen: list[int]
) -> None:
    path = tmp_path / "journal.jsonl"
    path.touch()
    backend = WatchingBackend(path, comes_together=comes_together)
    execute([FakeTask(6)], backend, path)
    assert backend.seen == seen


def test_what_the_cache_answered_is_safe_before_the_next_request_is_sent(tmp_path: Path) -> None:
    """A request may take minutes, and its process be killed meanwhile."""
    path = tmp_path / "j"
    n_safe: list[int] = []

    class Looking(FakeBackend):
        def run(self, requests: Iterable[Request]) -> Iterator[Response]:
            for one in requests:
                n_safe.append(path.read_bytes().count(b"\n"))
                yield from super().run([one])

    cache = SqliteCache(tmp_path / "cache", ModelIdentity("fake", "fake"))
    execute([FakeTask(5)], FakeBackend(), tmp_path / "other", cache=cache)
    cache.flush()
    execute([FakeTask(7)], Looking(), path, cache=cache)
    cache.close()
    assert n_safe == [5, 6]


def test_no_failure_is_kept_for_other_runs(tmp_path: Path) -> None:
    kept: list[str] = []

    class Keeping(NoCache):
        def put(self, key: str, outcome: Outcome) -> None:
            kept.append(type(outcome).__name__)

    execute(
        [FakeTask(3, prompts=["a", "b!", "c"].__getitem__)],
        FakeBackend(),
        tmp_path / "journal.jsonl",
        cache=Keeping(),
    )
    assert kept == ["Completion", "Completion"]


def test_answers_that_a_late_scorer_cannot_judge_count_as_failed_each_sample_once(tmp_path: Path) -> None:
    task = FakeTask(5, prompts=lambda n: f"{n}!" if n >= 3 else str(n))
    _, tally = execute([task], FakeBackend(), tmp_path / "journal.jsonl", scorer=LateScorer())
    assert tally.n_failed == 3
    assert tally.failures == {"injected": 2, "scoring": 1}
    task = FakeTask(5, prompts=lambda n: f"{n}!" if n == 0 else str(n))
    _, tally = execute([task], FakeBackend(), tmp_path / "other.jsonl", scorer=LateScorer())
    assert (tally.n_failed, tally.failures) == (1, {"injected": 1})


def test_nothing_is_rendered_before_the_backend_has_room(tmp_path: Path) -> None:
    rendered: list[int] = []

    class Counting(FakeTask):
        def samples(self) -> Iterator[Sample]:
            for sample in super().samples():
                rendered.append(1)
                yield sample

    with pytest.raises(KeyboardInterrupt):
        execute([Counting(1000)], FakeBackend(window=5, stop_after=10), tmp_path / "j")
    assert len(rendered) <= 16


def long_examples(n: int) -> Sequence[str]:
    """Return five examples of ten words; the task's prompts have one, the answers room for five."""
    return [f"{i} " * 10 for i in range(5)]


@pytest.mark.parametrize(("context_length", "shown"), [(56, 5), (55, 4), (30, 2), (15, 0), (None, 5)])
def test_examples_that_do_not_fit_are_left_out_and_counted(
    tmp_path: Path, context_length: int | None, shown: int
) -> None:
    task = FakeTask(8, examples=long_examples, max_tokens=5)
    notes, tally = execute([task], FakeBackend(context_length=context_length), tmp_path / "j")
    cost = tally.costs["t", "gen"]
    assert (cost.n_shots, cost.n_shots_left_out) == (8 * shown, 8 * (5 - shown))
    assert cost.n_shortened == (8 if shown < 5 else 0)
    kept = "".join(f"{i} " * 10 + " " for i in range(5 - shown, 5))
    assert notes.scores["s3"].answer == f"{kept}3"[::-1]


def test_a_resumed_run_leaves_out_the_same_examples_and_repeats_nothing(tmp_path: Path) -> None:
    task = FakeTask(20, examples=lambda n: long_examples(n)[: n % 6], max_tokens=5)
    first = FakeBackend(window=4, stop_after=9, context_length=40)
    with pytest.raises(KeyboardInterrupt):
        execute([task], first, tmp_path / "j")
    second = FakeBackend(window=6, context_length=40)
    _, resumed = execute([task], second, tmp_path / "j")
    assert set(first.asked).isdisjoint(second.asked)
    assert len(first.asked) + len(second.asked) == 20
    _, whole = execute([task], FakeBackend(context_length=40), tmp_path / "whole")
    assert resumed.costs["t", "gen"] == whole.costs["t", "gen"]
    assert whole.costs["t", "gen"].n_shortened > 0


def test_only_methods_that_were_shown_fewer_examples_are_noted(tmp_path: Path) -> None:
    tasks = [FakeTask(3, name="short"), FakeTask(2, name="long", examples=long_examples, max_tokens=5)]
    journal, notes = FileJournal(tmp_path / "j"), Notes()
    execution = Execution(
        tasks,
        FakeBackend(context_length=40),
        {task.name: [FakeScorer()] for task in tasks},
        journal=journal,
        cache=NoCache(),
        sink=notes,
        aggregator=notes,
        on_progress=lambda tally: None,
    )
    execution.run()
    journal.close()
    (note,) = execution.notes()
    assert note.startswith("long gen: 2 of 2 samples had fewer examples")


@pytest.mark.parametrize(
    ("n", "scorer", "is_told"), [(5, LateScorer, True), (4, LateScorer, False), (5, FakeScorer, False)]
)
def test_a_person_is_reported_how_many_samples_were_held_for_metrics_over_whole_lists(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n: int,
    scorer: type[LateScorer | FakeScorer],
    is_told: bool,
) -> None:
    monkeypatch.setattr("assay.engine.execute._MANY_DEFERRED", 5)
    notes = Notes()
    journal = FileJournal(tmp_path / "j")
    execution = Execution(
        [FakeTask(n)],
        FakeBackend(),
        {"t": [scorer()]},
        journal=journal,
        cache=NoCache(),
        sink=notes,
        aggregator=notes,
        on_progress=lambda tally: None,
    )
    execution.run()
    journal.close()
    message = [
        "t: 5 samples were kept in memory until all were answered, because its metrics need the whole list"
    ]
    assert execution.notes() == (message if is_told else [])


class Landing(Notes):
    """Measures how many started requests have not finished."""

    def __init__(self) -> None:
        super().__init__()
        self.n_ahead = 0

    def look(self, tally: Tally) -> None:
        self.n_ahead = max(self.n_ahead, tally.n_begun - len(self.landed))


@pytest.mark.parametrize("limit", ["MOST_WAITING", "MOST_WAITING_CHARS"])
def test_known_answers_behind_one_that_is_owed_are_not_all_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """One row failed, and is asked again: the answers to all others are there."""
    execute([FakeTask(500, prompts=lambda n: "x!" if n % 250 == 3 else "xx")], FakeBackend(), tmp_path / "j")
    monkeypatch.setattr(pending_samples, limit, 20)
    backend, sink = FakeBackend(window=1_000), Landing()
    journal = FileJournal(tmp_path / "j", forget_failures=True)
    execution = Execution(
        [FakeTask(500, prompts=lambda n: "x!" if n % 250 == 3 else "xx")],
        backend,
        {"t": [FakeScorer()]},
        journal=journal,
        cache=NoCache(),
        sink=sink,
        aggregator=sink,
        on_progress=sink.look,
    )
    tally = execution.run()
    journal.close()
    assert sink.landed == [f"t/s{n}" for n in range(500)]
    assert backend.asked == ["t/s3/gen/answer/0", "t/s253/gen/answer/0"]
    assert (tally.n_failed, tally.n_done, tally.n_begun) == (2, 500, 500)
    assert sink.n_ahead <= 22


def test_a_backend_is_not_called_again_while_nothing_is_held_up(tmp_path: Path) -> None:
    calls: list[int] = []

    class Called(FakeBackend):
        def run(self, requests: Iterable[Request]) -> Iterator[Response]:
            calls.append(1)
            return super().run(requests)

    execute([FakeTask(300), FakeTask(300, name="u", prompts="u{}".format)], Called(50), tmp_path / "j")
    assert calls == [1]


def test_failed_samples_are_not_remembered_once_they_have_landed(tmp_path: Path) -> None:
    task = FakeTask(50, prompts=lambda n: f"{n}!")
    notes = Notes()
    journal = FileJournal(tmp_path / "j")
    execution = Execution(
        [task],
        FakeBackend(),
        {"t": [FakeScorer()]},
        journal=journal,
        cache=NoCache(),
        sink=notes,
        aggregator=notes,
        on_progress=lambda tally: None,
    )
    tally = execution.run()
    journal.close()
    assert (tally.n_failed, tally.failures) == (50, {"injected": 50})
    assert not execution._failed


class RaisingScorer:
    """Raises on every sample, on the second, or when all are there."""

    track = Method.GEN

    def __init__(self, where: str) -> None:
        self._where = where
        self._n = 0

    def add(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> None:
        self._n += 1
        if self._where == "add" and self._n == 2:
            raise KeyError("column")

    def finish(self) -> Evaluation:
        raise ZeroDivisionError("nothing to divide by")


@pytest.mark.parametrize(
    ("where", "message"), [("add", "raised KeyError: 'column'"), ("finish", "raised ZeroDivisionError")]
)
def test_a_scorer_that_raises_costs_its_own_task_alone(tmp_path: Path, where: str, message: str) -> None:
    tasks = [FakeTask(3, name="lost"), FakeTask(3, name="kept", prompts=lambda n: f"b{n}")]
    notes = Notes()
    journal = FileJournal(tmp_path / "j")
    execution = Execution(
        tasks,
        FakeBackend(2),
        {"lost": [RaisingScorer(where)], "kept": [FakeScorer()]},
        journal=journal,
        cache=NoCache(),
        sink=notes,
        aggregator=notes,
        on_progress=lambda tally: None,
    )
    tally = execution.run()
    journal.close()
    assert {score.task for score in notes.aggregated} == {"kept"}
    why = notes.lost["lost", "gen"]
    assert why.startswith("SCORE-007")
    assert message in why
    assert "test_execute.py line " in why
    (evaluation,) = notes.evaluations
    assert [(score.sample_id, score.verdict) for score in evaluation.scores] == [
        (f"s{number}", Verdict.FAILED) for number in range(3)
    ]
    assert tally.failures == {"scoring": 3}


def test_a_scorer_that_raises_on_one_sample_fails_that_sample(tmp_path: Path) -> None:
    class Picky(FakeScorer):
        def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
            if sample.id == "s1":
                raise ValueError("cannot read it")
            return super().score(sample, answers)

    notes, tally = execute([FakeTask(3)], FakeBackend(2), tmp_path / "j", scorer=Picky())
    assert [score.verdict for score in notes.aggregated] == [Verdict.SCORED, Verdict.FAILED, Verdict.SCORED]
    assert "raised ValueError: cannot read it" in (notes.aggregated[1].why or "")
    assert tally.n_failed == 1


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), UsageError(Problem("X-1", "w", "f"))]
)
def test_what_is_no_fault_of_scoring_ends_the_run(tmp_path: Path, error: Exception) -> None:
    class Ending(FakeScorer):
        def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
            raise error

    with pytest.raises(type(error)):
        execute([FakeTask(3)], FakeBackend(2), tmp_path / "j", scorer=Ending())


def test_ctrl_c_while_answers_are_scored_ends_the_run(tmp_path: Path) -> None:
    class Interrupted(FakeScorer):
        def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
            signal.raise_signal(signal.SIGINT)
            return super().score(sample, answers)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            execute([FakeTask(3)], FakeBackend(2), tmp_path / "j", scorer=Interrupted())
    finally:
        signal.signal(signal.SIGINT, before)
