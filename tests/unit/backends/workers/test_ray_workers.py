"""Workers on a simulated cluster: their requirements, their faults, and the messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from assay.backends.workers import ray_workers
from assay.backends.workers.messages import (
    Batch,
    BatchResponses,
    ReceivedEvent,
    WorkerDied,
    WorkerFailed,
    WorkerReady,
    encode_message,
)
from assay.backends.workers.model_check import OpenedModel
from assay.backends.workers.node_proxy import ProxyReport
from assay.backends.workers.ray_workers import RayWorkerGroup
from assay.backends.workers.resource_shares import Node, Share
from assay.core.errors import BackendError, Problem
from assay.core.model import ModelIdentity

pytest.importorskip("ray", reason="the ray extra is not installed")

MODEL = OpenedModel(ModelIdentity("mock", "mock"))


@dataclass
class FakeKeeper:
    share: Share
    around: dict[str, str]
    then: Callable[[ProxyReport | Exception], None] | None = None
    sent: list[bytes] = field(default_factory=list)
    is_ended: bool = False
    is_dismissed: bool = False

    def send(self, wire: bytes) -> None:
        self.sent.append(wire)

    def take(self, then: Callable[[ProxyReport | Exception], None]) -> None:
        assert self.then is None, "two fetches at once"
        self.then = then

    def brings(self, what: ProxyReport | Exception) -> None:
        then, self.then = self.then, None
        assert then is not None, "nobody waits for it"
        then(what)

    def ends(self) -> object:
        self.is_ended = True
        return object()

    def dismiss(self) -> None:
        self.is_dismissed = True


@dataclass
class FakeCluster:
    there: list[Node]
    is_own: bool = False
    grows: bool = False
    hired: list[FakeKeeper] = field(default_factory=list)
    has_left: bool = False

    def nodes(self) -> list[Node]:
        return list(self.there)

    def may_grow(self) -> bool:
        return self.grows

    def start_proxy(
        self, share: Share, command: Sequence[str], setup: bytes, around: dict[str, str]
    ) -> FakeKeeper:
        assert (command, setup) == (("-m", "worker"), b"setup")
        self.hired.append(FakeKeeper(share, around))
        return self.hired[-1]

    def leave(self) -> None:
        self.has_left = True


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(ray_workers, "time", clock)
    return clock


@pytest.fixture
def crew_on(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Callable[..., RayWorkerGroup]:
    monkeypatch.setattr(ray_workers, "wait_for", lambda ends, timeout_s: None)

    def make_group(cluster: FakeCluster, n: int | None = None, **asked: Any) -> RayWorkerGroup:
        monkeypatch.setattr(ray_workers, "RayCluster", lambda address: cluster)
        values = {"num_gpus": None, "num_cpus": None, "uses_gpu": True, **asked}
        return RayWorkerGroup(
            None, ("-m", "worker"), lambda: b"setup", {"OMP_NUM_THREADS": "3"}, n=n, **values
        )

    return make_group


def node(number: int, n_cpus: float = 4, n_gpus: float = 0) -> Node:
    return Node(f"id{number}", f"host{number} (10.0.0.{number})", n_cpus, n_gpus)


def test_no_cluster_is_joined_before_work_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def joined(address: str | None) -> None:
        raise AssertionError

    monkeypatch.setattr(ray_workers, "RayCluster", joined)
    crew = RayWorkerGroup(None, (), lambda: b"", {}, n=1, num_gpus=None, num_cpus=None, uses_gpu=True)
    assert crew.stats() == {"nodes": 0.0}
    crew.close()


def test_workers_follow_the_cluster(crew_on: Callable[..., RayWorkerGroup], clock: Clock) -> None:
    cluster = FakeCluster([node(1), node(2)])
    crew = crew_on(cluster)
    assert crew.n_wanted == 2
    cluster.there.append(node(3))
    assert crew.n_wanted == 2, "nodes are looked at now and then, not each time"
    clock.now += 2
    assert crew.n_wanted == 3
    del cluster.there[:2]
    clock.now += 2
    assert crew.n_wanted == 1


def test_so_many_at_most_wait_for_room(crew_on: Callable[..., RayWorkerGroup]) -> None:
    assert crew_on(FakeCluster([node(1)]), 5).n_wanted == 5


def test_a_worker_is_given_its_share_and_no_more(crew_on: Callable[..., RayWorkerGroup]) -> None:
    cluster = FakeCluster([node(1, n_gpus=2)])
    crew = crew_on(cluster, num_gpus=0.5)
    crew.start(1)
    assert cluster.hired[0].share == Share(1, 0.5)
    # Ray itself names the GPUs that it gave.
    assert cluster.hired[0].around == {"OMP_NUM_THREADS": "3"}
    without = crew_on(cluster, num_gpus=0)
    without.start(1)
    assert cluster.hired[1].around["CUDA_VISIBLE_DEVICES"] == ""


def test_what_a_worker_says_is_heard_in_order_until_it_dies(crew_on: Callable[..., RayWorkerGroup]) -> None:
    cluster = FakeCluster([node(1), node(2)])
    crew = crew_on(cluster)
    crew.start(1)
    assert crew.listen(0.0) == ()
    (keeper,) = cluster.hired
    keeper.brings(ProxyReport("id2", [encode_message(WorkerReady("host2", MODEL))], None))
    assert crew.listen(0.0) == [ReceivedEvent(1, WorkerReady("host2 (10.0.0.2)", MODEL))]
    assert crew.stats() == {"nodes": 1.0}
    batch = Batch(1, ())
    crew.send(1, batch)
    assert keeper.sent == [encode_message(batch)]
    keeper.brings(ProxyReport("id2", [encode_message(BatchResponses(1, ()))], "it ended with status 7"))
    died = WorkerDied("it ended with status 7 (on host2 (10.0.0.2))")
    assert crew.listen(0.0) == [ReceivedEvent(1, BatchResponses(1, ())), ReceivedEvent(1, died)]
    assert keeper.is_dismissed
    assert crew.stats() == {"nodes": 0.0}
    crew.send(1, batch)
    assert len(keeper.sent) == 1


def test_a_lost_node_is_nobodys_fault_and_a_lost_worker_may_be(
    crew_on: Callable[..., RayWorkerGroup],
) -> None:
    from ray.exceptions import ActorDiedError, ActorUnavailableError

    cluster = FakeCluster([node(1), node(2), node(3)])
    crew = crew_on(cluster)
    for worker in (1, 2, 3):
        crew.start(worker)
        cluster.hired[-1].brings(ProxyReport(f"id{worker}", [], None))
    crew.listen(0.0)
    del cluster.there[0]
    cluster.hired[0].brings(ActorDiedError())
    cluster.hired[1].brings(ActorDiedError())
    cluster.hired[2].brings(ActorUnavailableError("gone", None))
    first, second, third = [word.event for word in crew.listen(0.0)]
    assert first == WorkerDied("its node was lost", is_blameless=True)
    assert isinstance(second, WorkerDied)
    assert not second.is_blameless
    assert "died unexpectedly" in second.why
    assert third == WorkerDied("its node is not reachable any more", is_blameless=True)
    assert all(keeper.is_dismissed for keeper in cluster.hired)


def test_an_error_says_on_which_node_it_is(crew_on: Callable[..., RayWorkerGroup]) -> None:
    cluster = FakeCluster([node(1)])
    crew = crew_on(cluster)
    crew.start(1)
    raised = WorkerFailed(
        "BackendError", (Problem("MODEL-003", "there is no folder /models/x", "put it there"),)
    )
    cluster.hired[0].brings(ProxyReport("id1", [encode_message(raised)], None))
    ((_, message),) = crew.listen(0.0)
    assert isinstance(message, WorkerFailed)
    assert message.problems[0].what == "on the node host1 (10.0.0.1): there is no folder /models/x"


def test_a_node_that_cannot_start_a_worker_ends_the_run(crew_on: Callable[..., RayWorkerGroup]) -> None:
    from ray.exceptions import RuntimeEnvSetupError

    cluster = FakeCluster([node(1)])
    crew = crew_on(cluster)
    crew.start(1)
    cluster.hired[0].brings(RuntimeEnvSetupError("no module named msgspec"))
    with pytest.raises(BackendError, match="WORKER-008") as caught:
        crew.listen(0.0)
    assert "no module named msgspec" in str(caught.value)


def test_a_worker_that_no_node_can_hold_is_an_error(
    crew_on: Callable[..., RayWorkerGroup], clock: Clock
) -> None:
    with pytest.raises(BackendError, match=r"WORKER-007.*num_gpus=8, num_cpus=1.*host1.*4 CPUs, 2 GPUs"):
        _ = crew_on(FakeCluster([node(1, n_gpus=2)], is_own=True), num_gpus=8).n_wanted
    # A node may be on its way, for a while.
    cluster = FakeCluster([node(1)])
    crew = crew_on(cluster, num_gpus=1)
    assert crew.n_wanted == 1
    clock.now += 59
    assert crew.n_wanted == 1
    clock.now += 2
    with pytest.raises(BackendError, match="WORKER-007"):
        _ = crew.n_wanted
    # Where somebody brings nodes, as long as it takes; who waits for one makes them come.
    patient = crew_on(FakeCluster([], grows=True), num_gpus=1)
    assert patient.n_wanted == 1
    clock.now += 10_000
    assert patient.n_wanted == 1


def test_ending_leaves_nothing_behind(crew_on: Callable[..., RayWorkerGroup]) -> None:
    cluster = FakeCluster([node(1), node(2)])
    crew = crew_on(cluster)
    for worker in (1, 2, 3):
        crew.start(worker)
    cluster.hired[0].brings(ProxyReport("id1", [], None))
    cluster.hired[1].brings(ProxyReport("id2", [], None))
    crew.listen(0.0)
    crew.end(1)
    assert (cluster.hired[0].is_ended, cluster.hired[0].is_dismissed) == (True, True)
    # What it still had to say is not heard any more.
    cluster.hired[0].brings(ProxyReport("id1", [encode_message(WorkerReady("late", MODEL))], None))
    assert crew.listen(0.0) == []
    crew.close()
    assert [keeper.is_ended for keeper in cluster.hired] == [True, True, False], "a third was nowhere yet"
    assert all(keeper.is_dismissed for keeper in cluster.hired)
    assert cluster.has_left
