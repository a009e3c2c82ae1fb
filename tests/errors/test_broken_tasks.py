"""Task classes with one mistake each: a clear error before a model is loaded, or a failed document."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from cli import assay

BROKEN = Path(__file__).parent / "broken" / "tasks"
EDITS = tomllib.loads((BROKEN / "edits.toml").read_text(encoding="utf-8"))
ROWS = [
    {"question": "Capital of France?", "options": ["Rome", "Paris"], "answer": 1, "hint": ""},
    {"question": "Capital of Italy?", "options": ["Rome", "Paris"], "answer": 0, "hint": "Latin"},
]

BEFORE_THE_RUN = [
    ("broken_syntax.py", (), "LEAP-001", ("line 8", "not valid Python")),
    ("missing_package.py", (), "LEAP-001", ("line 1", "'gensim_of_old'", "pip install gensim_of_old")),
    ("missing_function.py", (), "LEAP-001", ("line 4", "'meen'", "did you mean 'mean'")),
    ("no_class.py", (), "LEAP-002", ("defines no Task class",)),
    ("lacks_methods.py", (), "LEAP-002", ("class Capitals lacks 'aggregation', 'higher_is_better'",)),
    ("misspelt_method.py", (), "LEAP-002", ("line 14", "'n_shots'", "did you mean 'n_shot'")),
    ("misspelt_attribute.py", (), "LEAP-002", ("line 12", "'DATASET_TYP'", "did you mean 'DATASET_TYPE'")),
    ("misspelt_need.py", (), "LEAP-002", ("line 32", "lacks 'doc_to_text'", "'doc_to_txt'", "write doc_to")),
    ("fine.py::Rivers", (), "LEAP-002", ("'Rivers'", "the file has 'Capitals'")),
    ("raises_on_one.py", (), "LEAP-003", ("line 33", "document 1", "IndexError", "Capital of France?")),
    ("target_raises.py", (), "LEAP-003", ("documents 1, 2", "KeyError: 'solution'", "Capital of France?")),
    ("text_is_none.py", (), "LEAP-003", ("doc_to_text returned NoneType", "expected a text")),
    ("returns_texts.py", (), "LEAP-004", ("documents 1, 2", "str (' Rome')", "made by rf")),
    ("forgets_to_return.py", (), "LEAP-004", ("NoneType", "rf.greedy_until")),
    ("one_argument.py", (), "LEAP-004", ("loglikelihood received 1 arguments, expected 2",)),
    ("no_tokens.py", (), "LEAP-004", ("max_gen_toks 0, expected a whole number of tokens",)),
    ("until_numbers.py", (), "LEAP-004", ("until [1]", "expected texts")),
    ("unknown_type.py", (), "LEAP-003", ("unknown request type 'likelihood'", "loglikelihood_rolling")),
    ("taken_apart.py", (), "LEAP-003", ("cannot be unpacked",)),
    ("no_split.py", (), "LEAP-005", ("both False", "return True")),
    ("unknown_split.py", (), "LEAP-005", ("'valid'", "the splits are 'train', 'validation'")),
    ("absent_split.py", (), "LEAP-005", ("'test', whose file does not exist", "test.jsonl")),
    ("no_test_docs.py", (), "LEAP-005", ("test_docs() returns no documents", "has_test_docs()")),
    (
        "many_shots.py",
        (),
        "LEAP-006",
        ("5 examples were requested, but training_docs() has only 1", "--shots N"),
    ),
    ("fine.py", ("--shots", "2"), "LEAP-006", ("2 examples were requested, but training_docs() has only 1",)),
    ("shots_in_words.py", (), "LEAP-006", ("n_shot() returned 'three'", "whole number")),
    ("no_folder.py", (), "LEAP-007", ("DATASET_PATH 'capital' is not a folder", "'capitals'", "--task-dir")),
    ("no_files.py", (), "LEAP-007", ("no file of DATA_FILES exists", "asia/train.jsonl", "--task-dir")),
    ("no_data_files.py", (), "LEAP-007", ("DATA_FILES is None", "IN_HF_HUB = True")),
    ("no_path.py", (), "LEAP-007", ("DATASET_PATH is not set",)),
    ("unreadable.py", (), "LEAP-007", ("could not be read as 'parquet'", "DATASET_TYPE")),
    ("opens_a_file.py", (), "LEAP-007", ("line 15", "nowhere.json", "--task-dir")),
    ("lacks_a_metric.py", (), "LEAP-008", ("'acc'", "it has 'accuracy'", "add 'acc' to aggregation()")),
    ("no_functions.py", (), "LEAP-008", ("'mean'", "expected a function")),
    ("no_aggregation.py", (), "LEAP-008", ("expected a dict of metrics and functions",)),
    ("returns_a_number.py", (), "LEAP-008", ("process_results returned float", "expected a dict")),
    ("needs_a_package.py", (), "LEAP-008", ("'acc' needs 'bert_score'", "pip install bert-score")),
    ("better_in_words.py", (), "LEAP-008", ("higher_is_better() returned str",)),
    ("fine.py", ("--method", "gen"), "LEAP-009", ("'gen'", "loglikelihood", "use --method ppl")),
    ("fine.py:rivers", (), "LEAP-010", ("there is no task 'rivers'", "'fine'")),
    ("fine.py", ("--score-by", "per_char"), "USAGE-007", ("'score_by'", "process_results")),
    ("fine.py", ("--split", "test"), "USAGE-007", ("--split", "has_test_docs()")),
    ("fine.py", ("--samples", "3"), "USAGE-007", ("--samples", "a Task class")),
]

AFTER_THE_MODEL = [
    (
        "late_metric.py",
        "SCORE-003",
        ("'late'", "aggregation() has no function", "the model's answers are kept"),
    ),
    ("aggregate_raises.py", "SCORE-003", ("line 45", "aggregation()['acc'] raised ZeroDivisionError")),
]


@pytest.fixture(autouse=True)
def files(workdir: Path) -> None:
    for source in BROKEN.glob("*.py"):
        shutil.copy(source, workdir)
    for name, edits in EDITS.items():
        text = (BROKEN / "fine.py").read_text(encoding="utf-8")
        for edit in edits:
            assert text.count(edit["old"]) == 1, name
            text = text.replace(edit["old"], edit["new"])
        (workdir / f"{name}.py").write_text(text, encoding="utf-8")
    folder = workdir / "data" / "capitals" / "europe"
    folder.mkdir(parents=True)
    for split, rows in (("train", ROWS[:1]), ("dev", ROWS)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("file", "flags", "code", "parts"), BEFORE_THE_RUN)
def test_found_before_the_run(
    workdir: Path, file: str, flags: tuple[str, ...], code: str, parts: tuple[str, ...]
) -> None:
    result = assay("run", file, "-m", "mock", "--task-dir", "data", *flags)
    assert result.status == 2
    assert "Traceback" not in result.err
    assert "fix:" in result.err
    # What is wrong with the command is no file's fault.
    place = "" if code.startswith("USAGE") else file.partition(".")[0]
    for part in (code, place, *parts):
        assert part in result.err
    assert not (workdir / "runs").exists()
    assert assay("check", file, "--task-dir", "data", *flags).status == 1


@pytest.mark.parametrize(("file", "code", "parts"), AFTER_THE_MODEL)
def test_found_when_answers_are_there(file: str, code: str, parts: tuple[str, ...]) -> None:
    result = assay("run", file, "-m", "mock", "--task-dir", "data")
    assert (result.status, "Traceback" in result.err) == (3, False)
    assert "no sample could be scored: exit status 3" in result.err
    for part in (code, "Fix:", *parts):
        assert part in result.out


def test_a_document_on_which_process_results_raises_fails_alone(workdir: Path) -> None:
    result = assay("run", "raises_on_results.py", "-m", "mock", "--task-dir", "data", "--out", "run")
    assert result.status == 3
    scores = [json.loads(line) for line in (workdir / "run" / "scores.jsonl").read_text().splitlines()]
    assert [score["verdict"] for score in scores] == ["failed", "scored"]
    why = scores[0]["why"]
    assert why.startswith("process_results: raised ValueError: no idea (")
    assert "raises_on_results.py line 4" in why
    assert "Capital of France?" in why
    (metric,) = json.loads((workdir / "run" / "summary.json").read_text())
    assert (metric["n_scored"], metric["n_failed"]) == (1, 1)


def test_a_file_of_a_split_that_nobody_reads_may_be_absent() -> None:
    result = assay("run", "fine.py", "-m", "mock", "--task-dir", "data")
    assert result.status == 0
    assert "test.jsonl'; the other splits were loaded" in result.out


REGISTRY = """
def get_eval_datasets():
    return {"{name}": {"explain": "capitals", "metrics": ["acc"]}}
