from __future__ import annotations

import pytest

from assay.core.ids import digest
from assay.dialects.shared.row_names import RowNames, get_content_hash, hash_contents, name_rows

ONE, OTHER, THIRD = digest(1), digest(2), digest(3)


def test_equal_rows_are_numbered() -> None:
    assert name_rows([ONE, OTHER, ONE, THIRD, ONE]) == [ONE, OTHER, f"{ONE}-2", THIRD, f"{ONE}-3"]
    assert get_content_hash(f"{ONE}-3") == ONE


@pytest.mark.parametrize("few", [0, 100])
def test_a_row_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    # With numpy and without it.
    monkeypatch.setattr("assay.dialects.shared.row_names._NUMPY_THRESHOLD", few)
    names = RowNames([ONE, OTHER, ONE, THIRD, ONE])
    assert [names.number(name) for name in names] == [0, 1, 2, 3, 4]
    assert (len(names), names[-1], names[1:3]) == (5, f"{ONE}-3", [OTHER, f"{ONE}-2"])
    assert list(names.contents) == [ONE, OTHER, ONE, THIRD, ONE]


@pytest.mark.parametrize(
    "name", [digest(4), f"{ONE}-4", f"{ONE}-1", f"{ONE}-x", f"{OTHER}-2", "no hash", "f" * 17]
)
def test_a_name_that_no_row_has(name: str) -> None:
    with pytest.raises(KeyError):
        RowNames([ONE, OTHER, ONE, THIRD, ONE]).number(name)


def test_a_small_hash_keeps_its_zeros() -> None:
    assert list(RowNames(["000000000000000a"])) == ["000000000000000a"]


@pytest.mark.parametrize("lists", [([], []), ([ONE], []), ([ONE, OTHER], [THIRD, ONE])])
def test_the_hash_of_contents_is_that_of_their_lists(lists: tuple[list[str], ...]) -> None:
    assert hash_contents(*map(iter, lists)) == digest(list(lists), size=16)
