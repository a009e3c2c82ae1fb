"""The settings that `assay init` writes state the reading they come from."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assay.app.init import MetaDraft, MetaQuestion, MetaReading
from assay.app.settings import RunSettings, Settings
from assay.core.errors import AuthorError
from assay.core.method import Method
from assay.dialects.table.compile import CompiledTable

FILES = {
    "a.csv": "question,option_a,option_b,correct\nWhich is in France?,Paris,Rome,A\nIn Italy?,Paris,Rome,B\n",
    "b.csv": "question;answer\nA quarter of eleven?;2,75\nA half of seven?;3,5\n",
    "c.jsonl": '{"q": "Is it?", "choices": ["y", "n"], "gold": 1}\n'
    '{"q": "Or?", "choices": ["a", "b"], "gold": 0}\n',
    "e.csv": "question,__expected\nThe capital of France?,icontains: Paris\nOf Italy?,equals: Rome\n",
    "d.json": '{"question": ["1+1=", "2+2="], "answer": ["2", "4"]}',
}


def read(path: Path) -> CompiledTable:
    reading = MetaDraft(str(path), Settings(RunSettings(), {})).read()
    assert isinstance(reading, MetaReading)
    return reading.table


def write_and_compare(path: Path) -> None:
    draft = MetaDraft(str(path), Settings(RunSettings(), {}))
    reading = draft.read()
    assert isinstance(reading, MetaReading)
    before = reading.table
    draft.write(reading, overwrites=False)
    after = read(path)
    assert after.survey.layout == before.survey.layout
    for one, other in zip(before.task.samples(), after.task.samples(), strict=True):
        assert msgspec.structs.replace(one, id="") == msgspec.structs.replace(other, id="")
        assert before.task.preview_prompt(one, Method.GEN) == after.task.preview_prompt(other, Method.GEN)


@pytest.mark.parametrize("name", FILES)
def test_a_written_meta_file_states_the_reading(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name])
    write_and_compare(tmp_path / name)


def test_meta_files_of_well_known_datasets_state_their_reading(tmp_path: Path, shared_data: Path) -> None:
    written = 0
    for path in sorted((shared_data / "schemas").iterdir()):
        if path.name == "expected.json":
            continue
        copied = tmp_path / path.name
        copied.write_bytes(path.read_bytes())
        if isinstance(MetaDraft(str(copied), Settings(RunSettings(), {})).read(), MetaReading):
            write_and_compare(copied)
            written += 1
    assert written >= 20


def test_choices_and_changes_can_be_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    path.write_text('{"text": "a joy", "label": 1}\n{"text": "a bore", "label": 0}\n')
    draft = MetaDraft(str(path), Settings(RunSettings(), {}))
    question = draft.read()
    assert isinstance(question, MetaQuestion)
    assert question.choices[0].unnamed_labels == ("0", "1")
    draft.choose(question.choices[0], {"0": "bad", "1": "good"})
    reading = draft.read()
    assert isinstance(reading, MetaReading)
    assert {part.key: part.value for part in draft.list_parts(reading)}["label_names"] == "0=bad,1=good"
    draft.change("output_column", "nowhere")
    with pytest.raises(AuthorError, match="nowhere"):
        draft.read()
    assert draft.undo()
    assert isinstance(draft.read(), MetaReading)
    assert draft.undo()
    assert isinstance(draft.read(), MetaQuestion)
    assert not draft.undo()
    with pytest.raises(AuthorError, match="TABLE-004"):
        draft.change("answer_is", "colour")
