from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.instructions.kinds import (
    BulletList,
    ConstrainedResponse,
    HighlightedSections,
    JsonFormat,
    Sections,
    Title,
)


@pytest.mark.parametrize(
    ("response", "count"),
    [
        ("no list", 0),
        ("* one\n* two", 2),
        ("*one\n  * two", 2),
        ("- one\n* two\n-three", 3),
        ("**bold** line", 0),
        ("* **bold** point", 1),
        ("one * two - three", 0),
        ("*", 0),
        ("---", 1),
        ("• one", 0),
        ("1. one", 0),
    ],
)
def test_bullets(response: str, count: int) -> None:
    assert [n for n in range(6) if BulletList(n).is_followed(response)] == [count]


@pytest.mark.parametrize(
    ("response", "is_followed"),
    [
        ("My answer is yes.", True),
        ("I think so. My answer is maybe. Or not.", True),
        ("My answer is yes", False),
        ("my answer is no.", False),
        ("Yes.", False),
    ],
)
def test_constrained_response(response: str, is_followed: bool) -> None:
    assert ConstrainedResponse().is_followed(response) is is_followed


@pytest.mark.parametrize(
    ("response", "count"),
    [
        ("plain", 0),
        ("*one* and *two*", 2),
        ("**one** and *two*", 2),
        ("***one***", 2),
        ("* *", 0),
        ("****", 0),
        ("*two\nlines*", 0),
        ("* a point\n* a point", 0),
        ("* a point with *stress*", 1),
        ("*a*b*", 1),
    ],
)
def test_highlights(response: str, count: int) -> None:
    assert HighlightedSections(count).is_followed(response)
    assert not HighlightedSections(count + 1).is_followed(response)


@pytest.mark.parametrize(
    ("response", "count"),
    [
        ("Section 1\na\nSection 2\nb", 2),
        ("Section 1 Section2", 2),
        ("Section 7\na\nSection 7", 2),
        ("SECTION 1", 0),
        ("Section one", 0),
        ("Section  1", 0),
        ("Section 12", 1),
    ],
)
def test_sections(response: str, count: int) -> None:
    assert Sections("Section", count).is_followed(response)
    assert not Sections("Section", count + 1).is_followed(response)


def test_the_word_that_begins_a_section_is_no_pattern() -> None:
    assert not Sections("Day.", 1).is_followed("Days 1")
    assert Sections(" Day. ", 1).is_followed("Day. 1")


@pytest.mark.parametrize(
    ("response", "is_followed"),
    [
        ('{"a": [1, 2]}', True),
        (' \n```json\n{"a": 1}\n```\n', True),
        ("```JSON\n[]```", True),
        ("```\n[]\n```", True),
        ("42", True),
        ("Here it is: {}", False),
        ("{'a': 1}", False),
        ("```python\n{}\n```", False),
        ("[1, 2,]", False),
        ("[" * 200_000, False),
    ],
)
def test_json(response: str, is_followed: bool) -> None:
    assert JsonFormat().is_followed(response) is is_followed


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_whatever_json_writes_is_json(value: object) -> None:
    assert JsonFormat().is_followed(f"```json\n{json.dumps(value, indent=1)}\n```")


@pytest.mark.parametrize(
    ("response", "is_followed"),
    [
        ("<<A title>>\ntext", True),
        ("text <<t>> text", True),
        ("<<<t>>>", True),
        ("<<>>", False),
        ("<< >>", False),
        ("<<<>>>", False),
        ("<title>", False),
        ("<<two\nlines>>", False),
        (">>a<<", False),
        ("a >> b << c >>", True),
    ],
)
def test_title(response: str, is_followed: bool) -> None:
    assert Title().is_followed(response) is is_followed
