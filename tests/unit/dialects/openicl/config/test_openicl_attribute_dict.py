"""Dicts of bases: attributes all the way down, nothing shared, and the way back to plain data."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.dialects.openicl.config.attribute_dict import AttributeDict, to_attribute_dicts, to_plain_dicts

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=4), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=25,
)


def containers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(found for one in value.values() for found in containers(one))]
    if isinstance(value, list | tuple):
        inner = [found for one in value for found in containers(one)]
        return [value, *inner] if isinstance(value, list) else inner
    return []


@given(TREES)
def test_there_and_back_is_the_same(tree: Any) -> None:
    again = to_plain_dicts(to_attribute_dicts(tree))
    assert again == tree
    assert {type(one) for one in containers(again)} <= {dict, list}


@given(TREES)
def test_rebuilt_shares_no_container(tree: Any) -> None:
    both = [tree, tree]
    mine = containers(to_attribute_dicts(both))
    assert len({id(one) for one in mine}) == len(mine)
    assert {id(one) for one in mine}.isdisjoint({id(one) for one in containers(both)})
    assert all(type(one) is AttributeDict for one in mine if isinstance(one, dict))


def test_plain_keeps_what_is_shared_shared() -> None:
    prompt = AttributeDict(template="x")
    first, second = to_plain_dicts([AttributeDict(p=prompt), AttributeDict(p=prompt)])
    assert first["p"] is second["p"]


def test_attributes_reach_into_what_is_put_in() -> None:
    config = to_attribute_dicts({"infer_cfg": {"inferencer": {"max_out_len": 5}}})
    config.infer_cfg.inferencer.max_out_len = 9
    config.reader_cfg = {"columns": [{"name": "q"}]}
    assert config["infer_cfg"]["inferencer"]["max_out_len"] == 9
    assert config.reader_cfg.columns[0].name == "q"
    del config.reader_cfg
    assert "reader_cfg" not in config
    with pytest.raises(AttributeError, match="no key 'eval_cfg'"):
        _ = config.eval_cfg


def test_a_dict_that_is_put_in_stays_the_authors() -> None:
    mine = {"a": 1}
    config = AttributeDict()
    config["x"] = mine
    mine["a"] = 2
    assert config.x.a == 1
    held = AttributeDict(a=1)
    config.y = [held]
    held.a = 2
    assert config.y[0].a == 2


def test_update_merges_dicts_and_replaces_the_rest() -> None:
    config = to_attribute_dicts({"infer": {"type": "G", "n": 1}, "names": ["a"]})
    config.update({"infer": {"n": 2}}, names=["b"], more={"x": 1})
    assert to_plain_dicts(config) == {"infer": {"type": "G", "n": 2}, "names": ["b"], "more": {"x": 1}}
    assert config.more.x == 1


@pytest.mark.parametrize(
    "copied", [AttributeDict.deepcopy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_deep_copies_share_nothing(copied: Any) -> None:
    config = to_attribute_dicts({"a": {"b": [1]}})
    other = copied(config)
    other.a.b.append(2)
    assert other.to_dict() == {"a": {"b": [1, 2]}}
    assert config.to_dict() == {"a": {"b": [1]}}


def test_a_shallow_copy_is_a_dict_of_its_own() -> None:
    config = to_attribute_dicts({"a": {"b": 1}})
    for other in (config.copy(), copy.copy(config), config | {"c": 1}):
        other.d = 1
        other.a.b = 5
        assert "d" not in config
        assert config.a.b == 5


def test_popping_what_is_not_there_gives_none() -> None:
    assert AttributeDict(a=1).pop("b") is None
    assert AttributeDict(a=1).pop("b", 3) == 3
    assert AttributeDict(a=1).setdefault("b", {"c": 1}).c == 1
