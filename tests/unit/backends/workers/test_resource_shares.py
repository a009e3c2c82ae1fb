"""The resources of each worker on a cluster, and the number of workers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.workers.resource_shares import Node, Share, compute_share, count_workers


def cluster(*sizes: tuple[float, float]) -> list[Node]:
    return [Node(str(number), f"n{number}", *size) for number, size in enumerate(sizes)]


def shared(
    nodes: list[Node],
    n: int | None = None,
    *,
    num_gpus: float | None = None,
    num_cpus: float | None = None,
    uses_gpu: bool = True,
) -> tuple[Share, int]:
    share = compute_share(nodes, n=n, num_gpus=num_gpus, num_cpus=num_cpus, uses_gpu=uses_gpu)
    return share, count_workers(nodes, share)


def test_one_worker_for_each_gpu() -> None:
    assert shared(cluster((8, 4), (8, 2), (16, 0))) == (Share(1, 1), 6)


def test_a_part_of_a_gpu_or_several() -> None:
    nodes = cluster((8, 4), (8, 2))
    assert shared(nodes, num_gpus=0.5) == (Share(1, 0.5), 12)
    assert shared(nodes, num_gpus=4) == (Share(1, 4), 1)
    assert shared(nodes, num_gpus=8) == (Share(1, 8), 0)
    assert shared(nodes, num_gpus=0.1, num_cpus=0.1) == (Share(0.1, 0.1), 60)
    # Processors bound them too.
    assert shared(nodes, num_gpus=0.5, num_cpus=4) == (Share(4, 0.5), 4)


def test_without_gpus_there_is_one_on_each_node() -> None:
    assert shared(cluster((4, 0), (4, 0), (4, 0))) == (Share(4, 0), 3)
    # On a larger node there are several, and a head that is not to work has none.
    assert shared(cluster((0, 0), (4, 0), (16, 0))) == (Share(4, 0), 5)


def test_a_model_that_has_no_use_for_gpus_leaves_them() -> None:
    assert shared(cluster((4, 8)), uses_gpu=False) == (Share(4, 0), 1)
    assert shared(cluster((4, 8)), num_gpus=0) == (Share(4, 0), 1)


@pytest.mark.parametrize(
    ("sizes", "n", "num_cpus"),
    [
        ((4, 4), 2, 4),
        ((2, 2, 2), 2, 2),
        ((4, 1, 1), 3, 1),
        ((4, 1, 1), 2, 2),
        ((2,), 4, 0.5),
        ((1, 1), 5, 1 / 3),
    ],
)
def test_so_many_workers_share_the_processors(sizes: tuple[int, ...], n: int, num_cpus: float) -> None:
    share, held = shared(cluster(*((size, 0) for size in sizes)), n)
    assert share.num_cpus == pytest.approx(num_cpus)
    assert held >= n


@given(st.lists(st.integers(1, 64), min_size=1, max_size=8), st.integers(1, 32))
def test_all_that_are_asked_for_find_room(sizes: list[int], n: int) -> None:
    share, held = shared(cluster(*((size, 0) for size in sizes)), n)
    assert held >= n
    assert share.n_threads >= 1


def test_workers_of_a_cluster_that_may_grow_wait_for_nodes() -> None:
    nodes = cluster((2, 0))
    share = compute_share(nodes, n=4, num_gpus=None, num_cpus=None, uses_gpu=True, may_grow=True)
    assert (share, count_workers(nodes, share)) == (Share(2, 0), 1)
    assert shared(nodes, 4) == (Share(0.5, 0), 4), "one that does not is shared"
    # A head that computes nothing tells no size.
    bare = cluster((0, 0))
    share = compute_share(bare, n=4, num_gpus=None, num_cpus=None, uses_gpu=False, may_grow=True)
    assert share == Share(1, 0)


def test_an_empty_cluster_holds_nobody() -> None:
    assert shared([]) == (Share(1, 0), 0)
    assert shared([], 3)[1] == 0


def test_a_share_is_reported_as_it_is_asked_for() -> None:
    assert str(Share(1.0, 0.5)) == "num_gpus=0.5, num_cpus=1"
