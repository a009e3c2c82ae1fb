from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.core.errors import UsageError
from assay.core.limit import Limit
from assay.core.sample import Sample
from assay.engine.limit import LimitedTask, limit_task
from fakes.engine import FakeTask


def ids(n: int, limit: str, seed: int = 0) -> list[str]:
    return [sample.id for sample in LimitedTask(FakeTask(n), Limit.parse(limit), seed).samples()]


def test_a_larger_limit_keeps_all_of_a_smaller_one() -> None:
    assert set(ids(100, "10")) < set(ids(100, "30"))
    assert len(ids(100, "10")) == 10
    assert ids(100, "10") != ids(100, "10", seed=1)


def test_a_seed_draws_the_same_samples_in_every_version() -> None:
    """Otherwise a run with a limit could not be resumed or compared after an upgrade."""
    assert ids(10, "3") == ["s2", "s5", "s7"]


def test_which_samples_are_in_does_not_depend_on_how_many_follow() -> None:
    few = set(ids(60, "20"))
    many = set(ids(100, "20"))
    assert {sample for sample in many if int(sample[1:]) < 60} <= few


def test_samples_stay_in_the_datasets_order_and_first_means_first() -> None:
    chosen = ids(100, "20")
    assert chosen == sorted(chosen, key=lambda name: int(name[1:]))
    assert ids(100, "first:3") == ["s0", "s1", "s2"]
    assert ids(100, "last:2") == ["s98", "s99"]
    assert ids(2, "last:3") == ["s0", "s1"]
    assert ids(3, "10") == ["s0", "s1", "s2"]


def test_the_limit_is_recorded() -> None:
    spec = LimitedTask(FakeTask(100), Limit.parse("7"), 3).spec
    assert (spec.n_samples, spec.n_rows) == (7, 100)
    assert spec.settings["limit_seed"] == 3


@pytest.mark.parametrize("limit", ["10", "first:10", "last:10"])
def test_a_limit_above_the_size_expects_no_more_samples_than_there_are(limit: str) -> None:
    task = LimitedTask(FakeTask(3), Limit.parse(limit), 0)
    assert task.spec.n_samples == len(list(task.samples())) == 3


@pytest.mark.parametrize("text", ["0", "-3", "ten", "first:", "first:0", "last:0", "middle:3", "10%"])
def test_a_limit_that_is_none_is_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="USAGE-002"):
        Limit.parse(text)


@pytest.mark.parametrize("text", ["3", "100", "first:3", "first:100", "last:3"])
def test_a_limit_at_or_above_the_size_is_no_limit(text: str) -> None:
    task = FakeTask(3)
    assert limit_task(task, Limit.parse(text), 0) is task
    assert limit_task(FakeTask(4), Limit.parse("3"), 0).spec.settings["limit"] is not None


class CountingTask(FakeTask):
    """A task that counts how often its dataset is read."""

    passes = 0

    def samples(self) -> Iterator[Sample]:
        """Yield the samples."""
        self.passes += 1
        return super().samples()


@pytest.mark.parametrize("limit", ["30", "last:30"])
def test_a_limit_reads_the_dataset_once(limit: str) -> None:
    task = CountingTask(100)
    limited = limit_task(task, Limit.parse(limit), 0)
    assert list(limited.samples()) == list(limited.samples())
    assert task.passes == 1


def test_a_large_limit_keeps_only_ids_in_memory() -> None:
    task = CountingTask(6_000)
    limited = limit_task(task, Limit.parse("5000"), 0)
    assert len(list(limited.samples())) == len(list(limited.samples())) == 5_000
    assert task.passes == 3
