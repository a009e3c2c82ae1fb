"""Entries of configs with a mistake in what they name: code, data, columns, templates, evaluation.

Each is an edit of valid files (`broken/entries/edits.toml`). Every error appears before a model is loaded.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from assay.backends.mock import MockBackend
from cli import assay

pytest.importorskip("datasets")

BROKEN = Path(__file__).parent / "broken" / "entries"
EDITS = tomllib.loads((BROKEN / "edits.toml").read_text(encoding="utf-8"))
FILES = {"config": "config.py", "code": "capitals.py", "data": "data.json"}
FIRST = "config.py capitals_datasets[0]"

CASES = [
    ("no_such_class", "OPENICL-011", (FIRST, "'CapitalDataset' (did you mean 'CapitalsDataset'?)")),
    ("class_by_a_wrong_name", "OPENICL-011", (FIRST, "did you mean 'CapitalsDataset'", "--openicl-root")),
    ("evaluator_by_a_wrong_name", "OPENICL-011", ("no evaluator", "did you mean 'CapitalsEvaluator'")),
    ("known_evaluator_by_a_wrong_name", "OPENICL-011", ("did you mean 'AccEvaluator'",)),
    ("postprocessor_by_a_wrong_name", "OPENICL-011", ("no post-processor", "did you mean 'first-capital'")),
    ("broken_code", "OPENICL-011", ("capitals.py line 28", "not valid Python")),
    ("missing_package", "OPENICL-011", ("capitals.py line 2", "pip install gensim_of_old")),
    ("missing_name", "OPENICL-011", ("capitals.py line 7", "did you mean 'BaseEvaluator'")),
    ("misspelt_load", "OPENICL-011", ("capitals.py line 12", "'loads'", "did you mean 'load'")),
    ("misspelt_score", "OPENICL-011", ("CapitalsEvaluator", "'scor'", "did you mean 'score'")),
    ("load_returns_nothing", "OPENICL-012", ("capitals.py", "load returned None", "datasets.Dataset")),
    ("load_returns_rows", "OPENICL-012", ("load returned a list", "DatasetDict")),
    ("load_returns_other_splits", "OPENICL-012", ("a dict whose 'train' is a dict",)),
    ("load_raises", "OPENICL-012", ("capitals.py line 14", "KeyError: 'Europe'", "KeyError: 'Asia'")),
    ("load_lacks_an_argument", "OPENICL-012", (FIRST, "load(path, continent) is given 'path'")),
    ("no_load", "OPENICL-012", ("class CapitalsDataset: it has no method load",)),
    ("no_dataset_class", "OPENICL-012", ("capitals_postprocess: it has no method load",)),
    ("no_data", "OPENICL-012", ("capitals.py line 13", "'daten.json'", "--data-root")),
    ("no_such_columns", "OPENICL-013", ("'contry'", "did you mean 'country'", "'river'", "'capitol'")),
    ("no_such_split", "OPENICL-013", ("test_split is 'tset'", "did you mean 'test'")),
    ("no_such_range", "OPENICL-013", ("test_range is '0:10'", "'[0:100]'")),
    ("empty_range", "OPENICL-013", ("no rows to evaluate", "'[5:]' selects none of 2")),
    ("column_only_asked", "OPENICL-013", ("'hint', which does not exist in the split 'train'",)),
    ("lengths_in_words", "OPENICL-013", ("test row 2, column 'max_out_len'", "found 'many'")),
    ("turns_of_numbers", "OPENICL-013", ("test row 1", "test row 2", "found 2, expected a text")),
    ("no_such_inferencer", "OPENICL-014", ("did you mean 'GenInferencer'",)),
    ("inferencer_not_here", "OPENICL-014", ("ToTInferencer (tree-of-thought search)",)),
    (
        "load_takes_n",
        "OPENICL-012",
        ("CapitalsDataset.load, which has a parameter 'n'", "rename the parameter"),
    ),
    (
        "without_imports",
        "OPENICL-006",
        (
            "uses PromptTemplate without importing it",
            "from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate",
            "from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer",
        ),
    ),
    ("no_tokens", "OPENICL-014", ("max_out_len is 0", "temperature is -1", "top_p is 0, expected")),
    ("inferencer_arguments", "OPENICL-014", ("did you mean 'max_out_len'", "is 'hot'", "is 5, expected")),
    ("unknown_turn_mode", "OPENICL-014", ("infer_mode is 'all'", "'every_with_gt'")),
    ("no_such_placeholders", "OPENICL-015", ("{continent}", "{contry}", "{Country}", "{capitol}")),
    ("placeholder_only_asked", "OPENICL-015", ("ice_template has the placeholder {hint}",)),
    ("template_of_numbers", "OPENICL-015", ("ice_template", "a int (5), expected a text")),
    ("no_place_for_examples", "OPENICL-015", ("'</E>' is missing from the template",)),
    ("no_such_template", "OPENICL-015", ("did you mean 'PromptTemplate'",)),
    ("roles_in_words", "OPENICL-015", ("unknown key 'rolle'", "did you mean 'role'")),
    ("no_labels", "OPENICL-015", ("PPLInferencer compares labels", "a dict from each label")),
    ("no_such_retriever", "OPENICL-009", ("did you mean 'FixKRetriever'",)),
    ("retriever_arguments", "OPENICL-009", ("did you mean 'fix_id_list'", "ice_separator is 5")),
    ("examples_out_of_range", "OPENICL-030", ("fix_id_list contains '7'", "'train' has rows 0 to 0")),
    ("no_evaluator_class", "OPENICL-016", ("CapitalsDataset: it has no method score",)),
    ("evaluator_argument", "OPENICL-016", (FIRST, "CapitalsEvaluator(weight=1.0) is given 'wait'")),
    ("known_evaluator_argument", "SCORE-005", (FIRST, "'versoin' (did you mean 'version'?)")),
    ("postprocessor_argument", "OPENICL-016", (FIRST, "'optins' (did you mean 'options'?)")),
    ("own_postprocessor_argument", "OPENICL-016", (FIRST, "capitals_postprocess(text) is given 'suffix'")),
    ("postprocessor_is_no_function", "OPENICL-016", ("'capitals_postprocess' is int",)),
    ("gold_raises", "OPENICL-016", ("test row 2, column 'capital'", "IndexError", "found 'Madrid'")),
    ("score_returns_nothing", "SCORE-006", ("capitals.py", "score returned NoneType, expected a dict")),
    ("score_returns_a_number", "SCORE-006", ("score returned float", 'return {"accuracy"')),
    ("score_returns_texts", "SCORE-006", ("no number, only 'accuracy'",)),
    ("details_too_short", "SCORE-006", ("details has 1 entries for 2 rows",)),
    ("details_in_words", "SCORE-006", ("details is str, expected a list",)),
    ("score_asks_for_more", "SCORE-006", ("unknown parameter 'refs'", "expected one of 'predictions'")),
    ("judge_without_a_prompt", "OPENICL-016", ("the judge's prompt_template is None",)),
    ("judge_of_other_columns", "OPENICL-016", ("{predicton}", "did you mean 'prediction'")),
    ("reading_by_a_wrong_name", "JUDGE-005", (FIRST, "did you mean 'generic_llmjudge_postprocess'")),
    ("cascade_of_one", "OPENICL-016", ("llm_evaluator is None, expected a dict",)),
]


@pytest.fixture(autouse=True)
def _no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is asked anything is asked too early."""

    def refuse(*_: object) -> None:
        raise AssertionError("the model was asked")

    monkeypatch.setattr(MockBackend, "run", refuse)


