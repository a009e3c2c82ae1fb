"""Which surroundings workers get: GPUs of their own, processors they share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.app import open_model
from assay.app.settings import RunSettings
from assay.app.worker import WorkerSetup
from assay.backends.mock import MockBackend
from assay.backends.workers import ray_workers
from assay.backends.workers.gpus import assign_gpus, list_gpus
from assay.backends.workers.pool import WorkersBackend
from assay.core.errors import BackendError, UsageError
from assay.core.model import ModelIdentity


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Mapping[str, str]]]:
    """Return what the workers of a run would find around them."""

    def found(here: list[str], n: int, **args: str) -> list[Mapping[str, str]]:
        made: list[Any] = []

        class Crew:
            def __init__(
                self, command: object, setup: object, n: int, surroundings: Callable[[int], Any]
            ) -> None:
                made.extend(surroundings(place) for place in range(n))

        monkeypatch.setattr(open_model, "ProcessWorkerGroup", Crew)
        monkeypatch.setattr(open_model, "list_gpus", lambda: here)
        monkeypatch.setattr(open_model, "open_backend", lambda model, args, concurrency: MockBackend("", {}))
        open_model.open_model(RunSettings(model="mock", model_args=args, workers=n))
        return made

    return found


def gpus_of(around: list[Mapping[str, str]]) -> list[str | None]:
    return [one.get("CUDA_VISIBLE_DEVICES") for one in around]


def test_each_worker_has_a_gpu_of_its_own(surroundings: Callable[..., list[Mapping[str, str]]]) -> None:
    assert gpus_of(surroundings(["0", "1", "2"], 3)) == ["0", "1", "2"]
    assert gpus_of(surroundings(["GPU-a", "GPU-b"], 2)) == ["GPU-a", "GPU-b"]


def test_more_workers_than_gpus_share_them(surroundings: Callable[..., list[Mapping[str, str]]]) -> None:
    assert gpus_of(surroundings(["0", "1"], 3)) == ["0", "1", "0"]


def test_a_worker_can_have_several(surroundings: Callable[..., list[Mapping[str, str]]]) -> None:
    assert gpus_of(surroundings(["0", "1", "2", "3"], 2, num_gpus="2")) == ["0,1", "2,3"]
    assert gpus_of(surroundings(["0", "1", "2", "3"], 2, tensor_parallel_size="2")) == ["0,1", "2,3"]
    with pytest.raises(UsageError, match="1 x 8 GPUs are needed, but this machine has 4"):
        surroundings(["0", "1", "2", "3"], 1, tensor_parallel_size="4", pipeline_parallel_size="2")
    with pytest.raises(UsageError, match="2 x 2 GPUs are needed, but this machine has 3"):
        surroundings(["0", "1", "2"], 2, num_gpus="2")


def test_no_gpu_is_named_where_there_is_none(surroundings: Callable[..., list[Mapping[str, str]]]) -> None:
    assert gpus_of(surroundings([], 2)) == [None, None]
    # None at all can be asked for, on a machine that has some.
    assert gpus_of(surroundings(["0", "1"], 2, num_gpus="0")) == ["", ""]


def test_processors_are_shared_out(
    surroundings: Callable[..., list[Mapping[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    assert [one["OMP_NUM_THREADS"] for one in surroundings([], 3)] == ["2"] * 3
    assert [one["OMP_NUM_THREADS"] for one in surroundings([], 20)] == ["1"] * 20
    assert surroundings([], 2, num_cpus="3")[0]["OMP_NUM_THREADS"] == "3"
    # Who has said so is not overruled.
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert "OMP_NUM_THREADS" not in surroundings([], 2)[0]


@pytest.mark.parametrize("where", [{"workers": 2}, {"on": "ray"}], ids=["here", "on a cluster"])
def test_workers_are_reported_the_number_type_of_the_run(
    where: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its GPU a worker would choose another by itself."""
    reported: list[Callable[[], bytes]] = []

    class Model(MockBackend):
        def identity(self) -> ModelIdentity:
            return ModelIdentity("hf", "hf:x", dtype="bfloat16")

    monkeypatch.setattr(
        open_model, "ProcessWorkerGroup", lambda command, setup, *more: reported.append(setup)
    )
    monkeypatch.setattr(
        ray_workers, "RayWorkerGroup", lambda address, command, setup, *more, **kw: reported.append(setup)
    )
    monkeypatch.setattr(open_model, "open_backend", lambda model, args, concurrency: Model("", {}))
    open_model.open_model(RunSettings(model="hf:x", model_args={"attn": "eager", "dtype": "auto"}, **where))
    setup = msgspec.msgpack.decode(reported[0](), type=WorkerSetup)
    assert setup == WorkerSetup("hf:x", {"attn": "eager", "dtype": "bfloat16"})


def test_where_a_worker_is_put_is_no_argument_of_the_model() -> None:
    placed = open_model.open_model(
        RunSettings(model="mock", model_args={"num_cpus": "1", "answer": "A"}, workers=1)
    )
    plain = open_model.open_model(RunSettings(model="mock", model_args={"answer": "A"}))
    assert isinstance(placed, WorkersBackend)
    assert placed.identity() == plain.identity()
    with pytest.raises(UsageError, match="num_cpus"):
        open_model.open_model(RunSettings(model="mock", model_args={"num_cpus": "1"}))
    with pytest.raises(BackendError, match="num_gpus='many'"):
        open_model.open_model(RunSettings(model="mock", model_args={"num_gpus": "many"}, workers=1))


def test_gpus_are_those_that_are_visible(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 5")
    assert list_gpus() == ["3", "5"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert list_gpus() == []
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'GPU 0: H200 (UUID: a)'\necho '  MIG 1g'\necho 'GPU 1: H200'\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    assert list_gpus() == ["0", "1"]
    program.write_text("#!/bin/sh\necho no devices were found\nexit 6\n")
    assert list_gpus() == []
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert list_gpus() == []


def test_shares_go_round() -> None:
    assert [assign_gpus(["a", "b", "c"], place, 1) for place in range(4)] == [["a"], ["b"], ["c"], ["a"]]
    assert [assign_gpus(["a", "b", "c", "d"], place, 2) for place in range(2)] == [["a", "b"], ["c", "d"]]
    assert assign_gpus([], 3, 1) == []
