from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.core.errors import AssayError
from assay.core.method import Method
from assay.core.prompt import Prompt
from assay.core.request import Generate
from assay.core.task import TaskSettings
from assay.dialects.table.compile import CompiledTable, compile_table
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.readings import AmbiguousTableError
from assay.sources.jsonl import JsonLinesSource
from corpora.table_shapes import SHAPES, Shape
from fakes.scoring import score_reply
from fakes.tables import table


def compiled(path: str) -> CompiledTable:
    return compile_table(path, TaskSettings(methods=(Method.GEN,)))


def first_prompt(one: CompiledTable) -> Prompt:
    ask = one.task.requests(next(iter(one.task.samples())))[0].ask
    assert isinstance(ask, Generate)
    return ask.prompt


@pytest.mark.parametrize("shape", SHAPES, ids=[shape.name for shape in SHAPES])
def test_a_table_is_read_right_or_asked_about(tmp_path: Path, shape: Shape) -> None:
    path = table(tmp_path, shape.rows)
    if shape.right is None:
        with pytest.raises(AmbiguousTableError) as raised:
            compiled(path)
        assert f"assay run {path} " in str(raised.value)
        return
    one = compiled(path)
    prompt = str(first_prompt(one))
    assert [text for text in shape.show if text not in prompt] == []
    assert [text for text in shape.hide if text in prompt] == []
    assert score_reply(one.task, shape.right) == 1.0
    assert score_reply(one.task, str(shape.wrong)) == 0.0


def test_a_list_of_right_options_printed_into_a_cell(tmp_path: Path) -> None:
    rows = [{"question": f"q{n}", "A": "x", "B": "y", "C": "z", "answer": "['A', 'C']"} for n in range(3)]
    one = compiled(table(tmp_path, rows, "data.csv"))
    assert [sample.gold for sample in one.task.samples()] == [(0, 2)] * 3


def test_examples_show_the_whole_solution_of_a_final_answer(tmp_path: Path) -> None:
    rows = [{"question": f"{n}+1?", "answer": f"Add one.\n#### {n + 1}"} for n in (4, 11, 98)]
    one = compile_table(table(tmp_path, rows), TaskSettings(methods=(Method.GEN,), shots=1))
    assert "Add one.\n#### " in str(first_prompt(one))
    assert [sample.targets for sample in one.task.samples()] == [("5",), ("12",), ("99",)]


def test_examples_of_another_file_join_their_question_as_the_dataset_does(tmp_path: Path) -> None:
    rows = [{"instruction": "Add.", "input": text, "output": "3"} for text in ("", "1 and 2")]
    full = [{"instruction": "Add.", "input": f"{n} and 1", "output": str(n + 1)} for n in range(3)]
    examples = table(tmp_path, full, "examples.jsonl")
    settings = TaskSettings(methods=(Method.GEN,), shots=1, shots_from=examples)
    prompt = str(first_prompt(compile_table(table(tmp_path, rows), settings)))
    assert "Add.\n0 and 1" in prompt


def test_an_answer_column_with_a_mistake_is_still_the_answer(tmp_path: Path) -> None:
    rows = [
        {"question": f"q{n}", "A": "x", "B": "y", "page": 1 + n % 2, "answer": "AB"[n % 2]} for n in range(9)
    ]
    rows[4]["answer"] = "E"
    with pytest.raises(AssayError, match=r"TABLE-011 .*row 5 .*column 'answer': found 'E'"):
        compiled(table(tmp_path, rows))


def test_a_command_pasted_without_names_of_labels_is_an_error(tmp_path: Path) -> None:
    path = table(tmp_path, [{"sentence": f"s{n}", "label": n % 2} for n in range(4)])
    with pytest.raises(AssayError, match=r"TABLE-004.*'NAME0', 'NAME1'"):
        compile_table(path, TaskSettings(), TableMeta(label_names={"0": "NAME0", "1": "NAME1"}))


def test_names_that_the_data_gives_to_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(tmp_path, [{"sentence": f"s{n}", "label": n % 2} for n in range(4)])
    monkeypatch.setattr(JsonLinesSource, "label_names", {"label": ("negative", "positive")})
    samples = list(compiled(path).task.samples())
    assert [(sample.choices, sample.gold) for sample in samples[:2]] == [
        (("negative", "positive"), (0,)),
        (("negative", "positive"), (1,)),
    ]


def test_a_row_that_breaks_the_reading_is_an_error_with_its_line(tmp_path: Path) -> None:
    rows = [{"question": f"{n}+1?", "answer": f"Add one.\n#### {n + 1}"} for n in range(1_500)]
    rows[1_400]["answer"] = "no idea"
    with pytest.raises(AssayError, match=r"TABLE-011 .*row 1401 \(line 1401\).*'no idea'"):
        compiled(table(tmp_path, rows))


def test_a_run_that_scores_nothing_needs_no_answers(tmp_path: Path) -> None:
    path = table(tmp_path, [{"question": "why?"}])
    one = compile_table(path, TaskSettings(methods=(Method.GEN,), is_scored=False))
    assert one.survey.layout.answer_column is None


def test_options_are_shuffled_by_the_seed(tmp_path: Path) -> None:
    rows = [
        {"question": f"q{n}", "correct_answer": "right", "distractor1": "x", "distractor2": "y"}
        for n in range(40)
    ]
    path = table(tmp_path, rows)

    def golds(seed: int) -> list[tuple[int, ...]]:
        samples = list(compile_table(path, TaskSettings(methods=(Method.GEN,), seed=seed)).task.samples())
        assert all(sample.choices[sample.gold[0]] == "right" for sample in samples)
        return [sample.gold for sample in samples]

    assert golds(0) == golds(0) != golds(1)
    assert set(golds(0)) == {(0,), (1,), (2,)}


SCHEMAS = Path(__file__).parents[5] / "shared" / "data" / "schemas"


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the shared data is not there")
@pytest.mark.parametrize(
    "name", sorted(json.loads((SCHEMAS / "expected.json").read_text())) if SCHEMAS.is_dir() else ["none"]
)
def test_schemas_of_well_known_datasets(name: str) -> None:
    expected = json.loads((SCHEMAS / "expected.json").read_text())[name]
    path = str(SCHEMAS / name)
    if expected["gold"] is None:
        with pytest.raises(AmbiguousTableError):
            compiled(path)
        return
    one = compiled(path)
    prompt = str(first_prompt(one))
    assert [text for text in expected["show"] if text not in prompt] == []
    assert score_reply(one.task, expected["gold"]) == 1.0
    assert score_reply(one.task, expected["bad"]) == 0.0
