"""Dataset folders with a mistake in them: one error that names file, row, field and fix.

Each mistake is an edit of a folder that is fine (`broken/transforms/edits.toml`).
"""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from cli import assay

BROKEN = Path(__file__).parent / "broken" / "transforms"
EDITS = tomllib.loads((BROKEN / "edits.toml").read_text(encoding="utf-8"))

ULTRAEVAL = ("--dialect", "ultraeval")
PPL = ("--method", "ppl")
GEN_CONFIG = "config/fine_gen.json"
ROW_2 = "data/fine.jsonl row 2 (line 2)"
JAPAN = '"question":"What is the capital of Japan?"'

CASES: list[tuple[str, tuple[str, ...], str, tuple[str, ...]]] = [
    ("broken_syntax", (), "001", ("transform_gen_v0.py line 6", "not valid Python")),
    ("missing_package", (), "001", ("line 1", "'gensim_of_old'", "pip install gensim_of_old")),
    ("misspelt_class", (), "001", ("line 1", "'ExactMatchPst'", "did you mean 'ExactMatchPost'")),
    ("misspelt_function", (), "001", ("no function 'transform'", "'transfrom'", "def transform(data, num")),
    ("three_parameters", (), "001", ("line 6", "dataset_name", "four parameters")),
    ("broken_config", (), "002", (GEN_CONFIG, "not valid JSON")),
    ("unknown_key", (), "002", (GEN_CONFIG, "'few_shot'", "did you mean 'fewshot'")),
    ("no_path", (), "002", (GEN_CONFIG, '"path" is missing', "data/TASK.jsonl")),
    ("shots_as_text", (), "002", (GEN_CONFIG, "\"fewshot\" is '5'", "a whole number")),
    ("unknown_way", (), "002", (GEN_CONFIG, "'generation'", "'generate' or 'loglikelihood'")),
    ("no_way", (), "002", (GEN_CONFIG, '"method" is missing in "generate"', '"method": "generate"')),
    ("metric_without_type", (), "002", (GEN_CONFIG, "'accuracy'", '"type"')),
    ("postprocess_without_type", (), "002", (GEN_CONFIG, '"postprocess" is {', 'no "type"', "'name'")),
    ("postprocess_is_a_number", (), "002", (GEN_CONFIG, '"postprocess" is 3', 'a name as "type"')),
    (
        "cold_parameters",
        (),
        "002",
        ("'temperature' is -1", "'top_p' is 1.5", "'max_tokens' is 0", "'sampling_num' is 0"),
    ),
    ("warm_parameters", (), "002", (GEN_CONFIG, "'temperature' is 'warm'")),
    ("described_twice", (), "002", ("'fine' for gen is defined twice", GEN_CONFIG, "config/fine_ppl.json")),
    ("empty_list/tasks.json", ULTRAEVAL, "002", ("the list is empty",)),
    ("missing_transform", (), "003", (GEN_CONFIG, '"transform"', "did you mean 'transform_gen_v0.py'")),
    ("missing_parameters", (), "003", (GEN_CONFIG, '"params"', "'sampling.json'", "'vllm_sample'")),
    ("empty_folder", ULTRAEVAL, "003", ("no transform", "assay new NAME --like ultraeval")),
    ("nowhere", ULTRAEVAL, "003", ("no such file or folder",)),
    ("fine:fin", (), "003", ("no task 'fin'", "did you mean 'fine'")),
    ("fine", ("--transform", "v7"), "003", ("no transform 'v7'", "'transform_gen_v0.py'")),
    ("fine", ("--dataset-arg", "params=nowhere.json"), "003", ("nowhere.json", "'vllm_sample'")),
    ("missing_data", (), "004", (GEN_CONFIG, '"path"', "'datasets/fine/data/fin.jsonl'")),
    ("data_to_prepare", (), "004", ("`assay prepare data_to_prepare`",)),
    ("no_data", (), "004", ("the folder has no data", "no_data/data/NAME.jsonl")),
    ("no_input", (), "005", ("no 'input'", "did you mean 'inputs'", "the same in rows 2, 3")),
    ("returns_nothing", (), "005", ("returned None, expected a dict", "'processed_output'")),
    ("input_is_a_list", (), "005", ("'input' is ['What is", "expected a text")),
    ("output_is_a_number", (), "005", ("'output' is 1, expected a text", "the same in rows 2, 3")),
    ("no_right_answer", (), "005", ("'processed_output' is []", "a list of texts")),
    ("misspelt_field", (), "005", ("transform_gen_v0.py line 11", "'qestion'", "did you mean 'question'")),
    ("raises_on_one_row", (), "005", (ROW_2, "line 9", "AssertionError: nobody knows", JAPAN)),
    ("no_right_option", (), "005", (ROW_2, "line 8", "no option in 'target_scores' is right", JAPAN)),
    ("no_right_option", PPL, "006", (ROW_2, "'target_scores'", "no option is right", "the value 1")),
    ("options_are_a_list", PPL, "006", (ROW_2, "['Tokyo', 'Osaka']", "an object of option texts")),
    ("option_is_a_word", PPL, "006", (ROW_2, "'Tokyo' has the value 'right'", "1 or 0")),
    ("no_options", PPL, "006", (ROW_2, "the row has none", "--method gen")),
    ("no_likelihood", PPL, "007", ("'ppl'", "'gen'", "a config for it")),
    ("words_for_letters", ("--method", "prob"), "007", ("transform_gen_v0.py", "'output' is not a letter")),
    ("fine", ("--shots", "3"), "008", ("fine.jsonl", "3 examples", "only 2 rows", "--shots-from")),
    ("fine", ("--shots", "3", "--fidelity", "faithful"), "008", ("only 2 rows",)),
]

