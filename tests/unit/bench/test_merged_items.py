"""Several datasets as one load."""

from __future__ import annotations

from itertools import islice

from assay.bench.item_stream import Items, merge_items, split_item_id
from assay.bench.items import LoadItem
from assay.bench.rounds import Rounds


def items(*names: str, at_s: tuple[float, ...] = (), kind: str = "dataset", n: int | None = None) -> Items:
    times = at_s or (None,) * len(names)
    rows = [LoadItem(name, name, at_s=at) for name, at in zip(names, times, strict=True)]
    n = n or len(rows)
    return Items(Rounds(lambda: rows, n), n, {"kind": kind}, notes=["alike"])


def test_one_part_after_the_other_under_its_name() -> None:
    both = merge_items({"left": items("1", "2"), "right": items("1")})
    assert [item.id for item in both] == ["left/1", "left/2", "right/1"]
    assert (both.n, both.notes, both.describes["source"]) == (3, ("alike",), "left, right")


def test_rounds_go_through_all_parts() -> None:
    both = merge_items({"left": items("1", "2"), "right": items("1")})
    found = [item.id for item in islice(both.iter_forever(), 7)]
    assert found == ["left/1", "left/2", "right/1", "left/1~2", "left/2~2", "right/1~2", "left/1~3"]
    # One round and two items of the second: only the first part came again.
    message = both.list_notes(5)
    assert [one.partition(" different prompts")[0] for one in message] == ["left: 2"]


def test_traces_are_joined_by_their_times() -> None:
    both = merge_items(
        {
            "a": items("1", "2", at_s=(0.0, 5.0), kind="trace"),
            "b": items("1", "2", at_s=(1.0, 4.0), kind="trace"),
        }
    )
    assert [item.id for item in both] == ["a/1", "b/1", "b/2", "a/2"]
    assert both.describes["kind"] == "trace"
    mixed = merge_items({"a": items("1", kind="trace", at_s=(3.0,)), "b": items("2")})
    assert mixed.describes["kind"] == "several"


def test_warm_up_items_are_of_the_first_part() -> None:
    both = merge_items({"left": items("1", "2", "3", n=2), "right": items("1")})
    found = both.warmup(2)
    assert [item.id for item in found.items] == ["left/3", "left/3"]
    assert not found.are_measured


def test_an_item_knows_its_part_by_the_longest_name() -> None:
    assert split_item_id("a/b/7", ["a", "a/b"]) == ("a/b", "7")
    assert split_item_id("a/c/7", ["a", "a/b"]) == ("a", "c/7")
