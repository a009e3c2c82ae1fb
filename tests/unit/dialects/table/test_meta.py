from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import AuthorError
from assay.core.task import TaskSettings
from assay.dialects.shared.request_selection import Bounds, UniformLengths
from assay.dialects.table.compile import compile_table
from assay.dialects.table.meta import TableMeta, meta_path, read_meta


def read(tmp_path: Path, text: str) -> tuple[TableMeta, list[str]]:
    path = tmp_path / "x.csv.meta.json"
    path.write_text(text, encoding="utf-8")
    notes: list[str] = []
    return read_meta(path, notes), notes


def test_the_meta_file_is_beside_the_data() -> None:
    assert meta_path(Path("a/test_mcq.csv")) == Path("a/test_mcq.csv.meta.json")


def test_a_trailing_comma_is_let_pass_and_said(tmp_path: Path) -> None:
    meta, notes = read(tmp_path, '{"template": "a, }", "input_columns": ["q",],\n}')
    assert meta.template == "a, }"
    assert meta.input_columns == ("q",)
    assert len(notes) == 1
    assert "comma" in notes[0]


def test_aisbench_may_write_numbers_as_texts(tmp_path: Path) -> None:
    drawn = '{"method": "uniform", "params": {"min_value": "2", "max_value": 9}}'
    meta, notes = read(
        tmp_path, f'{{"request_count": "6", "sampling_mode": "shuffle", "output_config": {drawn}}}'
    )
    assert meta == TableMeta(
        request_count=6, sampling_mode="shuffle", output_config=UniformLengths(Bounds(2, 9))
    )
    assert notes == []


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("request_count", "0", "at least 1"),
        ("request_count", '"six"', "'six'"),
        ("request_count", "2.5", "2.5"),
        ("request_count", "true", "True"),
        ("sampling_mode", '"drawn"', "'default', 'random', 'shuffle'"),
        ("output_config", '{"method": "gauss", "params": {}}', "'gauss'"),
        ("output_config", '{"method": "uniform"}', "params"),
        ("output_config", '{"params": {"min_value": 1, "max_value": 2}}', "method"),
        ("output_config", '{"method": "uniform", "params": {"min_value": 3, "max_value": 2}}', "more than"),
        ("output_config", '{"method": "uniform", "params": {"min_value": 0, "max_value": 2}}', "at least 1"),
        ("output_config", '{"method": "uniform", "params": {"min_value": 1, "mx_value": 2}}', "mx_value"),
        (
            "output_config",
            '{"method": "percentage", "params": {"percentage_distribute": []}}',
            "length at least 1",
        ),
        ("output_config", '{"method": "percentage", "params": {"percentage_distribute": [[4, 0.9]]}}', "0.9"),
        (
            "output_config",
            '{"method": "percentage", "params": {"percentage_distribute": [[4, 1.5], [4, -0.5]]}}',
            "at most 1",
        ),
    ],
)
def test_what_aisbench_rejects_is_rejected(tmp_path: Path, key: str, value: str, expected: str) -> None:
    with pytest.raises(AuthorError, match="TABLE-004") as caught:
        read(tmp_path, f'{{"{key}": {value}}}')
    (problem,) = caught.value.problems
    assert repr(key) in problem.what
    assert expected in problem.what


def test_all_problems_of_a_meta_file_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(AuthorError) as caught:
        read(tmp_path, '{"human_promt": "x", "data_type": "quiz", "max_tokens": "many"}')
    codes = [problem.code for problem in caught.value.problems]
    assert codes == ["TABLE-003", "TABLE-004", "TABLE-004"]
    assert "did you mean 'human_prompt'" in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "{'a': 1}"])
def test_what_is_not_an_object_is_rejected(tmp_path: Path, text: str) -> None:
    with pytest.raises(AuthorError, match="TABLE-002"):
        read(tmp_path, text)


@pytest.mark.parametrize("brackets", ["[]", "{}"])
@pytest.mark.parametrize("depth", [990, 1_000, 5_000, 100_000])
def test_what_is_nested_too_deeply_is_reported(tmp_path: Path, depth: int, brackets: str) -> None:
    opening, closing = ("[", "]") if brackets == "[]" else ('{"a": ', "}")
    with pytest.raises(AuthorError) as caught:
        read(tmp_path, f'{{"abbr": {opening * depth}1{closing * depth}}}')
    (problem,) = caught.value.problems
    assert problem.code in ("TABLE-002", "TABLE-004")
    assert len(problem.what) < 400


def test_what_is_said_higher_up_wins() -> None:
    high = TableMeta(abbr="flag", options=("X",))
    low = TableMeta(abbr="file", data_type="mcq")
    assert high.merge_over(low) == TableMeta(abbr="flag", options=("X",), data_type="mcq")


def meta_of(tmp_path: Path, text: str) -> Path:
    (tmp_path / "d.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    path = tmp_path / "d.csv.meta.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_key_that_is_twice_in_a_meta_file_is_an_error(tmp_path: Path) -> None:
    path = meta_of(tmp_path, '{"human_prompt": "{question}", "human_prompt": "Q: {question}"}')
    with pytest.raises(AuthorError, match=r"SOURCE-014.*'human_prompt' appears more than once"):
        read_meta(path, [])


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_meta_file_that_is_none_is_an_error(tmp_path: Path, kind: str) -> None:
    path = meta_of(tmp_path, "{}")
    path.unlink()
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere.json")
    with pytest.raises(AuthorError, match=rf"TABLE-002.*(a|this is a) {kind}"):
        compile_table(str(tmp_path / "d.csv"), TaskSettings())
