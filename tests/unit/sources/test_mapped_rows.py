from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import pytest

from assay.sources import mapped_rows
from assay.sources.mapped_rows import MappedRows, read_dataset_rows

datasets = pytest.importorskip("datasets")

ROWS = [
    {"id": nth, "text": f"row {nth}" if nth % 3 else None, "day": datetime.date(2024, 1, 1 + nth % 28)}
    for nth in range(50)
]


@pytest.fixture
def mapped(tmp_path: Path) -> Any:
    datasets.Dataset.from_list(ROWS).save_to_disk(str(tmp_path / "rows"))
    return datasets.load_from_disk(str(tmp_path / "rows"))


@pytest.fixture(autouse=True)
def few_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_rows, "_READ_AT_ONCE", 7)
    monkeypatch.setattr(mapped_rows, "_READ_ALONE", 3)


def test_rows_are_those_of_the_list(mapped: Any) -> None:
    rows = MappedRows(mapped, range(50))
    assert mapped.to_list() == ROWS
    assert list(rows) == ROWS
    assert [rows[at] for at in range(50)] == ROWS
    assert (len(rows), rows[-1], rows[3:5], rows.columns) == (50, ROWS[-1], ROWS[3:5], ["id", "text", "day"])
    with pytest.raises(IndexError):
        rows[50]


@pytest.mark.parametrize("numbers", [range(4, 40), range(40, 4, -3), [5, 3, 49, 3], []])
def test_some_rows_in_an_order_of_their_own(mapped: Any, numbers: Any) -> None:
    rows = MappedRows(mapped, numbers)
    assert list(rows) == [rows[at] for at in range(len(numbers))] == [ROWS[number] for number in numbers]


def test_rows_asked_for_in_any_order(mapped: Any) -> None:
    rows, draw = MappedRows(mapped, range(50)), random.Random(0)
    for at in (draw.randrange(50) for _ in range(300)):
        assert rows[at] == ROWS[at]


def test_what_an_author_chose_shuffled_and_formatted(mapped: Any) -> None:
    shuffled = mapped.shuffle(seed=1).select(range(20)).with_format("numpy", columns=["id"])
    assert list(MappedRows(shuffled, range(20))) == shuffled.to_list()


def test_media_are_not_decoded(mapped: Any) -> None:
    pytest.importorskip("PIL")
    shown = mapped.add_column("image", [{"bytes": b"no picture", "path": None}] * 50)
    shown = shown.cast_column("image", datasets.Image())
    assert MappedRows(shown, range(50))[0] == shown.to_list()[0]


def test_few_rows_are_held_and_many_are_read_part_by_part(
    mapped: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_dataset_rows(mapped) == ROWS
    assert read_dataset_rows(mapped, [3, 1]) == [ROWS[3], ROWS[1]]
    monkeypatch.setattr(mapped_rows, "_IN_MEMORY_BYTES", 10_000)
    assert isinstance(read_dataset_rows(mapped, range(3)), list)
    monkeypatch.setattr(type(mapped), "to_list", lambda self: pytest.fail("all rows were copied"))
    rows = read_dataset_rows(mapped)
    assert isinstance(rows, MappedRows)
    read: list[int] = []
    table = type(mapped).__getitem__

    def counted(self: Any, key: slice) -> Any:
        read.append(key.stop - key.start)
        return table(self, key)

    monkeypatch.setattr(type(mapped), "__getitem__", counted)
    assert [rows[at] for at in range(50)] == ROWS
    assert read == [7, 7, 7, 7, 7, 7, 7, 1]
