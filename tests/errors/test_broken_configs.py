"""Configs with a mistake in them: a clear error before anything is loaded that a config names.

Each is an edit of one that is fine (`broken/configs/edits.toml`).
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from assay.core.errors import AuthorError
from assay.dialects.openicl.config.checking import check_entries
from assay.dialects.openicl.config.entry import Entry
from assay.dialects.openicl.config.lists import find_dataset_lists
from assay.dialects.openicl.config.loading import ConfigFiles
from cli import assay

BROKEN = Path(__file__).parent / "broken" / "configs"
EDITS = tomllib.loads((BROKEN / "edits.toml").read_text(encoding="utf-8"))

CASES = [
    ("full_width_comma", "OPENICL-001", ("full_width_comma.py line 26", "not valid Python", "U+FF0C")),
    ("not_there", "OPENICL-001", ("not_there.py", "No such file")),
    ("missing_base", "OPENICL-002", ("line 9", "`.capital_subsets`", "did you mean 'capitals_subsets'")),
    ("missing_bases", "OPENICL-002", ("`.capital_subsets`", "`..nowhere.rivers`", "line 10")),
    ("no_checkout", "OPENICL-002", ("opencompass.configs.datasets.capitals", "--openicl-root")),
    ("cycle", "OPENICL-003", ("cycle_back.py line 9", "cycle.py -> cycle_back.py -> cycle.py")),
    ("misspelt_variable", "OPENICL-004", ("line 9", "no 'subset'", "did you mean 'subsets'")),
    ("everything_of_code", "OPENICL-005", ("line 2", "import *", "read_base")),
    ("base_as_module", "OPENICL-005", ("line 9", "`import capitals_subsets`", "from .NAME import")),
    ("folder_as_base", "OPENICL-005", ("line 9", "from .subsets import VARIABLE")),
    ("old_bases", "OPENICL-005", ("line 13", "`_base_`")),
    ("misspelt_loop_variable", "OPENICL-006", ("line 18", "'subst'", "did you mean 'subset'")),
    ("missing_placeholder", "OPENICL-006", ("line 18", "KeyError: 'subset'")),
    ("holds_itself", "OPENICL-006", ("contains itself",)),
    ("calls_code", "OPENICL-007", ("line 31", "icl_evaluator.AccEvaluator is called")),
    ("iterates_over_code", "OPENICL-007", ("line 14", "CapitalsDataset.subsets is iterated over")),
    ("other_suffix", "OPENICL-008", ("'_datasets'", "did you mean 'capitals_dataset'")),
    ("no_entries", "OPENICL-008", ("no datasets in 'capitals_datasets'",)),
    ("one_dict", "OPENICL-008", ("'capitals_datasets' is a dict, expected a list",)),
    ("list_of_names", "OPENICL-008", ("capitals_datasets[0]", "found a str ('capitals')")),
    ("unknown_keys", "OPENICL-009", ("'train_spilt'", "did you mean 'train_split'", "pred_postprocesor")),
    ("no_reader", "OPENICL-009", ("no 'reader_cfg'", "did you mean 'reader_config'")),
    ("comma_behind", "OPENICL-009", ("reader_cfg is a tuple", "a comma after the dict")),
    ("columns_are_a_number", "OPENICL-009", ("reader_cfg.input_columns is 3", "expected a list")),
    ("no_output_column", "OPENICL-009", ("no 'output_column'", "did you mean 'output_columns'")),
    ("no_type", "OPENICL-009", ("infer_cfg.retriever has no 'type'",)),
    ("type_is_a_number", "OPENICL-009", ("the type of infer_cfg.retriever is a int (0)",)),
    ("no_template", "OPENICL-009", ("neither a prompt_template", "unknown key 'prompt'")),
    ("k_above_n", "OPENICL-009", ("k is [1, 4], but there are only 2 answers per row", "n=4")),
    ("n_in_words", "OPENICL-009", ("n is 'four', expected a whole number",)),
    ("no_name", "OPENICL-009", ("neither an abbr nor a path",)),
    ("judge_is_a_name", "OPENICL-009", ("judge_infer_cfg is a str ('gpt')",)),
    (
        "same_names",
        "OPENICL-010",
        ("capitals_datasets[1]", "'capitals' is already used by capitals_datasets[0]"),
    ),
]


@pytest.fixture(autouse=True)
def files(workdir: Path) -> None:
    for source in BROKEN.glob("*.py"):
        shutil.copy(source, workdir)
    for name, edited in EDITS.items():
        text = (BROKEN / "fine.py").read_text(encoding="utf-8")
        for edit in edited["edits"]:
            assert text.count(edit["old"]) == 1, name
            text = text.replace(edit["old"], edit["new"])
        (workdir / f"{name}.py").write_text(text, encoding="utf-8")


def entries_of(name: str) -> list[Entry]:
    config = ConfigFiles().load(Path(f"{name}.py"))
    return [one.entry for one in check_entries(config, find_dataset_lists(config))]


def test_the_config_that_is_edited_is_fine() -> None:
    assert [entry.abbr for entry in entries_of("fine")] == ["capitals-europe", "capitals-asia"]


@pytest.mark.parametrize(("name", "code", "parts"), CASES)
def test_mistakes_are_reported(name: str, code: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(AuthorError) as caught:
        entries_of(name)
    text = str(caught.value)
    assert {problem.code for problem in caught.value.problems} == {code}
    assert "Fix: " in text
    for part in parts:
        assert part in text


@pytest.mark.parametrize(("name", "code"), [case[:2] for case in CASES if case[0] != "not_there"])
def test_commands_tell_them(name: str, code: str) -> None:
    result = assay("run", f"{name}.py", "--model", "mock")
    assert result.status == 2
    codes = {line.split()[0] for line in result.err.splitlines() if line[:1].isupper()}
    # Names that two entries share are reported with the other errors: the classes do not exist.
    assert codes == ({code, "OPENICL-011"} if name == "same_names" else {code})


def test_a_mistake_in_a_base_is_reported_at_its_own_place(workdir: Path) -> None:
    (workdir / "above.py").write_text("with read_base():\n    from .calls_code import *\n", encoding="utf-8")
    with pytest.raises(AuthorError) as caught:
        ConfigFiles().load(Path("above.py"))
    (problem,) = caught.value.problems
    assert str(problem.where) == "calls_code.py line 31"


def test_problems_of_all_bases_come_together_and_once(workdir: Path) -> None:
    bases = ("missing_bases", "everything_of_code", "calls_code")
    lines = [f"    from .{name} import capitals_datasets as {name}" for name in bases]
    (workdir / "left.py").write_text("\n".join(["with read_base():", *lines, ""]), encoding="utf-8")
    again = "with read_base():\n    from .left import *\n    from .calls_code import *\n"
    (workdir / "above.py").write_text(again, encoding="utf-8")
    with pytest.raises(AuthorError) as caught:
        ConfigFiles().load(Path("above.py"))
    codes = [problem.code for problem in caught.value.problems]
    assert codes == ["OPENICL-002", "OPENICL-002", "OPENICL-005", "OPENICL-007"]


@pytest.mark.parametrize("name", sorted(EDITS))
def test_every_edit_is_used(name: str) -> None:
    assert name in {case[0] for case in CASES} | {"cycle_back"}
