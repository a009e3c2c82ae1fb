"""A Ray cluster of several nodes on this machine, in a process of its own that ends with the test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MEMORY = 80 << 20
_START_S = 180.0

_PROGRAM = f"""
import sys
from ray.cluster_utils import Cluster

ours = dict(num_cpus=1, object_store_memory={_MEMORY}, include_dashboard=False)
cluster = Cluster(initialize_head=True, head_node_args=ours)
nodes = [cluster.add_node(**ours) for _ in range(int(sys.argv[1]) - 1)]
cluster.wait_for_nodes()
print("at", cluster.address, flush=True)
for line in sys.stdin:
    what, _, home = line.strip().partition(" ")
    if what == "lose":
        cluster.remove_node(nodes.pop(), allow_graceful=False)
    else:
        nodes.append(cluster.add_node(**ours, env_vars={{"HOME": home}} if home else None))
        cluster.wait_for_nodes()
    print("done", flush=True)
cluster.shutdown()
"""


class RayNodes:
    """Nodes with one processor each; the head is one of them."""

    def __init__(self, n: int) -> None:
        environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
        # What its nodes have of Assay is what a run brings along.
        environment.pop("PYTHONPATH", None)
        environment.pop("RAY_ADDRESS", None)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd="/",
        )
        self.address = self._said("at")

    def lose_one(self) -> None:
        """Kill a node, as a power cut would."""
        self._do("lose")

    def add_one(self, home: Path | None = None) -> None:
        """Have one more node join; `home`: what it has at the path `~`, if not what the others have."""
        self._do("add" if home is None else f"add {home}")

    def close(self) -> None:
        """End all nodes."""
        try:
            self._process.communicate(timeout=_START_S)
        finally:
            self._process.kill()

    def _do(self, what: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        self._said("done")

    def _said(self, word: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        _, words = self._process.communicate()
        raise NoCluster(words.strip()[-2000:])


class NoCluster(Exception):
    """Ray does not start here; with its last words."""


@contextmanager
def ray_nodes(n: int) -> Iterator[RayNodes]:
    """Have a cluster of so many nodes for a while."""
    nodes = RayNodes(n)
    try:
        yield nodes
    finally:
        with suppress(BrokenPipeError):
            nodes.close()