def written(folder: Path, name: str | None = None) -> str:
    """Write the files of a case, or those without a mistake; return how the config is called."""
    edited = {} if name is None else EDITS[name]
    for kind, file in FILES.items():
        text = (BROKEN / file).read_text(encoding="utf-8")
        for old, new in edited.get(kind, ()):
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        (folder / file).write_text(text, encoding="utf-8")
    return "config.py"


def list_reported(*arguments: str) -> list[tuple[str, str]]:
    """Run a command that must fail; return the code and text of each problem."""
    result = assay(*arguments)
    assert result.status != 0, result.out
    found: list[tuple[str, str]] = []
    for line in result.err.splitlines():
        if not line.startswith(" ") and "-" in line:
            found.append((line.split(" ", 1)[0], line))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    return found


def test_the_files_that_are_edited_are_fine(workdir: Path) -> None:
    result = assay("check", written(workdir), "--prompts", "0")
    assert result.status == 0, result.err
    assert "no errors, 0 warnings" in result.out


@pytest.mark.parametrize(("name", "code", "parts"), CASES, ids=[case[0] for case in CASES])
def test_mistakes_are_reported_before_a_model_is_asked(
    name: str, code: str, parts: tuple[str, ...], workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    config = written(workdir, name)
    checked = list_reported("check", config)
    assert {code for code, _ in checked} == {code}
    text = "\n".join(text for _, text in checked)
    assert [part for part in parts if part not in text] == []
    assert all("fix: " in text for _, text in checked)
    assert list_reported("run", config, "--model", "mock") == checked
    assert not (workdir / "runs").exists()


def test_all_that_is_wrong_with_an_entry_is_reported_together(workdir: Path) -> None:
    found = list_reported("check", written(workdir, "many"))
    assert [code for code, _ in found] == [
        "OPENICL-014",
        "OPENICL-009",
        "OPENICL-009",
        "OPENICL-011",
        "OPENICL-013",
        "OPENICL-015",
    ]
    # Both entries of the loop have them; they are reported once.
    assert all("(in 2 places)" in text for _, text in found)


def test_mistakes_of_different_entries_are_reported_together(workdir: Path) -> None:
    first, second = list_reported("check", written(workdir, "one_of_two"))
    assert (first[0], second[0]) == ("OPENICL-013", "OPENICL-011")
    assert "capitals_datasets[0]" in first[1]
    assert "capitals_datasets[1]" in second[1]
    assert "places" not in first[1] + second[1]


def test_a_role_that_the_model_has_not_is_reported_with_those_that_it_has(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    found = list_reported("check", written(workdir, "unknown_role"), "--chat", "on")
    assert {code for code, _ in found} == {"OPENICL-015"}
    parts = ("no role 'USER'", "'HUMAN'", "'BOT'", "fallback_role")
    assert all(part in text for _, text in found for part in parts)


def test_a_name_that_two_entries_share_hides_no_other_mistake(workdir: Path) -> None:
    found = list_reported("check", written(workdir, "same_names"))
    assert {code for code, _ in found} == {"OPENICL-010", "OPENICL-013"}


def test_an_entry_whose_data_is_not_here_needs_data_and_is_not_broken(workdir: Path) -> None:
    written(workdir, "no_data")
    shutil.copytree(workdir, workdir / "datasets")
    result = assay("check", "datasets")
    assert "1 dataset: 0 ok, 1 need data, 0 with errors" in result.out + result.err


def test_a_score_that_raises_for_right_answers_is_a_warning(workdir: Path) -> None:
    config = written(workdir, "score_raises")
    result = assay("check", config, "--prompts", "0")
    assert result.status == 0, result.err
    assert "CapitalsEvaluator raised ZeroDivisionError for the right answers of the first rows" in result.out


def test_an_evaluator_is_tried_on_what_the_post_processor_makes(workdir: Path) -> None:
    result = assay("check", written(workdir, "lists_are_scored"), "--prompts", "0")
    assert result.status == 0, result.err
    assert "raised" not in result.out


@pytest.mark.parametrize("name", sorted(EDITS))
def test_every_edit_is_used(name: str) -> None:
    assert name in {case[0] for case in CASES} | {
        *("many", "one_of_two", "score_raises", "lists_are_scored", "same_names", "unknown_role")
    }
