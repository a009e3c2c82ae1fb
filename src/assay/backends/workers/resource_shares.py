"""Resources for each worker on a cluster, and how many workers the cluster then holds. Knows no cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

import msgspec

_ROUNDING = 1e-6
_MOST_TO_A_PROCESSOR = 64


class Node(NamedTuple):
    """A live machine of a cluster."""

    id: str
    name: str
    n_cpus: float
    n_gpus: float


class Share(NamedTuple):
    """Resources of each worker on its node."""

    num_cpus: float
    num_gpus: float

    @property
    def n_threads(self) -> int:
        """Return the number of threads of a model on the CPU."""
        return max(1, int(self.num_cpus))

    def __str__(self) -> str:
        return f"num_gpus={self.num_gpus:g}, num_cpus={self.num_cpus:g}"


def compute_share(
    nodes: Sequence[Node],
    *,
    n: int | None,
    num_gpus: float | None,
    num_cpus: float | None,
    uses_gpu: bool,
    may_grow: bool = False,
) -> Share:
    """Return the resources of each of n workers; n is None: as many as the cluster holds.

    Defaults: a model that can use a GPU gets one if there are any. Without GPUs, n workers share the
    processors, as on one machine. With n None there is one worker per node, or several on a larger node,
    since each has the whole model in memory. The same applies to n workers of a cluster that may grow:
    workers that wait for resources make it add nodes.
    """
    if num_gpus is None:
        num_gpus = 1.0 if uses_gpu and any(node.n_gpus >= 1 for node in nodes) else 0.0
    if num_cpus is None:
        num_cpus = 1.0 if num_gpus else _choose_num_cpus(nodes, None if may_grow else n)
    return Share(num_cpus, num_gpus)


def count_workers(nodes: Iterable[Node], share: Share) -> int:
    """Return how many workers fit on a cluster that runs nothing else."""
    return sum(_count_on_node(node, share) for node in nodes)


def _count_on_node(node: Node, share: Share) -> int:
    fits = [node.n_cpus / share.num_cpus]
    if share.num_gpus:
        fits.append(node.n_gpus / share.num_gpus)
    return int(min(fits) + _ROUNDING)


def _choose_num_cpus(nodes: Sequence[Node], n: int | None) -> float:
    sizes = [node.n_cpus for node in nodes if node.n_cpus > 0]
    if not sizes:
        return 1.0
    if n is None:
        return max(1.0, float(int(min(sizes))))
    for whole in range(max(1, int(sum(sizes) / n)), 0, -1):
        if count_workers(nodes, Share(float(whole), 0.0)) >= n:
            return float(whole)
    # More workers than processors: several workers per processor.
    for several in range(2, _MOST_TO_A_PROCESSOR):
        if count_workers(nodes, Share(1.0 / several, 0.0)) >= n:
            return 1.0 / several
    return 1.0


class Placement(msgspec.Struct, frozen=True):
    """Resources of each worker. None: chosen by model and machine."""

    num_gpus: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """GPUs; on a cluster also a fraction, such as 0.5."""
    num_cpus: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Processors, and threads of a model on the CPU."""
