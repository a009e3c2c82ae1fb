"""Dataset classes with a mistake in them: an error that names file, class, row and fix, or one failed row.

Most mistakes are an edit of one class that is fine (`broken/classes/edits.toml`); the others are files.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from cli import assay

BROKEN = Path(__file__).parent / "broken" / "classes"
EDITS = tomllib.loads((BROKEN / "edits.toml").read_text(encoding="utf-8"))

DATA = ("--data-root", "data")

BEFORE_THE_RUN = [
    ("broken_syntax.py", (), "LLMBOX-001", ("line 18", "not valid Python")),
    ("missing_package.py", (), "LLMBOX-001", ("line 1", "'gensim_of_old'", "pip install gensim_of_old")),
    ("missing_package_inside.py", (), "LLMBOX-001", ("line 14", "'gensim_of_old'", "pip install")),
    ("missing_metric.py", (), "LLMBOX-001", ("line 1", "'Acuracy'", "did you mean 'Accuracy'")),
    ("missing_module.py", (), "LLMBOX-001", ("line 1", "did you mean 'utilization.metric'")),
    ("nowhere.py", ("--dialect", "llmbox"), "LLMBOX-001", ("no such file",)),
    ("no_class.py", (), "LLMBOX-002", ("defines no dataset class", "MultipleChoiceDataset")),
    ("def_for_class.py", (), "LLMBOX-002", ("line 1", "write class NewDataset(GenerationDataset):")),
    ("plain_dataset.py", (), "LLMBOX-002", ("class Plain", "GenerationDataset")),
    ("fine.py::Rivers", (), "LLMBOX-002", ("'Rivers'", "'Capitals'")),
    ("raises.py", (), "LLMBOX-003", ("line 14", "class Capitals, row 1", "RuntimeError", "row 2")),
    ("misspelt_key.py", (), "LLMBOX-003", ("line 15", "rows 1, 2", "'qestion'", "'question'")),
    ("rows_are_texts.py", (), "LLMBOX-003", ("row 1", "str", "a list of dicts")),
    ("bad_examples.py", ("--shots", "1"), "LLMBOX-003", ("construct_examples", "NoneType", "Conversation")),
    ("returns_a_list.py", (), "LLMBOX-004", ("rows 1, 2", "list", "expected a dict")),
    ("own_key.py", (), "LLMBOX-004", ("'subset_name'", "remove")),
    ("no_options.py", (), "LLMBOX-004", ("row 1", "no options")),
    ("options_as_text.py", (), "LLMBOX-004", ("options is str", "a list")),
    ("letter_target.py", (), "LLMBOX-004", ("row 1", "'B'", 'ord("A")')),
    ("target_out_of_range.py", (), "LLMBOX-004", ("row 1", "target_idx is 2", "2 options", "0 to 1")),
    ("no_instruction.py", (), "LLMBOX-005", ("it is None", "instruction =")),
    ("bad_jinja.py", (), "LLMBOX-005", ("does not parse", "endif")),
    ("misspelt_field.py", (), "LLMBOX-005", ("rows 1, 2", "'qestion'", "did you mean 'question'")),
    ("format_field.py", (), "LLMBOX-005", ("'qestion'", "did you mean 'question'")),
    ("prints_none.py", (), "LLMBOX-005", ("'options'", "not available here", "{{ options if options }}")),
    ("too_few_references.py", (), "LLMBOX-006", ("1 entries for 2 rows",)),
    ("letters_as_references.py", (), "LLMBOX-006", ("row 1", "'B'", 'ord("A")')),
    ("references_from_one.py", (), "LLMBOX-006", ("row 1", "2 options", "0 to 1")),
    (
        "judged_answers.py",
        ("--judge", "mock"),
        "LLMBOX-006",
        ("row 1", "'Paris', but GPTEval needs rows", "return self.evaluation_data"),
    ),
    ("no_rows.py", (), "LLMBOX-007", ("evaluation_data is empty",)),
    ("fine.py", ("--shots", "2"), "LLMBOX-007", ("2 shots", "no examples", "example_set")),
    ("subsets.py:north,est", DATA, "LLMBOX-008", ("'est'", "did you mean 'east'", "'north'")),
    ("subsets.py:[polar]", DATA, "LLMBOX-008", ("no category 'polar'", "'warm'")),
    ("subsets.py:w*", DATA, "LLMBOX-008", ("'w*'",)),
    ("contexts.py", ("--method", "prob"), "LLMBOX-009", ("row 1", "several contexts", "'ppl'")),
    ("fine.py", ("--samples", "3"), "LLMBOX-009", ("3 samples", "--method")),
    ("no_normalization_prompt.py", (), "LLMBOX-011", ("normalization_prompt",)),
    ("unknown_category_column.py", (), "LLMBOX-011", ("'continent'", "'question'")),
    ("interrupts_itself.py", (), "LLMBOX-001", ("it raised KeyboardInterrupt",)),
    ("base_exception.py", (), "LLMBOX-003", ("raised Own: mine",)),
    ("no_tokens.py", (), "LLMBOX-011", ("max_tokens is 0, expected a whole number of tokens, 1 or more",)),
    ("cold.py", (), "LLMBOX-011", ("temperature is -1, expected a number, 0 or more",)),
    ("runaway.py", (), "LLMBOX-005", ("its line 1: it creates more than 100,000,000 characters",)),
    ("braces_in_jinja.py", (), "LLMBOX-005", ("{question} is text", "write {{ question }}")),
    ("metric_is_a_class.py", (), "LLMBOX-011", ("the class Accuracy", "write Accuracy()")),
    ("no_return_in_references.py", (), "LLMBOX-006", ("references returned None", "return")),
    ("turns_as_text.py", (), "LLMBOX-004", ("rows 1, 2", "source is str", "multi_turn", "source=[turn")),
    *(
        (f"{name}.py", (), "LLMBOX-011", ("line ", f"'{wrong}'", f"did you mean '{meant}'"))
        for name, wrong, meant in (
            ("british_normalisation", "use_normalisation", "use_normalization"),
            ("singular_subset", "banned_subset", "banned_subsets"),
            ("catagory", "catagory_column", "category_column"),
            ("singular_arg", "extra_model_arg", "extra_model_args"),
            ("joined_multiturn", "multiturn", "multi_turn"),
            ("singular_hook", "init_argument", "init_arguments"),
            ("joined_hook", "postprocessing", "post_processing"),
            ("misspelt_on_self", "extra_modelargs", "extra_model_args"),
        )
    ),
    *(
        (
            f"{name}.py",
            (),
            "LLMBOX-011",
            ("class Capitals", f"{attribute} is {value}", "expected", "fix: write"),
        )
        for name, attribute, value in (
            ("args_as_list", "extra_model_args", "['temperature'] (list)"),
            ("args_as_none", "extra_model_args", "None (NoneType)"),
            ("hot_temperature", "extra_model_args: temperature", "'hot'"),
            ("set_as_number", "evaluation_set", "3 (int)"),
            ("column_as_list", "category_column", "['kind'] (list)"),
            ("banned_as_number", "banned_subsets", "5 (int)"),
            ("prompt_as_number", "normalization_prompt", "3 (int)"),
            ("categories_as_list", "categorized_subsets", "['north'] (list)"),
            ("load_args_as_text", "load_args", "'org/exam' (str)"),
            ("metric_without_list", "metrics", "<"),
            ("args_set_by_hook", "extra_model_args", "['stop'] (list)"),
        )
    ),
    (
        "misspelt_category.py",
        DATA,
        "LLMBOX-011",
        ("categorized_subsets['warm']", "'soth'", "did you mean 'south'"),
    ),
    ("fine.py", ("--shots-from", "train"), "USAGE-007", ("--shots-from", "example_set")),
    ("fine.py", ("--split", "test"), "USAGE-007", ("--split", "evaluation_set")),
    ("fine.py", ("--template", "{x}", "--stride", "3"), "USAGE-007", ("--template", "--stride")),
    ("fine.py", ("--dataset-arg", "rankin_type=ppl"), "USAGE-007", ("did you mean 'ranking_type'",)),
    ("fine.py", ("--dataset-arg", "ranking_type=pll"), "USAGE-007", ("'pll'", "did you mean 'ppl'")),
    ("fine.py", ("--dataset-arg", "pass_at_k=many"), "USAGE-007", ("pass_at_k is 'many'", "whole number")),
]

AFTER_THE_MODEL = [
    ("shrinks.py", "LLMBOX-010", ("class Capitals", "returned 1", "2 predictions")),
    ("forgets_to_return.py", "LLMBOX-010", ("NoneType", "2 predictions")),
    ("finds_nothing.py", "LLMBOX-010", ("class Finds", "None for every prediction", "`return` and a value")),
    ("metric_raises.py", "SCORE-003", ("metric_raises.py line 6", "Broken", "ZeroDivisionError")),
    ("metric_returns_a_number.py", "SCORE-003", ("Plain returned float", "expected a dict")),
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
    for subset in ("north", "south", "east"):
        folder = workdir / "data" / "weather" / subset
        folder.mkdir(parents=True)
        (folder / "test.jsonl").write_text('{"q": "Rain?", "a": "yes"}\n', encoding="utf-8")


@pytest.mark.parametrize(("file", "flags", "code", "parts"), BEFORE_THE_RUN)
def test_found_before_the_run(
    workdir: Path, file: str, flags: tuple[str, ...], code: str, parts: tuple[str, ...]
) -> None:
    result = assay("run", file, "-m", "mock", *flags)
    assert result.status == 2
    assert "Traceback" not in result.err
    assert "fix:" in result.err
    # What is wrong with the command is no file's fault.
    place = "" if code.startswith("USAGE") else file.partition(".")[0]
    for part in (code, place, *parts):
        assert part in result.err
    assert not (workdir / "runs").exists()
    assert assay("check", file, *flags).status == 1


@pytest.mark.parametrize(("file", "code", "parts"), AFTER_THE_MODEL)
def test_found_when_answers_are_there(file: str, code: str, parts: tuple[str, ...]) -> None:
    result = assay("run", file, "-m", "mock")
    assert (result.status, "Traceback" in result.err) == (3, False)
    assert "no sample could be scored: exit status 3" in result.err
    for part in (code, "Fix:", *parts):
        assert part in result.out


def test_a_metric_that_raises_on_one_row_fails_that_row_alone(workdir: Path) -> None:
    result = assay("run", "metric_raises_on_one.py", "-m", "mock", "--out", "run")
    assert result.status == 3
    scores = [json.loads(line) for line in (workdir / "run" / "scores.jsonl").read_text().splitlines()]
    verdicts = [(score["verdict"], score.get("value")) for score in scores]
    assert verdicts == [("failed", None), ("ungraded", None)]
    why = scores[0]["why"]
    assert why.startswith("the metric Picky raised ValueError: nothing to compare with (")
    assert "metric_raises_on_one.py line " in why
    (metric,) = json.loads((workdir / "run" / "summary.json").read_text())
    assert (metric["value"], metric["n_scored"], metric["n_failed"]) == (1.0, 1, 1)


@pytest.mark.parametrize(
    "file", sorted([path.name for path in BROKEN.glob("*.py")] + [f"{name}.py" for name in EDITS])
)
def test_every_file_here_is_used(file: str) -> None:
    used = [case[0] for case in BEFORE_THE_RUN] + [case[0] for case in AFTER_THE_MODEL]
    assert file in {name.partition(":")[0] for name in (*used, "metric_raises_on_one.py")}