OF_OTHERS: list[tuple[str, tuple[str, ...], str, tuple[str, ...]]] = [
    ("unknown_metric", (), "SCORE-002", ("unknown_metric", "'exact_mach'", "did you mean 'exact_match'")),
    ("unknown_postprocess", (), "SCORE-002", ("'exactmatch_post'", "did you mean 'exact_match_post'")),
    ("misspelt_argument", (), "SCORE-002", ("no argument 'option'", "did you mean 'options'")),
    ("no_argument", (), "SCORE-002", ("'last_option_postprocess' needs the argument 'options'",)),
    ("fine", ("--dataset-arg", "postproces=x"), "USAGE-007", ("did you mean 'postprocess'", "'params'")),
    ("fine", ("--split", "test", "--stride", "3"), "USAGE-007", ("--split", "--stride")),
    ("fine", ("--dataset-arg", "data=nowhere.jsonl"), "SOURCE-001", ("nowhere.jsonl",)),
]


def write_folder(name: str) -> None:
    """Write the folder that is fine, with the edits of that name."""
    folder = Path(shutil.copytree(BROKEN / "fine", name))
    for edit in EDITS.get(name, ()):
        _apply(edit, folder / edit["file"], name)


def _apply(edit: dict[str, str], path: Path, name: str) -> None:
    if "new" not in edit:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    elif "old" not in edit:
        path.write_text(edit["new"], encoding="utf-8")
    else:
        text = path.read_text(encoding="utf-8")
        assert text.count(edit["old"]) == 1, name
        path.write_text(text.replace(edit["old"], edit["new"]), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "flags", "code", "parts"),
    [*((name, flags, f"ULTRAEVAL-{code}", parts) for name, flags, code, parts in CASES), *OF_OTHERS],
)
def test_found_before_the_run(
    workdir: Path, name: str, flags: tuple[str, ...], code: str, parts: tuple[str, ...]
) -> None:
    folder = re.split("[:/]", name)[0]
    if folder != "nowhere":
        write_folder(folder)
    result = assay("run", name, "-m", "mock", *flags)
    assert result.status == 2
    assert "Traceback" not in result.err
    assert "fix:" in result.err
    for part in (code, *parts):
        assert part in result.err
    assert not (workdir / "runs").exists()
    assert assay("check", name, *flags).status == 1


def test_rows_with_one_fault_are_one_error(workdir: Path) -> None:
    write_folder("misspelt_field")
    assert assay("run", "misspelt_field", "-m", "mock").err.count("fix:") == 1


def test_the_folder_that_is_edited_is_fine(workdir: Path) -> None:
    write_folder("fine")
    result = assay("run", "fine", "-m", "mock", "--method", "gen,ppl,prob", "--shots", "2")
    assert result.status == 0, result.err


def test_a_method_that_only_some_tasks_have_is_left_out_in_words(workdir: Path) -> None:
    write_folder("no_likelihood")
    result = assay("run", "no_likelihood", "-m", "mock", "--method", "gen,ppl")
    assert result.status == 0, result.err
    assert "there is no transform for ppl, so this method is omitted" in result.out


@pytest.mark.parametrize("name", sorted(EDITS))
def test_every_edit_is_used(name: str) -> None:
    assert name in {case[0].partition("/")[0] for case in (*CASES, *OF_OTHERS)}