EVAL_DATASET_METRIC = {"{name}": "acc"}
"""


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            REGISTRY.replace("{name}", "rivers"),
            ("lists 'rivers', which has no class", "fine.Capitals"),
        ),
        ("EVAL_DATASET_METRIC = ['acc']", ("EVAL_DATASET_METRIC is list, expected a dict",)),
        ("def get_eval_datasets():\n    return {'fine': 3}", ("get_eval_datasets()['fine'] is int",)),
        ("def get_eval_datasets():\n    return 1 / 0", ("ZeroDivisionError",)),
        ("from .path import X\nEVAL_DATASET_METRIC = {}", ("dataset.py line 1", "path")),
    ],
)
def test_a_broken_registry(workdir: Path, text: str, parts: tuple[str, ...]) -> None:
    folder = workdir / "task"
    folder.mkdir()
    shutil.copy(BROKEN / "fine.py", folder)
    (workdir / "config").mkdir()
    (workdir / "config" / "dataset.py").write_text(text, encoding="utf-8")
    result = assay("run", "task", "-m", "mock", "--task-dir", "data")
    assert result.status == 2
    for part in ("LEAP-010", "fix:", *parts):
        assert part in result.err


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("TASK_REGISTRY = ['fine']", ("TASK_REGISTRY is list, expected a dict",)),
        ("TASK_REGISTRY = {'fine': 'fine.Capitals'}", ("has the value 'fine.Capitals' for 'fine'",)),
    ],
)
def test_a_broken_list_of_classes(workdir: Path, text: str, parts: tuple[str, ...]) -> None:
    folder = workdir / "task"
    folder.mkdir()
    shutil.copy(BROKEN / "fine.py", folder)
    (folder / "__init__.py").write_text(text, encoding="utf-8")
    result = assay("run", "task", "-m", "mock", "--task-dir", "data")
    assert result.status == 2
    for part in ("LEAP-010", "fix:", *parts):
        assert part in result.err


@pytest.mark.parametrize(
    "file", sorted([path.name for path in BROKEN.glob("*.py")] + [f"{name}.py" for name in EDITS])
)
def test_every_file_here_is_used(file: str) -> None:
    used = [case[0] for case in BEFORE_THE_RUN] + [case[0] for case in AFTER_THE_MODEL]
    assert file in {name.partition(":")[0] for name in (*used, "raises_on_results.py")}
