from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import AuthorError
from assay.dialects.table.meta import TableMeta, meta_path, read_meta


def read(tmp_path: Path, text: str) -> tuple[TableMeta, list[str]]:
    path = tmp_path / "x.csv.meta.json"
    path.write_text(text, encoding="utf-8")
    notes: list[str] = []
    return read_meta(path, notes), notes


def test_the_meta_file_lies_beside_the_data() -> None:
    assert meta_path(Path("a/test_mcq.csv")) == Path("a/test_mcq.csv.meta.json")


def test_a_trailing_comma_is_let_pass_and_said(tmp_path: Path) -> None:
    meta, notes = read(tmp_path, '{"template": "a, }", "input_columns": ["q",],\n}')
    assert meta.template == "a, }"
    assert meta.input_columns == ("q",)
    assert len(notes) == 1
    assert "comma" in notes[0]


def test_keys_of_the_serving_benchmark_have_no_effect_and_say_so(tmp_path: Path) -> None:
    meta, notes = read(tmp_path, '{"request_count": "6", "sampling_mode": "default"}')
    assert meta == TableMeta()
    assert len(notes) == 2


def test_all_problems_of_a_meta_file_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(AuthorError) as caught:
        read(tmp_path, '{"human_promt": "x", "data_type": "quiz", "max_tokens": "many"}')
    codes = [problem.code for problem in caught.value.problems]
    assert codes == ["TABLE-003", "TABLE-004", "TABLE-004"]
    assert "did you mean 'human_prompt'" in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "{'a': 1}"])
def test_what_is_not_an_object_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(AuthorError, match="TABLE-002"):
        read(tmp_path, text)


def test_what_is_said_higher_up_wins() -> None:
    high = TableMeta(abbr="flag", options=("X",))
    low = TableMeta(abbr="file", data_type="mcq")
    assert high.over(low) == TableMeta(abbr="flag", options=("X",), data_type="mcq")
