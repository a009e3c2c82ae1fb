from __future__ import annotations

import datetime
import enum
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pytest

from assay.core.errors import AuthorError
from assay.core.python_objects import providing_objects
from assay.sources.file_settings import FileSettings
from assay.sources.files import open_source
from assay.sources.source import Source

ROWS = [{"question": "1 + 1 =", "answer": "2"}, {"question": "2 + 2 =", "answer": "4", "group": "even"}]


@pytest.fixture
def provide() -> Callable[[Any], Source]:
    """Return a function that opens an object as a source."""
    objects: dict[str, Any] = {}

    def open_object(data: Any) -> Source:
        objects["python:data"] = data
        with providing_objects(objects):
            return open_source("python:data", FileSettings())

    return open_object


def fields(source: Source) -> list[dict[str, Any]]:
    return [record.fields for record in source.records()]


def test_a_list_of_dicts_is_a_source_that_knows_its_rows(provide: Any) -> None:
    source = provide(ROWS)
    assert fields(source) == ROWS
    assert source.columns == ("question", "answer", "group")
    assert [str(record.origin) for record in source.records()] == [
        "python:data row 1 (index 0)",
        "python:data row 2 (index 1)",
    ]


def test_values_become_what_a_file_can_hold(provide: Any) -> None:
    class Level(enum.Enum):
        EASY = "easy"

    row = {
        "integer": numpy.int64(3),
        "text": numpy.str_("a"),
        "share": numpy.float32(0.5),
        "missing": float("nan"),
        "list": (1, numpy.array([2, 3])),
        "date": datetime.date(2026, 1, 2),
        "price": Decimal("2.50"),
        "level": Level.EASY,
        "path": Path("a/b"),
        "flag": numpy.bool_(True),
        "nested": {"a": [None]},
    }
    (read,) = fields(provide([row]))
    assert read == {
        "integer": 3,
        "text": "a",
        "share": 0.5,
        "missing": None,
        "list": [1, [2, 3]],
        "date": "2026-01-02",
        "price": 2.5,
        "level": "easy",
        "path": "a/b",
        "flag": True,
        "nested": {"a": [None]},
    }
    assert all(type(value).__module__ == "builtins" for value in read.values())


def test_all_bad_rows_are_reported_with_their_indexes(provide: Any) -> None:
    source = provide([*ROWS, ("q", "a"), {"question": object()}, {3: "x"}, {"share": float("inf")}])
    with pytest.raises(AuthorError) as error:
        _ = source.columns
    assert [problem.code for problem in error.value.problems] == ["PYTHON-002"] * 4
    text = str(error.value)
    assert "row 3 (index 2): the row is a tuple" in text
    assert "row 4 (index 3), column 'question': a object is not a value" in text
    assert "row 5 (index 4): the column name 3 is a int" in text
    assert "row 6 (index 5), column 'share': the value is infinite" in text


def test_a_pandas_frame_keeps_its_labels_and_named_index(provide: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, index=[7, 9])
    source = provide(frame)
    assert fields(source) == [{**ROWS[0], "group": None}, ROWS[1]]
    assert [record.origin.index for record in source.records()] == [7, 9]
    named = provide(frame.set_index("question"))
    assert named.columns == ("question", "answer", "group")
    assert [row["question"] for row in fields(named)] == ["1 + 1 =", "2 + 2 ="]
    with pytest.raises(AuthorError, match=r"SOURCE-009.*'answer' appears more than once"):
        provide(frame[["answer", "answer"]])


def test_a_dataset_and_an_arrow_table_are_read_alike(provide: Any) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        question=datasets.Value("string"), label=datasets.ClassLabel(names=["no", "yes"])
    )
    dataset = datasets.Dataset.from_list(
        [{"question": "a?", "label": 0}, {"question": "b?", "label": 1}, {"question": "c?", "label": 1}],
        features=features,
    )
    source = provide(dataset.select([2, 0]))
    assert fields(source) == [{"question": "c?", "label": 1}, {"question": "a?", "label": 0}]
    assert source.label_names == {"label": ("no", "yes")}
    table = dataset.with_format("arrow")[:]
    assert fields(provide(table))[2] == {"question": "c?", "label": 1}


def test_equal_rows_have_equal_hashes(provide: Any) -> None:
    pandas = pytest.importorskip("pandas")
    rows = [{"a": "x", "b": 1}, {"a": "y", "b": 2}]
    listed = provide(rows).content_hash()
    assert provide(pandas.DataFrame(rows)).content_hash() == listed
    assert provide(rows[:1]).content_hash() != listed


class Stream:
    """Rows that can be read once."""

    def __iter__(self) -> Iterator[dict[str, str]]:
        return iter(ROWS)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "a int is not a dataset"),
        (Stream(), r"rows can be read only once. Fix: pass a list: list\(data\)"),
        ({"question": ["a"]}, r"pandas.DataFrame\(data\)"),
    ],
)
def test_other_objects_are_no_data(provide: Any, data: Any, message: str) -> None:
    with pytest.raises(AuthorError, match=rf"PYTHON-001.*{message}"):
        provide(data)


def test_several_splits_are_no_dataset(provide: Any) -> None:
    datasets = pytest.importorskip("datasets")
    splits = datasets.DatasetDict(test=datasets.Dataset.from_list(ROWS[:1]))
    with pytest.raises(
        AuthorError, match=r"holds several splits: 'test'. Fix: pass one of them: data\['test'\]"
    ):
        provide(splits)


def test_empty_data_and_names_without_data_are_errors(provide: Any) -> None:
    with pytest.raises(AuthorError, match="SOURCE-003"):
        provide([]).check()
    with pytest.raises(AuthorError, match=r"PYTHON-004.*pass the data to assay.run again"):
        open_source("python:gone")
    with pytest.raises(AuthorError, match="separator"), providing_objects({"python:rows": ROWS}):
        open_source("python:rows", FileSettings(separator=";"))
