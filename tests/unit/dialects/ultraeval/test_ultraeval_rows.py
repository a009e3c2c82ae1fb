from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.dialects.ultraeval.rows import StandardRows
from fakes.transforms import FREE, GEN, choice_rows, compile_only, free_rows, list_requests, write_dataset

SAYING = """
def transform(data, num_sample, r, dataset_name):
    return {value}
"""


def failing(tmp_path: Path, script: str, rows: list[dict[str, Any]], expected: str) -> str:
    folder = write_dataset(tmp_path, rows, {"transform_gen_v0.py": script})
    with pytest.raises(AuthorError, match=expected) as found:
        compile_only(folder)
    return str(found.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("None", "transform returned None, expected a dict"),
        (
            "{'inputs': 'x', 'output': 'y', 'processed_output': 'y'}",
            r"no 'input' \(did you mean 'inputs'\?\)",
        ),
        ("{'input': 3, 'output': 'y', 'processed_output': 'y'}", "'input' is 3, expected a text"),
        ("{'input': 'x', 'output': None, 'processed_output': 'y'}", "'output' is None, expected a text or"),
        ("{'input': 'x', 'output': [], 'processed_output': 'y'}", r"'output' is \[\]"),
        ("{'input': 'x', 'output': 'y', 'processed_output': 7}", "'processed_output' is 7"),
        ("{'input': 'x', 'output': 'y'}", "no 'processed_output'"),
        (
            "data['passge']",
            r"transform_gen_v0.py line 3: .*'passge'.*did you mean 'passage'",
        ),
        ("1 / 0", r"raised ZeroDivisionError.*the row is .*\"question\":\"0\+1\""),
        ("exit(3)", "transform raised SystemExit: 3"),
    ],
)
def test_a_transform_that_returns_what_cannot_be_used(tmp_path: Path, value: str, expected: str) -> None:
    message = failing(tmp_path, SAYING.format(value=value), free_rows(1), f"ULTRAEVAL-005.*row 1.*{expected}")
    assert "sums.jsonl row 1 (line 1)" in message


@pytest.mark.parametrize("value", ["(one for one in data)", "{**data, 'input': len(data['question'])}"])
def test_rows_with_one_fault_are_reported_together_whatever_their_values(tmp_path: Path, value: str) -> None:
    rows = [{**row, "question": "?" * number} for number, row in enumerate(free_rows(4))]
    script = SAYING.format(value=value.replace("{**", "{'output': '', 'processed_output': '', **"))
    message = failing(tmp_path, script, rows, "ULTRAEVAL-005")
    assert message.count("ULTRAEVAL-005") == 1
    assert "the same in rows 2, 3, 4" in message


def test_a_text_may_be_of_another_librarys_kind(tmp_path: Path) -> None:
    value = "{name: np.str_(data['question']) for name in ('input', 'output', 'processed_output')}"
    folder = write_dataset(
        tmp_path, free_rows(2), {"transform_gen_v0.py": "import numpy as np\n" + SAYING.format(value=value)}
    )
    one = compile_only(folder, shots=1)
    assert {type(part) for sample in one.task.samples() for part in sample.targets} == {str}
    assert list_requests(one)


def test_every_row_that_fails_is_reported(tmp_path: Path) -> None:
    script = FREE.replace("return {", "assert data['question'] != '1+1', '삼'\n    return {")
    rows = [*free_rows(3), free_rows(2)[1]]
    message = failing(tmp_path, script, rows, "ULTRAEVAL-005")
    assert "row 2 (line 2)" in message
    assert "the same in row 4" in message
    assert "AssertionError: 삼" in message


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("def transfrom(a, b, c, d): return 1\ndef transform_(a): pass", "no function 'transform'"),
        ("def transform(data, r): return {}", "cannot be called with"),
        ("from UltraEval.tasks.postprocess import Nothing\ndef transform(a, b, c, d): pass", "'Nothing'"),
        ("import not_installed_at_all\ndef transform(a, b, c, d): pass", "not installed"),
        ("def transform(a, b, c, d:\n    pass", "not valid Python"),
        ("class Two:\n    def __call__(self, a, b): pass\ntransform = Two()", "cannot be called with"),
        ("raise ValueError('so')\ndef transform(a, b, c, d): pass", "raised ValueError: so"),
    ],
)
def test_a_script_that_does_not_load(tmp_path: Path, script: str, expected: str) -> None:
    folder = write_dataset(tmp_path, free_rows(1), {"transform_gen_v0.py": script})
    with pytest.raises(AuthorError, match=rf"ULTRAEVAL-001.*{expected}"):
        compile_only(folder / "transform_gen_v0.py")


