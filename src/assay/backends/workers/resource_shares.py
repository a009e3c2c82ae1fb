"""How much of a cluster each worker is given, and how many workers a cluster then holds. Knows no cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple

import msgspec

_ROUNDING = 1e-6
_MOST_TO_A_PROCESSOR = 64


class Node(NamedTuple):
    """A machine of a cluster that is alive."""

    id: str
    name: str
    n_cpus: float
    n_gpus: float


class Share(NamedTuple):
    """What each worker is given of its node."""

    num_cpus: float
    num_gpus: float

    @property
    def n_threads(self) -> int:
        """Return with how many threads a model on the CPU computes."""
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
    """Return what each of n workers is given; n is None: as many as the cluster holds.

    What was not said: a model that can use a GPU has one where there are any. Without GPUs, n workers share
    the processors, as on one machine; and as many as the cluster holds are one on each node, on a larger
    node several, since each has the whole model in its memory. So are n workers of a cluster that may grow:
    those that find no room are what brings nodes.
    """
    if num_gpus is None:
        num_gpus = 1.0 if uses_gpu and any(node.n_gpus >= 1 for node in nodes) else 0.0
    if num_cpus is None:
        num_cpus = 1.0 if num_gpus else _choose_num_cpus(nodes, None if may_grow else n)
    return Share(num_cpus, num_gpus)


def count_workers(nodes: Iterable[Node], share: Share) -> int:
    """Return how many workers fit into a cluster that does nothing else."""
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
    # More workers than processors: some to each.
    for several in range(2, _MOST_TO_A_PROCESSOR):
        if count_workers(nodes, Share(1.0 / several, 0.0)) >= n:
            return 1.0 / several
    return 1.0


class Placement(msgspec.Struct, frozen=True):
    """What each worker is given. None: as the model and the machine suggest."""

    num_gpus: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """GPUs; on a cluster a part of one too, such as 0.5."""
    num_cpus: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Processors: so many threads does a model on the CPU compute with."""
