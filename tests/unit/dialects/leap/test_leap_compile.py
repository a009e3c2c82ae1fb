"""The recorded settings of a task, its documents, and its notes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.core.errors import AuthorError
from assay.core.limit import Limit
from assay.dialects.leap.differences import DIFFERENCES, TaskTraits, find_differences
from fakes.leap_tasks import CHOICE, FREE, HEAD, compile_one, questions

ROWS = {"train": questions(3, first=50), "validation": questions(4), "test": questions(5, first=10)}


def test_the_test_split_is_evaluated_or_else_the_validation_split(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, ROWS)
    assert (one.task.spec.settings["split"], one.task.spec.n_rows) == ("test", 5)
    no_test = {name: rows for name, rows in ROWS.items() if name != "test"}
    one = compile_one(tmp_path, CHOICE, no_test)
    assert (one.task.spec.settings["split"], one.task.spec.n_rows) == ("validation", 4)


def test_everything_that_decides_is_recorded(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, ROWS, shots=1, seed=3, limit=Limit(2))
    spec = one.task.spec
    assert (spec.dialect, spec.name, spec.methods, spec.n_samples, spec.n_rows) == (
        "leap",
        "mine",
        ("ppl",),
        2,
        5,
    )
    recorded = {
        name: spec.settings[name] for name in ("class", "version", "shots", "seed", "fidelity", "form")
    }
    assert recorded == {
        "class": "Choice", "version": 0, "shots": 1, "seed": 3, "fidelity": "corrected", "form": "text",
    }  # fmt: skip
    assert spec.settings["request_types"] == ["loglikelihood"]
    assert spec.settings["limit"] == {"n": 2, "which": "drawn"}
    assert dict(one.facts)["shots"] == "1"
    assert compile_one(tmp_path, FREE, None).task.spec.settings["sampling"][0]["stop"] == ["\n"]


def test_a_run_is_another_when_data_or_examples_are(tmp_path: Path) -> None:
    hashes = [compile_one(tmp_path, CHOICE, ROWS, shots=shots).task.spec.data_hash for shots in (0, 1)]
    other = {**ROWS, "train": questions(3, first=60)}
    again = [compile_one(tmp_path, CHOICE, other, shots=shots).task.spec.data_hash for shots in (0, 1)]
    assert hashes[0] == again[0]
    assert hashes[1] != again[1]
    few = {"validation": questions(5)}, {"validation": [*questions(4), *questions(1, first=70)]}
    first = Limit(2, "first")
    pools = [compile_one(tmp_path, CHOICE, rows, shots=1, limit=first).task.spec.data_hash for rows in few]
    assert pools[0] != pools[1]


def test_a_run_is_another_when_code_beside_the_class_is(tmp_path: Path) -> None:
    text = "from .first import worth\n" + CHOICE.replace('== doc["a"]}', '== doc["a"] and worth}')
    hashes = []
    for worth in (1, 2):
        (tmp_path / "first.py").write_text("from . import second\nworth = second.worth\n")
        (tmp_path / "second.py").write_text(f"worth = {worth}\n")
        (tmp_path / "other.py").write_text(f"unused = {worth}\n")
        hashes += [compile_one(tmp_path, CHOICE, ROWS), compile_one(tmp_path, text, ROWS)]
    plain, importing, plain_again, importing_again = (one.task.spec.data_hash for one in hashes)
    assert plain == plain_again
    assert importing != importing_again


def test_equal_documents_are_distinguished(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, {"validation": questions(1) * 3})
    ids = [sample.id for sample in one.task.samples()]
    assert len(set(ids)) == 3
    assert [re.sub(r"-\d$", "", name) for name in ids] == [ids[0]] * 3


def test_documents_of_any_kind(tmp_path: Path) -> None:
    text = CHOICE.replace('return doc["q"]', "return str(doc)").replace('" " + doc["a"]', '" yes"')
    docs = "('a', 1), {'n': np.int64(3)}, 'text', np.arange(2)"
    text += f"    def validation_docs(self):\n        return iter([{docs}])\n"
    one = compile_one(tmp_path, "import numpy as np\n" + text, {"validation": questions(1)})
    assert [sample.fields for sample in one.task.samples()] == [
        {"doc": ("a", 1)}, {"n": 3}, {"doc": "text"}, {"doc": [0, 1]},
    ]  # fmt: skip


def test_a_limit_of_the_faithful_way_takes_the_first_after_the_shuffle(tmp_path: Path) -> None:
    rows = {"validation": questions(9)}

    def list_ids(limit: Limit | None) -> list[str]:
        one = compile_one(tmp_path, CHOICE, rows, is_faithful=True, limit=limit)
        return [sample.fields["q"] for sample in one.task.samples()]

    whole = list_ids(None)
    assert sorted(whole) != whole
    assert list_ids(Limit(4)) == list_ids(Limit(4, "first")) == whole[:4]
    assert list_ids(Limit(4, "last")) == whole[-4:]


def test_metrics_of_which_nobody_says_the_direction_are_noted(tmp_path: Path) -> None:
    text = CHOICE + "    def higher_is_better(self):\n        return {}\n"
    one = compile_one(tmp_path, text, {"validation": questions(2)})
    assert any("higher_is_better() does not list 'acc'" in note for note in one.notes)


def test_a_rehearsal_leaves_the_document_as_it_is(tmp_path: Path) -> None:
    text = CHOICE.replace(
        "    def process_results(self, doc, results):\n",
        '    def process_results(self, doc, results):\n        doc.pop("q")\n',
    )
    one = compile_one(tmp_path, text, {"validation": questions(2)})
    assert next(one.task.samples()).fields["q"] == "Is 0 even?"
    assert len(list(one.task.requests(next(one.task.samples())))) == 2


def test_what_cannot_be_rehearsed_is_no_error(tmp_path: Path) -> None:
    text = FREE.replace('results[0] == doc["a"]', "int(results[0]) == 1")
    assert compile_one(tmp_path, text, {"validation": questions(2)}).task.spec.n_samples == 2


def test_every_trouble_of_documents_is_gathered(tmp_path: Path) -> None:
    text = CHOICE.replace(
        '        return doc["q"]\n',
        '        return {"Is 1 even?": 3, "Is 2 even?": 4}.get(doc["q"], doc["q"] * 1)\n',
    )
    text = text.replace(
        '" " + doc["a"]', '" " + {"Is 0 even?": "yes", "Is 1 even?": "no", "Is 2 even?": "yes"}[doc["q"]]'
    )
    with pytest.raises(AuthorError) as caught:
        compile_one(tmp_path, text, {"validation": questions(4)})
    problems = caught.value.problems
    assert len(problems) == 2
    assert all(problem.code == "LEAP-003" for problem in problems)
    assert "document 4: doc_to_target raised KeyError: 'Is 3 even?'" in str(caught.value)
    assert "documents 2, 3: doc_to_text returned int (3)" in str(caught.value)


@pytest.mark.parametrize(
    ("hook", "value"), [("construct_requests(self, doc, ctx)", "ctx"), ("doc_to_text(self, doc)", "[doc]")]
)
def test_documents_with_one_trouble_are_reported_together(tmp_path: Path, hook: str, value: str) -> None:
    text = CHOICE + f"    def {hook}:\n        return {value}\n"
    with pytest.raises(AuthorError) as found:
        compile_one(tmp_path, text, {"validation": questions(4)})
    assert [problem.what.partition(":")[0] for problem in found.value.problems] == [
        "class Choice, documents 1, 2, 3, 4"
    ]


def test_a_description_is_a_text(tmp_path: Path) -> None:
    text = CHOICE + "    def description(self):\n        return 5\n"
    with pytest.raises(AuthorError, match=r"LEAP-003 .*description returned int \(5\), expected a text"):
        compile_one(tmp_path, text, {"validation": questions(1)})


def test_the_faithful_way_names_the_document_that_an_example_makes_fail(tmp_path: Path) -> None:
    text = CHOICE + (
        "    def fewshot_context(self, doc, num_fewshot, rnd):\n"
        "        return doc['q'][: 90 // (int(doc['q'][3]) - 2)]\n"
    )
    for is_faithful in (False, True):
        with pytest.raises(
            AuthorError, match=r"document 3: fewshot_context raised ZeroDivisionError.*Is 2 even"
        ):
            compile_one(tmp_path, text, {"validation": questions(4)}, is_faithful=is_faithful)


def test_differences_that_touch_a_task_are_listed_with_what_was_done(tmp_path: Path) -> None:
    rows = {"validation": questions(4)}
    here = {
        difference.name: difference.here
        for difference in compile_one(tmp_path, CHOICE, rows, shots=1).task.spec.differences
    }
    assert {
        "row_order",
        "shots_draw",
        "own_example",
        "greedy_flag",
        "rounding",
        "long_prompts",
    } <= here.keys()
    assert here.keys().isdisjoint({"sampled_text", "chat_template", "request_type", "absent_files"})
    faithful = compile_one(
        tmp_path, CHOICE, None, shots=1, is_faithful=True, is_chat=True
    ).task.spec.differences
    done = {difference.name: difference.here for difference in faithful}
    assert done["shots_draw"] == done["chat_template"] == "as the original"
    assert done["long_prompts"] != "as the original"


def test_every_difference_can_touch_something() -> None:
    everything = TaskTraits(
        frozenset({"loglikelihood", "greedy_until"}),
        has_shots=True, has_window=True, is_chat_model=True, options_absent=True, files_absent=True,
        found_by_paths=True, request_type_differs=True,
    )  # fmt: skip
    touched = find_differences(everything, is_faithful=True)
    assert tuple(difference.name for difference in touched) == tuple(DIFFERENCES)
    reproduced = {name for name, one in DIFFERENCES.items() if one.is_reproduced}
    assert {difference.name for difference in touched if difference.here == "as the original"} == reproduced


def test_a_class_without_a_way_to_load_says_so(tmp_path: Path) -> None:
    start, end = HEAD.index("    def load("), HEAD.index("    def has_training_docs")
    text = CHOICE.replace(HEAD[start:end], "")
    with pytest.raises(AuthorError, match=r"LEAP-007.*DATASET_PATH is not set"):
        compile_one(tmp_path, text, {"validation": questions(1)})
