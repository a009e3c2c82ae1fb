"""Values in JSON are found where a decoder finds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.results.exchange.json_spans import SpanError, find_members, iter_items, mapping_file

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text("abc_é"), _VALUES), st.sampled_from([None, 2]), st.booleans())
def test_members_are_those_of_the_object(value: dict[str, Any], indent: int | None, is_ascii: bool) -> None:
    buffer = json.dumps(value, indent=indent, ensure_ascii=is_ascii).encode()
    found = find_members(buffer)
    values = {json.loads(f'"{name}"'): json.loads(buffer[slice(*place)]) for name, place in found.items()}
    assert values == value


@given(st.lists(_VALUES), st.sampled_from([None, 2]))
def test_items_are_those_of_the_array(value: list[Any], indent: int | None) -> None:
    buffer = json.dumps({"a": value}, indent=indent).encode()
    items = iter_items(buffer, find_members(buffer)["a"])
    assert [json.loads(buffer[slice(*place)]) for place in items] == value


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "{", '{"a"', '{"a":', '{"a":1', '{"a":[1,{"b":"x"}', '{"a" 1}', '{"a":1 "b":2}', '{"a":"x'],
)
def test_what_is_not_an_object_is_an_error(text: str) -> None:
    with pytest.raises(SpanError):
        find_members(text.encode())


def test_brackets_that_are_nested_too_deeply_are_an_error() -> None:
    with pytest.raises(SpanError, match="too deeply"):
        find_members(b'{"a":' + b"[" * 5_000)


def test_a_mapped_file_is_read_in_place(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text('{"a": [1, "]"]}', encoding="utf-8")
    with mapping_file(path) as buffer:
        assert [buffer[slice(*place)] for place in iter_items(buffer, find_members(buffer)["a"])] == [
            b"1",
            b'"]"',
        ]
