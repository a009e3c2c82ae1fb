"""Workers on a Ray cluster: a keeper for each, that the cluster places.

Who dies, what goes to whom and how often is asked again is decided where it is for workers on one machine:
Ray starts nothing a second time. What workers say is fetched when the run has time for it, so that a run that
is busy fetches more at once, and each fetch costs the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import msgspec

from assay.backends.workers.gpus import VISIBLE
from assay.backends.workers.messages import (
    Batch,
    WorkerDied,
    WorkerFailed,
    WorkerMessage,
    WorkerReady,
    encode_message,
    read_message,
)
from assay.backends.workers.node_proxy import ProxyReport
from assay.backends.workers.ray_cluster import (
    RayCluster,
    describe_death,
    find_start_error,
    require_ray,
    wait_for,
)
from assay.backends.workers.resource_shares import Node, Share, compute_share, count_workers
from assay.backends.workers.worker_group import ReceivedEvent
from assay.core.errors import BackendError, Problem

if TYPE_CHECKING:
    from assay.backends.workers.ray_cluster import RayNodeProxy

_LOOK_EVERY_S = 1.0
_ROOM_S = 60.0
"""For so long a cluster may have no node for a worker, where nobody is known to bring one."""
_END_S = 5.0


class RayWorkerGroup:
    """Workers on a cluster, as many as it holds or fewer."""

    def __init__(
        self,
        address: str | None,
        command: Sequence[str],
        setup: Callable[[], bytes],
        around: Mapping[str, str],
        *,
        n: int | None,
        num_gpus: float | None,
        num_cpus: float | None,
        uses_gpu: bool,
    ) -> None:
        """Take what workers are told and given; the cluster is joined when the first are needed.

        `command`: what Python is told to run, on every node; `setup`: what that is told first; `around`:
        environment beside that of the node. `n`: at most so many workers. `uses_gpu`: whether the model has
        use for a GPU.
        """
        require_ray(address)
        self._address = address
        self._command = command
        self._setup = setup
        self._around = around
        self._n = n
        self._num_gpus = num_gpus
        self._num_cpus = num_cpus
        self._uses_gpu = uses_gpu
        self._cluster: RayCluster | None = None
        self._nodes: list[Node] = []
        self._share = Share(1.0, 0.0)
        self._looked = 0.0
        self._had_room = 0.0
        self._keepers: dict[int, RayNodeProxy] = {}
        self._places: dict[int, str] = {}
        """Nodes of the workers that are known to be somewhere."""
        self._brought: SimpleQueue[tuple[int, ProxyReport | Exception]] = SimpleQueue()

    @property
    def n_wanted(self) -> int:
        """Return how many workers the cluster holds, or as many as were asked for.

        Those that find no room wait for it, one at least: that brings nodes where a cluster grows by itself.
        """
        self._look()
        return max(1, count_workers(self._nodes, self._share)) if self._n is None else self._n

    def start(self, worker: int) -> None:
        """Ask for a place on the cluster."""
        keeper = self._joined().start_proxy(self._share, self._command, self._setup(), self._surroundings())
        self._keepers[worker] = keeper
        self._take(worker)

    def send(self, worker: int, batch: Batch) -> None:
        """Hand a batch over."""
        if worker in self._keepers:
            self._keepers[worker].send(encode_message(batch))

    def listen(self, timeout_s: float) -> Sequence[ReceivedEvent]:
        """Return what was said since, or wait for it."""
        self._look()
        try:
            brought = [self._brought.get(timeout=timeout_s) if timeout_s else self._brought.get_nowait()]
            brought += [self._brought.get_nowait() for _ in range(self._brought.qsize())]
        except Empty:
            return ()
        return [word for worker, what in brought for word in self._words(worker, what)]

    def end(self, worker: int) -> None:
        """End a worker, and its keeper."""
        keeper = self._keepers.pop(worker)
        if self._places.pop(worker, None) is not None:
            wait_for([keeper.ends()], _END_S)
        keeper.dismiss()

    def stats(self) -> Mapping[str, float]:
        """Return how many nodes there are workers on."""
        return {"nodes": float(len(set(list(self._places.values()))))}

    def close(self) -> None:
        """End all workers and leave the cluster."""
        if self._cluster is None:
            return
        wait_for(
            [keeper.ends() for worker, keeper in self._keepers.items() if worker in self._places], _END_S
        )
        while self._keepers:
            self._keepers.popitem()[1].dismiss()
        self._places.clear()
        self._cluster.leave()
        self._cluster = None

    # --- the cluster ---

    def _joined(self) -> RayCluster:
        if self._cluster is None:
            self._cluster = RayCluster(self._address)
            self._nodes = self._cluster.nodes()
            self._share = compute_share(
                self._nodes,
                n=self._n,
                num_gpus=self._num_gpus,
                num_cpus=self._num_cpus,
                uses_gpu=self._uses_gpu,
                may_grow=self._cluster.may_grow(),
            )
            self._looked = self._had_room = time.monotonic()
            self._check_capacity()
        return self._cluster

    def _look(self) -> None:
        """See now and then which nodes there are."""
        cluster = self._joined()
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY_S:
            return
        self._looked = now
        self._nodes = cluster.nodes()
        self._check_capacity()

    def _check_capacity(self) -> None:
        """Raise WORKER-007 if no node can hold a worker, and it is not likely that one comes."""
        if count_workers(self._nodes, self._share):
            self._had_room = self._looked
            return
        cluster = self._joined()
        if cluster.may_grow() or (not cluster.is_own and self._looked - self._had_room < _ROOM_S):
            return
        largest = ", ".join(
            f"{node.name}: {node.n_cpus:g} CPUs, {node.n_gpus:g} GPUs" for node in self._nodes
        )
        what = f"no node of the cluster can hold a worker with {self._share} (there are: {largest or 'none'})"
        fix = "ask for less: --model-arg num_gpus=..., --model-arg num_cpus=...; or add a node that can"
        raise BackendError(Problem("WORKER-007", what, fix))

    def _surroundings(self) -> dict[str, str]:
        around = {"OMP_NUM_THREADS": str(self._share.n_threads), **self._around}
        if not self._share.num_gpus:
            # What was not asked for belongs to others.
            around[VISIBLE] = ""
        return around

    # --- what is brought ---

    def _take(self, worker: int) -> None:
        self._keepers[worker].take(lambda what: self._brought.put((worker, what)))

    def _words(self, worker: int, what: ProxyReport | Exception) -> list[ReceivedEvent]:
        if worker not in self._keepers:
            return []
        if isinstance(what, Exception):
            return [ReceivedEvent(worker, self._lost(worker, what))]
        self._places[worker] = what.node
        words = [
            ReceivedEvent(worker, self._add_node_name(read_message(wire), what.node)) for wire in what.wires
        ]
        if what.why_dead is None:
            self._take(worker)
            return words
        self._places.pop(worker)
        self._keepers.pop(worker).dismiss()
        return [*words, ReceivedEvent(worker, WorkerDied(f"{what.why_dead} (on {self._name_of(what.node)})"))]

    def _lost(self, worker: int, error: Exception) -> WorkerDied:
        refused = find_start_error(error)
        if refused is not None:
            raise refused
        self._keepers.pop(worker).dismiss()
        self._nodes = self._joined().nodes()
        return describe_death(error, self._places.pop(worker, None), self._nodes)

    def _add_node_name(self, said: WorkerMessage, node: str) -> WorkerMessage:
        """Return what a worker said; of an error a person has to know on which node it is to be mended."""
        if isinstance(said, WorkerReady):
            return msgspec.structs.replace(said, node=self._name_of(node))
        if not isinstance(said, WorkerFailed):
            return said
        on = f"on the node {self._name_of(node)}: "
        problems = [msgspec.structs.replace(one, what=on + one.what) for one in said.problems]
        return WorkerFailed(said.kind, tuple(problems))

    def _name_of(self, node: str) -> str:
        return next((one.name for one in self._nodes if one.id == node), node)
