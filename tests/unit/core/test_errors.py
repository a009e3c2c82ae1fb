"""The words of error messages: types, counts."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from assay.core.errors import explain_type_error, format_count


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ("many", int, "expected an integer, found a text"),
        (-1, Annotated[int, msgspec.Meta(ge=0)], "expected an integer of at least 0"),
        (3.0, Annotated[float, msgspec.Meta(le=1.0)], "expected a number of at most 1.0"),
        ([], Annotated[list[int], msgspec.Meta(min_length=1)], "expected a list of length at least 1"),
        ("x", int | None, "expected an integer or null, found a text"),
        (True, str, "expected a text, found a boolean"),
        ([3], list[str], "expected a text, found an integer, at `$[0]`"),
        (3, list[str], "expected a list, found an integer"),
    ],
)
def test_a_wrong_type_is_explained_in_plain_words(value: Any, kind: Any, words: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, kind)
    assert explain_type_error(caught.value) == words


def test_a_count_has_the_noun_in_its_number() -> None:
    assert [format_count(n, "row") for n in (0, 1, 2, 1234)] == ["0 rows", "1 row", "2 rows", "1,234 rows"]
