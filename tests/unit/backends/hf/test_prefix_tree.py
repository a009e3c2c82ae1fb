"""The tree of token sequences: however it is split, every read covers its own sequence exactly once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.backends.hf.prefix_tree import Group, Lane, ReadRange, RowReadRange, plan_lanes

tokens = st.integers(0, 3)
sequences = st.lists(
    st.lists(tokens, min_size=1, max_size=14).map(tuple), min_size=1, max_size=14, unique=True
)


def seen_by(lane: Lane, index: int) -> list[int]:
    return [other for other in range(index + 1) if index < lane.ends[other]]


def each(reads: Sequence[RowReadRange]) -> Iterator[tuple[int, int, int]]:
    """Yield (position, row, number) of every single read of some runs."""
    for begin, end, row, number in reads:
        assert begin < end
        yield from ((at, row, number + at - begin) for at in range(begin, end))


def check(groups: list[Group], rows: list[tuple[int, ...]], runs: list[list[ReadRange]]) -> None:
    reads = [[at for begin, end, _ in row for at in range(begin, end)] for row in runs]
    answered: list[tuple[int, int]] = []
    for group in groups:
        for position, row, number in each(group.prefix_reads):
            assert group.prefix[: position + 1] == rows[row][: position + 1]
            assert reads[row][number] == position
            answered.append((row, number))
        for lane in group.lanes:
            for index, row, number in each(lane.reads):
                path = seen_by(lane, index)
                text = (*group.prefix, *(lane.ids[other] for other in path))
                assert text == rows[row][: reads[row][number] + 1]
                assert [lane.positions[other] for other in path] == list(range(len(group.prefix), len(text)))
                answered.append((row, number))
    assert len(answered) == len(set(answered))
    assert len(answered) == sum(len(positions) for positions in reads)


def stretches(length: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    ends = st.tuples(st.integers(0, length - 1), st.integers(1, length))
    return st.lists(ends.map(lambda pair: (min(pair), max(pair[1], pair[0] + 1))), min_size=1, max_size=4)


def numbered(some: Sequence[tuple[int, int]]) -> list[ReadRange]:
    runs, number = [], 0
    for begin, end in some:
        runs.append((begin, end, number))
        number += end - begin
    return runs


def last(row: Sequence[int]) -> list[ReadRange]:
    return [(len(row) - 1, len(row), 0)]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_every_read_sees_its_own_sequence_and_nothing_else(data: st.DataObject) -> None:
    rows = data.draw(sequences)
    prefix = tuple(data.draw(st.lists(tokens, max_size=12)))
    if data.draw(st.booleans()):
        rows = [(*prefix, *row) for row in rows]
    runs = [numbered(data.draw(stretches(len(row)))) for row in rows]
    lane_tokens = data.draw(st.integers(1, 40))
    least_saving = data.draw(st.sampled_from([0, 1, 8, 1000]))
    check(list(plan_lanes(rows, runs, lane_tokens=lane_tokens, least_saving=least_saving)), rows, runs)


def multiple_choice(n_questions: int, n_prefix: int, n_question: int, n_option: int) -> list[tuple[int, ...]]:
    prefix = tuple(range(n_prefix))
    return [
        (
            *prefix,
            *(1000 + q * 100 + t for t in range(n_question)),
            *(9000 + o * 50 + t for t in range(n_option)),
        )
        for q in range(n_questions)
        for o in range(4)
    ]


def test_shared_beginnings_are_read_once() -> None:
    rows = multiple_choice(20, n_prefix=300, n_question=40, n_option=10)
    reads = [last(row) for row in rows]
    (group,) = plan_lanes(rows, reads, lane_tokens=256)
    assert len(group.prefix) == 300
    assert sum(len(lane.ids) for lane in group.lanes) == 20 * (40 + 4 * 10)
    assert all(len(lane.ids) <= 256 for lane in group.lanes)


def test_a_short_beginning_is_written_again_rather_than_made_a_prefix() -> None:
    rows = multiple_choice(4, n_prefix=2, n_question=40, n_option=10)
    (group,) = plan_lanes(rows, [last(row) for row in rows], lane_tokens=100, least_saving=32)
    assert group.prefix == ()
    assert len(group.lanes) == 4


def test_a_sequence_longer_than_a_lane_is_alone() -> None:
    row = tuple(range(500))
    (group,) = plan_lanes([row], [last(row)], lane_tokens=100)
    assert [len(lane.ids) for lane in group.lanes] == [500]


def test_a_deep_tree_does_not_exhaust_the_stack() -> None:
    rows = [tuple(range(depth)) for depth in range(1, 3000)]
    reads = [last(row) for row in rows]
    check_tail = list(plan_lanes(rows, reads, lane_tokens=4000))
    assert sum(len(lane.ids) for group in check_tail for lane in group.lanes) == 2999
    cut = list(plan_lanes(rows, reads, lane_tokens=100))
    assert sum(len(g.prefix_reads) + sum(len(lane.reads) for lane in g.lanes) for g in cut) == 2999


def test_nothing_is_planned_for_nothing() -> None:
    assert list(plan_lanes([], [], lane_tokens=10)) == []
