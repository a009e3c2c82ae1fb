"""Workers on a Ray cluster: one proxy per worker, placed by the cluster.

As for workers on one machine, the dispatcher decides what happens after a death and which requests are sent
again: Ray restarts nothing. Messages are fetched when the run has time for them. So a busy run fetches more
at once, and each fetch costs the same.
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
    ReceivedEvent,
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
from assay.core.errors import BackendError, Problem

if TYPE_CHECKING:
    from assay.backends.workers.ray_cluster import RayNodeProxy

_LOOK_EVERY_S = 1.0
_ROOM_S = 60.0
"""How long a cluster may have no node for a worker if it is not known to grow."""
_END_S = 5.0


class RayWorkerGroup:
    """Workers on a cluster, as many as it can hold or fewer."""

    def __init__(
        self,
        address: str | None,
        command: Sequence[str],
        setup: Callable[[], bytes],
        environment: Mapping[str, str],
        *,
        n: int | None,
        num_gpus: float | None,
        num_cpus: float | None,
        uses_gpu: bool,
    ) -> None:
        """Store the workers' settings; the cluster is joined when the first worker is needed.

        `command`: arguments for Python on every node; `setup`: returns the first message to it;
        `environment`: variables besides those of the node. `n`: maximum number of workers.
        `uses_gpu`: whether the model can use a GPU.
        """
        require_ray(address)
        self._address = address
        self._command = command
        self._setup = setup
        self._environment = environment
        self._n = n
        self._num_gpus = num_gpus
        self._num_cpus = num_cpus
        self._uses_gpu = uses_gpu
        self._cluster: RayCluster | None = None
        self._nodes: list[Node] = []
        self._share = Share(1.0, 0.0)
        self._looked = 0.0
        self._had_room = 0.0
        self._proxies: dict[int, RayNodeProxy] = {}
        self._places: dict[int, str] = {}
        """Nodes of the workers that have been placed."""
        self._reports: SimpleQueue[tuple[int, ProxyReport | Exception]] = SimpleQueue()

    @property
    def n_wanted(self) -> int:
        """Return how many workers the cluster can hold, or the requested number.

        Workers without resources wait, at least one: this adds nodes to an autoscaling cluster.
        """
        self._look()
        return max(1, count_workers(self._nodes, self._share)) if self._n is None else self._n

    def start(self, worker: int) -> None:
        """Request a place on the cluster."""
        proxy = self._join_cluster().start_proxy(
            self._share, self._command, self._setup(), self._surroundings()
        )
        self._proxies[worker] = proxy
        self._take(worker)

    def send(self, worker: int, batch: Batch) -> None:
        """Send a batch."""
        if worker in self._proxies:
            self._proxies[worker].send(encode_message(batch))

    def listen(self, timeout_s: float) -> Sequence[ReceivedEvent]:
        """Return the new events, or wait for one."""
        self._look()
        try:
            reports = [self._reports.get(timeout=timeout_s) if timeout_s else self._reports.get_nowait()]
            reports += [self._reports.get_nowait() for _ in range(self._reports.qsize())]
        except Empty:
            return ()
        return [event for worker, report in reports for event in self._events(worker, report)]

    def end(self, worker: int) -> None:
        """End a worker and its proxy."""
        proxy = self._proxies.pop(worker)
        if self._places.pop(worker, None) is not None:
            wait_for([proxy.ends()], _END_S)
        proxy.dismiss()

    def stats(self) -> Mapping[str, float]:
        """Return the number of nodes with workers."""
        return {"nodes": float(len(set(list(self._places.values()))))}

    def close(self) -> None:
        """End all workers and leave the cluster."""
        if self._cluster is None:
            return
        wait_for([proxy.ends() for worker, proxy in self._proxies.items() if worker in self._places], _END_S)
        while self._proxies:
            self._proxies.popitem()[1].dismiss()
        self._places.clear()
        self._cluster.leave()
        self._cluster = None

    # --- the cluster ---

    def _join_cluster(self) -> RayCluster:
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
        """Update the list of nodes from time to time."""
        cluster = self._join_cluster()
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY_S:
            return
        self._looked = now
        self._nodes = cluster.nodes()
        self._check_capacity()

    def _check_capacity(self) -> None:
        """Raise WORKER-007 if no node can hold a worker and none is likely to be added."""
        if count_workers(self._nodes, self._share):
            self._had_room = self._looked
            return
        cluster = self._join_cluster()
        if cluster.may_grow() or (not cluster.is_own and self._looked - self._had_room < _ROOM_S):
            return
        largest = ", ".join(
            f"{node.name}: {node.n_cpus:g} CPUs, {node.n_gpus:g} GPUs" for node in self._nodes
        )
        what = f"no node of the cluster has room for a worker with {self._share} (nodes: {largest or 'none'})"
        fix = "request less: --model-arg num_gpus=..., --model-arg num_cpus=...; or add a larger node"
        raise BackendError(Problem("WORKER-007", what, fix))

    def _surroundings(self) -> dict[str, str]:
        environment = {"OMP_NUM_THREADS": str(self._share.n_threads), **self._environment}
        if not self._share.num_gpus:
            # A GPU that was not requested belongs to others.
            environment[VISIBLE] = ""
        return environment

    # --- reports from proxies ---

    def _take(self, worker: int) -> None:
        self._proxies[worker].take(lambda report: self._reports.put((worker, report)))

    def _events(self, worker: int, report: ProxyReport | Exception) -> list[ReceivedEvent]:
        if worker not in self._proxies:
            return []
        if isinstance(report, Exception):
            return [ReceivedEvent(worker, self._describe_death(worker, report))]
        node = report.node
        self._places[worker] = node
        events = [
            ReceivedEvent(worker, self._add_node_name(read_message(wire), node)) for wire in report.wires
        ]
        if report.why_dead is None:
            self._take(worker)
            return events
        self._places.pop(worker)
        self._proxies.pop(worker).dismiss()
        return [*events, ReceivedEvent(worker, WorkerDied(f"{report.why_dead} (on {self._name_of(node)})"))]

    def _describe_death(self, worker: int, error: Exception) -> WorkerDied:
        start_error = find_start_error(error)
        if start_error is not None:
            raise start_error
        self._proxies.pop(worker).dismiss()
        self._nodes = self._join_cluster().nodes()
        return describe_death(error, self._places.pop(worker, None), self._nodes)

    def _add_node_name(self, message: WorkerMessage, node: str) -> WorkerMessage:
        """Return a worker's message; an error names the node on which it must be fixed."""
        if isinstance(message, WorkerReady):
            return msgspec.structs.replace(message, node=self._name_of(node))
        if not isinstance(message, WorkerFailed):
            return message
        on = f"on the node {self._name_of(node)}: "
        problems = [msgspec.structs.replace(problem, what=on + problem.what) for problem in message.problems]
        return WorkerFailed(message.kind, tuple(problems))

    def _name_of(self, node: str) -> str:
        return next((known.name for known in self._nodes if known.id == node), node)
