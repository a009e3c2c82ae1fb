"""The index of runs, in SQLite and in PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from assay.core.errors import StoreError
from assay.core.model import ModelIdentity
from assay.core.run import RunStatus
from assay.core.run_index import IndexedRun, IndexedTask, MetricValues, RunIndexEntry, TaskSamples
from assay.core.score import Metric
from assay.ledger.database import Database, open_database
from assay.ledger.runs import RunIndex


@pytest.fixture
def database(database_place: str) -> Iterator[Database]:
    opened = open_database(database_place)
    yield opened
    opened.close()


def a_run(name: str = "one", *, host: str = "here", root: str = "/runs", **changed: Any) -> IndexedRun:
    run = IndexedRun(
        host=host,
        root=root,
        name=name,
        stamp="1",
        id=name,
        fingerprint="f" * 16,
        status=RunStatus.COMPLETE,
        started="2026-01-01T00:00:00+00:00",
        finished="2026-01-01T00:01:00+00:00",
        model=ModelIdentity("mock", "모델", args={"dtype": "bf16"}),
        judge=None,
        tasks=(IndexedTask("topics", "ab" * 16, 3, 3, about="주제", shots={"gen": "5"}),),
    )
    return msgspec.structs.replace(run, **changed)


def a_metric(task: str = "topics", **changed: Any) -> Metric:
    metric = Metric(task, "gen", "accuracy", None, 2 / 3, 0.2, 0.94, 3, 3, 0, 0, 0, 0.1 + 0.2, True, True)
    return msgspec.structs.replace(metric, **changed)


IDS = np.array([3, 2**63, 2**64 - 1], dtype=np.uint64)


def whole(run: IndexedRun, *metrics: Metric, values: tuple[float, ...] = (1.0, np.nan, 0.0)) -> RunIndexEntry:
    numbers = np.array(values)
    return RunIndexEntry(
        run,
        metrics,
        {"topics": TaskSamples(IDS, np.array([7, 7, 9], dtype=np.uint64))},
        {
            ("topics", "gen", "accuracy"): MetricValues(numbers),
            ("topics", "gen", "perplexity"): MetricValues(numbers, numbers + 2, is_exponential=True),
        },
    )


def test_what_is_kept_comes_back_bit_for_bit(database: Database) -> None:
    index = RunIndex(database)
    run = a_run()
    metrics = [a_metric(), a_metric(value=None, group="그룹", low=None, high=None, stderr=None)]
    index.put(whole(run, *metrics))
    (known,) = index.runs()
    assert known.run == run
    assert index.metrics() == {known.key: metrics}
    values = index.values(known.key, "topics", "gen", "accuracy")
    assert values is not None
    assert values.ids.tolist() == [3, 2**64 - 1], "a sample without a value is left out"
    assert values.values.tolist() == [1.0, 0.0]
    assert values.clusters is not None
    assert values.clusters.tolist() == [7, 9]
    assert values.weights is None
    ratio = index.values(known.key, "topics", "gen", "perplexity")
    assert ratio is not None
    assert ratio.weights is not None
    assert ratio.weights.tolist() == [3.0, 2.0]
    assert ratio.is_exponential
    assert index.values(known.key, "topics", "gen", "bleu") is None


def test_a_run_that_is_put_again_takes_the_place_of_what_was_known(database: Database) -> None:
    index = RunIndex(database)
    index.put(whole(a_run(), a_metric(), a_metric(metric="f1")))
    index.put(whole(a_run(stamp="2"), a_metric(value=1.0), values=(1.0, 1.0, 1.0)))
    (known,) = index.runs()
    assert known.run.stamp == "2"
    assert [metric.value for metric in index.metrics()[known.key]] == [1.0]
    values = index.values(known.key, "topics", "gen", "accuracy")
    assert values is not None
    assert len(values.values) == 3


def test_runs_of_other_machines_and_folders_are_not_touched(database: Database) -> None:
    index = RunIndex(database)
    for run in (a_run("one"), a_run("two"), a_run("one", host="there"), a_run("one", root="/others")):
        index.put(whole(run, a_metric()))
    assert index.stamps("here", "/runs") == {"one": "1", "two": "1"}
    index.remove("here", "/runs", ["one"])
    left = [(known.run.host, known.run.root, known.run.name) for known in index.runs()]
    assert left == [("here", "/others", "one"), ("here", "/runs", "two"), ("there", "/runs", "one")]
    assert set(index.metrics()) == {known.key for known in index.runs()}, "metrics go with their run"


def test_what_fails_half_way_leaves_the_run_as_it_was(database: Database) -> None:
    index = RunIndex(database)
    index.put(whole(a_run(), a_metric()))
    broken = whole(a_run(stamp="2"), a_metric(n=None))
    with pytest.raises(StoreError, match="BOARD-002"):
        index.put(broken)
    (known,) = index.runs()
    assert known.run.stamp == "1"
    assert index.metrics()[known.key] == [a_metric()]


def test_writers_of_the_same_run_do_not_collide(database_place: str) -> None:
    errors: list[Exception] = []

    def write(stamp: str) -> None:
        database = open_database(database_place)
        try:
            for _ in range(10):
                RunIndex(database).put(whole(a_run(stamp=stamp), a_metric(), a_metric(metric=f"f{stamp}")))
        except StoreError as error:
            errors.append(error)
        finally:
            database.close()

    threads = [threading.Thread(target=write, args=(str(stamp),)) for stamp in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    database = open_database(database_place)
    (known,) = RunIndex(database).runs()
    names = [metric.metric for metric in RunIndex(database).metrics()[known.key]]
    assert names == ["accuracy", f"f{known.run.stamp}"], "one writer's run, and not parts of two"
    database.close()
