"""The tasks of a run form one queue: a free worker takes from the next task while another finishes
the task before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assay.backends.workers.messages import Batch, ReceivedEvent
from assay.backends.workers.pool import WorkersBackend
from assay.core.request import Request
from assay.core.score import Score
from assay.engine.cache import NoCache
from assay.engine.execute import Execution
from assay.engine.journal import FileJournal
from assay.results.store import SampleWriter
from assay.scoring.aggregate import MeanAggregator
from fakes.crew import FakeCrew
from fakes.engine import FakeBackend, FakeScorer, FakeTask


@dataclass
class WatchedCrew(FakeCrew):
    """Notes, for each batch, the tasks of it and what was under way elsewhere when it was given out."""

    given: list[tuple[set[str], set[str]]] = field(default_factory=list)

    def send(self, worker: int, batch: Batch) -> None:
        elsewhere = {
            one.task
            for other, hand in self.hands.items()
            if other != worker
            for nth, held in enumerate(hand.batches)
            for one in held.requests[0 if nth else hand.at :]
        }
        self.given.append(({one.task for one in batch.requests}, elsewhere))
        super().send(worker, batch)


def executed(crew: FakeCrew, folder: Path) -> tuple[FakeBackend, list[Score]]:
    tasks = [FakeTask(70, name=name, prompts=f"{name} {{}}".format) for name in ("a", "b", "c")]
    model = FakeBackend()
    backend = WorkersBackend(model, crew, silence_s=1e9)
    journal = FileJournal(folder / "responses.jsonl")
    kept: list[Score] = []

    class Keeping(MeanAggregator):
        def add(self, score: Score) -> None:
            kept.append(score)
            super().add(score)

    with SampleWriter(folder) as sink:
        execution = Execution(
            tasks,
            backend,
            {task.name: [FakeScorer()] for task in tasks},
            journal=journal,
            cache=NoCache(),
            sink=sink,
            aggregator=Keeping(),
            on_progress=lambda tally: None,
        )
        tally = execution.run()
    journal.close()
    backend.close()
    assert tally.landed == {"a": 70, "b": 70, "c": 70}
    return model, kept


@pytest.mark.parametrize("n_workers", [2, 3, 5])
def test_the_next_task_is_dealt_out_while_the_last_of_one_is_under_way(
    tmp_path: Path, n_workers: int
) -> None:
    crew = WatchedCrew(n_workers)
    _, scores = executed(crew, tmp_path)
    for earlier, later in (("a", "b"), ("b", "c")):
        assert any(later in tasks and earlier in elsewhere for tasks, elsewhere in crew.given)
    assert [(one.task, one.sample_id) for one in scores] == [
        (task, f"s{nth}") for task in ("a", "b", "c") for nth in range(70)
    ]


def test_all_tasks_are_asked_of_the_same_workers(tmp_path: Path) -> None:
    crew = FakeCrew(3)
    model, _ = executed(crew, tmp_path)
    assert len(crew.started) == 3
    assert not model.asked, "the model of the run's own process answers nothing"


def test_one_request_that_takes_long_holds_up_no_other_task(tmp_path: Path) -> None:
    """The last sample of the first task waits until all of the others are answered."""
    answered: list[Request] = []

    @dataclass
    class Slow(FakeCrew):
        def send(self, worker: int, batch: Batch) -> None:
            answered.extend(batch.requests)
            super().send(worker, batch)

        def listen(self, timeout_s: float) -> Sequence[ReceivedEvent]:
            assert self._n_steps < 1_000, "the others wait for the one that takes long"
            return super().listen(timeout_s)

    crew = Slow(3)
    crew.hangs = lambda one: one.id == "a/s69/gen/answer/0" and len(answered) < 3 * 70
    executed(crew, tmp_path)
    assert len(answered) == 3 * 70
    assert not crew.ended