def test_parameters_may_have_other_names(tmp_path: Path) -> None:
    script = FREE.replace("data, num_sample, r, dataset_name", "data, num_fewshot, rng, task, extra=None")
    assert list_requests(compile_only(write_dataset(tmp_path, free_rows(2), {"transform_gen_v0.py": script})))


def test_a_transform_does_not_change_the_row(tmp_path: Path) -> None:
    script = FREE.replace("return {", "data['question'] = 'Q' + data['question']\n    return {")
    folder = write_dataset(tmp_path, free_rows(3), {"transform_gen_v0.py": script})
    one = compile_only(folder, shots=1)
    assert [sample.fields["question"] for sample in one.task.samples()] == ["0+1", "1+1", "2+1"]


def test_a_transform_does_not_change_what_is_inside_a_row(tmp_path: Path) -> None:
    """The next method, and the comparison of options, read the row as it is written."""
    script = GEN.replace("return {", "data['target_scores'].popitem()\n    return {")
    rows = choice_rows(3)
    one = compile_only(write_dataset(tmp_path, rows, {"transform_gen_v0.py": script}), methods=("gen",))
    assert [sample.fields["target_scores"] for sample in one.task.samples()] == [
        row["target_scores"] for row in rows
    ]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"a": 0, "b": 0}, r"column 'target_scores'.*no option is right: found \{'a': 0, 'b': 0\}"),
        ({}, r"column 'target_scores'.*the row has none: found \{\}"),
        (["a", "b"], r"found \['a', 'b'\], expected an object"),
        ({"a": "yes"}, "option 'a' has the value 'yes', expected 1 or 0"),
        ({"a": True}, "option 'a' has the value True"),
    ],
)
def test_wrong_options_are_reported(tmp_path: Path, scores: Any, expected: str) -> None:
    rows = [choice_rows(1)[0], {**choice_rows(1)[0], "target_scores": scores}]
    folder = write_dataset(tmp_path, rows, {"transform_ppl_v0.py": GEN})
    with pytest.raises(AuthorError, match=rf"ULTRAEVAL-006.*row 2 .*{expected}"):
        compile_only(folder, methods=("ppl",))


def test_the_order_of_options_is_the_files(tmp_path: Path) -> None:
    row = {"question": "?", "target_scores": {"zebra": 0, "ant": 1, "mole": 1}, "answer": ""}
    folder = write_dataset(tmp_path, [row], {"transform_gen_v0.py": GEN})
    (only,) = StandardRows.read(folder / "data" / "sums.jsonl").rows
    assert only.choices == ("zebra", "ant", "mole")
    assert only.gold == (1, 2)
    assert only.labels == ("A", "B", "C")


def test_several_outputs_give_the_first_as_an_example(tmp_path: Path) -> None:
    script = FREE.replace('"output": answer', '"output": [answer, "or so"]')
    script = script.replace('"processed_output": answer', '"processed_output": [answer, "or so"]')
    one = compile_only(write_dataset(tmp_path, free_rows(3), {"transform_gen_v0.py": script}), shots=1)
    assert next(iter(one.task.samples())).targets == ("1", "or so")
    (request,) = list_requests(one)[0]
    assert "or so" not in str(request.ask)


def test_rows_may_have_no_options_at_all(tmp_path: Path) -> None:
    folder = write_dataset(
        tmp_path,
        [{"input": "1+1=", "cot": "x", "answer": ["2"]}],
        {
            "transform_gen_cot.py": SAYING.format(
                value="{'input': data['input'], 'output': data['answer'], 'processed_output': data['answer']}"
            )
        },
    )
    one = compile_only(folder)
    assert one.kind == "free answer"
    assert one.task.spec.settings["transform"]["gen"]["version"] == "cot"


@pytest.mark.parametrize(("is_faithful", "expected"), [(False, "3.5"), (True, "3")])
def test_right_answers_go_through_the_post_processor_of_the_mode(
    tmp_path: Path, is_faithful: bool, expected: str
) -> None:
    """An answer and its gold must meet in one form: where the original cuts at the point, both are cut."""
    script = "from UltraEval.tasks.postprocess import ExactMatchPost\n" + SAYING.format(
        value="{'input': 'x', 'output': '3.5', 'processed_output': ExactMatchPost()([], '3.5')[1]}"
    )
    folder = write_dataset(tmp_path, free_rows(1), {"transform_gen_v0.py": script})
    (sample,) = compile_only(folder, is_faithful=is_faithful).task.samples()
    assert sample.targets == (expected,)
