from __future__ import annotations

from assay.core.ids import digest, make_random, rank


def test_a_draw_depends_on_where_its_names_end() -> None:
    assert make_random(1, "2", "x").random() != make_random(12, "x").random()
    assert make_random(0, "task", "1", "shots").random() != make_random(0, "task1", "", "shots").random()
    assert make_random(0, "a", "b").random() == make_random(0, "a", "b").random()


def test_ranks_and_hashes_are_the_same_on_every_machine() -> None:
    """Stored runs and limited samples rely on them: a change makes other runs of the same command."""
    assert [rank(0, "s1"), rank(1, "s1")] == [13582160310890607902, 10438058911936941086]
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1}) == "6e38d7bcaa8940e1"
