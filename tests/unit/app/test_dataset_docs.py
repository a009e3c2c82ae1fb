"""`assay docs` and what `assay check` says of READMEs: the table of tasks against the configs themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.app.dataset_docs import is_cell_correct
from assay.core.method import Method
from assay.dialects.openicl.readme_description import ConfigDescription
from cli import assay

HEAD = "| Task Name | Introduction | Evaluation Metrics | few-shot | Prompt Format | Config Path |"
RULE = "| --- | --- | --- | --- | --- | --- |"
GEN0 = "quiz_gen_0_shot_chat_prompt"
GEN5 = "quiz_gen_5_shot_str"
PPL = "quiz_ppl_0_shot_str"


@pytest.fixture
def readme(workdir: Path) -> Path:
    """A new dataset's page; the working folder is the one that the dataset is in."""
    assert assay("new", "quiz", "--like", "aisbench").status == 0
    return workdir / "quiz" / "README.md"


def change(page: Path, old: str, new: str) -> None:
    text = page.read_text(encoding="utf-8")
    assert old in text
    page.write_text(text.replace(old, new), encoding="utf-8")


def row(task: str, *message: str) -> str:
    return f"| {task} | {' | '.join(message)} | [{task}.py]({task}.py) |"


def test_a_page_that_is_up_to_date_is_left_alone(readme: Path) -> None:
    before = readme.read_bytes()
    assert assay("docs", "quiz", "--check").status == 0
    result = assay("docs", "quiz")
    assert (result.status, result.out.split()) == (0, ["up", "to", "date", "quiz/README.md"])
    assert readme.read_bytes() == before


def test_what_is_wrong_is_put_right_and_all_else_is_kept(readme: Path) -> None:
    change(readme, "| 5-shot | String format |", "| 3-shot | Chat format |")
    change(readme, "quiz dataset generative task | accuracy, answered | 0-shot", "我的话 | BLEU | 0-shot")
    text = readme.read_text(encoding="utf-8")
    checked = assay("docs", "quiz", "--check")
    assert checked.status == 1
    assert "would change  quiz/README.md" in checked.out
    assert readme.read_text(encoding="utf-8") == text
    changed = assay("docs", "quiz")
    assert changed.status == 0
    for message in (
        f"metrics 'BLEU' for {GEN0}.py, but the config has 'accuracy, answered'",
        f"few-shot '3-shot' for {GEN5}.py, but the config has '5-shot'",
        f"prompt format 'Chat format' for {GEN5}.py, but the config has 'String format'",
    ):
        assert f"  README.md has {message}" in changed.out
    expected = text.replace("| 3-shot | Chat format |", "| 5-shot | String format |")
    assert readme.read_text(encoding="utf-8") == expected.replace("BLEU", "accuracy, answered")
    assert assay("docs", "quiz", "--check").status == 0


def test_rows_come_and_go_with_the_configs(readme: Path) -> None:
    (readme.parent / f"{PPL}.py").rename(readme.parent / "quiz_ppl_other.py")
    result = assay("docs", "quiz")
    assert f"README.md has a row for {PPL}.py, but this file does not exist" in result.out
    assert "README.md has no row for quiz_ppl_other.py" in result.out
    last = readme.read_text(encoding="utf-8").splitlines()[-1]
    assert last == row("quiz_ppl_other", "quiz dataset PPL task", "accuracy", "0-shot", "String format")


def test_a_folder_without_a_readme_gets_one(readme: Path) -> None:
    readme.unlink()
    assert "would write   quiz/README.md" in assay("docs", "quiz", "--check").out
    assert not readme.exists()
    assert "wrote         quiz/README.md" in assay("docs", f"quiz/{GEN5}.py").out
    lines = readme.read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["# quiz", "", "## Available Dataset Tasks"]
    assert len([line for line in lines if line.startswith("| quiz_")]) == 3
    assert assay("docs", "quiz", "--check").status == 0


def test_a_readme_without_a_table_gets_one_at_its_end(readme: Path) -> None:
    readme.write_bytes(b"# Quiz\r\n\r\nWords \xff of mine")
    assay("docs", "quiz")
    content = readme.read_bytes()
    assert content.startswith(b"# Quiz\r\n\r\nWords \xff of mine\r\n\r\n## Available Dataset Tasks\r\n")
    assert assay("docs", "quiz", "--check").status == 0


def test_a_chinese_page_beside_the_english_one_is_kept_in_chinese(readme: Path) -> None:
    chinese = readme.with_name("README_zh.md")
    head = "|任务名称|简介|评估指标|few-shot|prompt格式|对应源码配置文件路径|\n|---|---|---|---|---|---|\n"
    mine = f"|{GEN0}|我写的|准确率|0-shot|字符串格式|[{GEN0}.py]({GEN0}.py)|\n"
    chinese.write_text(f"# 测验\n{head}{mine}", encoding="utf-8")
    other = readme.with_name("README_notes.md")
    other.write_text("# Notes\n", encoding="utf-8")
    assert assay("docs", "quiz").status == 0
    lines = chinese.read_text(encoding="utf-8").splitlines()
    assert lines[3] == mine.strip().replace("字符串格式", "对话格式")
    assert lines[-1] == f"|{PPL}|quiz数据集PPL任务|accuracy|0-shot|字符串格式|[{PPL}.py]({PPL}.py)|"
    assert other.read_text(encoding="utf-8") == "# Notes\n"


def test_a_file_that_only_names_a_config_needs_no_row_and_may_stand_for_it(readme: Path) -> None:
    alias = "from mmengine.config import read_base\n\nwith read_base():\n    from .{} import quiz_datasets\n"
    (readme.parent / "quiz_gen.py").write_text(alias.format(GEN0))
    assert assay("docs", "quiz", "--check").status == 0
    # The task may be called by the shorter name, and then the other file needs no row.
    change(readme, f"| {GEN0} |", "| quiz_gen |")
    assert assay("docs", "quiz", "--check").status == 0
    change(readme, f"[{GEN0}.py]({GEN0}.py)", "[quiz_gen.py](quiz_gen.py)")
    assert assay("docs", "quiz", "--check").status == 0
    change(readme, "| quiz_gen |", f"| {GEN5} |")
    assert (
        f"task name '{GEN5}' for quiz_gen.py, but the config has 'quiz_gen'"
        in assay("docs", "quiz", "--check").out
    )


def test_a_page_may_list_the_configs_of_folders_in_its_own(readme: Path) -> None:
    inner = readme.parent / "ppl"
    inner.mkdir()
    for name in ("quiz.py", f"{PPL}.py"):
        (inner / name).write_bytes((readme.parent / name).read_bytes())
    (readme.parent / f"{PPL}.py").unlink()
    change(readme, f"({PPL}.py)", f"(ppl/{PPL}.py)")
    assert assay("docs", "quiz", "--check").status == 0
    assert assay("docs", f"quiz/ppl/{PPL}.py", "--check").status == 0
    # A page of the inner folder's own takes its configs over.
    (inner / "README.md").write_text("# PPL\n")
    result = assay("docs", "quiz")
    assert "changed       quiz/ppl/README.md" in result.out
    assert f"[{PPL}.py]({PPL}.py)" in (inner / "README.md").read_text()


def test_a_config_that_does_not_load_hinders_no_other(readme: Path) -> None:
    (readme.parent / f"{PPL}.py").write_text("quiz_datasets = [dict(type=NoSuch)]\n")
    change(readme, "| 5-shot |", "| 4-shot |")
    result = assay("docs", "quiz")
    assert (result.status, "OPENICL-006" in result.err) == (1, True)
    assert "changed       quiz/README.md" in result.out
    text = readme.read_text(encoding="utf-8")
    assert "| 5-shot |" in text
    assert f"| {PPL} |" in text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "the file or folder does not exist"),
        ("rows.csv", "this is not a config"),
        ("empty", "there is no config in this folder"),
        ("quiz/README.md", "this is not a config"),
        ("other/other.py", "this is a dataset class"),
    ],
)
def test_what_has_no_table_of_tasks_is_rejected(readme: Path, workdir: Path, name: str, message: str) -> None:
    (workdir / "rows.csv").write_text("question,answer\na,b\n")
    (workdir / "empty").mkdir()
    assay("new", "other", "--like", "llmbox")
    result = assay("docs", name)
    assert (result.status, "USAGE-010" in result.err, message in result.err) == (2, True, True)


def test_check_says_where_a_page_and_its_configs_disagree(readme: Path) -> None:
    change(readme, "| 5-shot |", "| 4-shot |")
    change(readme, f"[{PPL}.py]({PPL}.py)", "[gone.py](gone.py)")
    change(readme, f"| {PPL} |", "| gone |")
    of_all = assay("check", "quiz")
    assert of_all.status == 0
    wrong = f"README.md has few-shot '4-shot' for {GEN5}.py, but the config has '5-shot'"
    lacking = f"README.md has no row for {PPL}.py"
    for message in (wrong, lacking, "README.md has a row for gone.py, but this file does not exist"):
        assert f"  warning   quiz/{message}" in of_all.out
    of_one = assay("check", f"quiz/{GEN5}.py")
    assert f"  warning   {wrong}\nno errors, 1 warning" in of_one.out
    assert f"  warning   {lacking}\nno errors, 1 warning" in assay("check", f"quiz/{PPL}.py").out
    assert "no errors, 0 warnings" in assay("check", f"quiz/{GEN0}.py").out


def test_check_says_nothing_of_a_page_without_a_table(readme: Path) -> None:
    readme.write_text("# Quiz\n")
    assert "warning " not in assay("check", "quiz").out


@pytest.mark.parametrize(("system", "is_said"), [("opencompass", True), ("aisbench", False)])
def test_check_says_whether_the_hash_in_a_files_name_is_that_of_its_prompt(
    workdir: Path, system: str, is_said: bool
) -> None:
    assay("new", "asked", "--like", system)
    config = workdir / "asked" / "asked_gen_0_shot_chat_prompt.py"
    shown = re.search(r"hash +([0-9a-f]{6}) \(prompt\)", assay("check", str(config)).out)
    assert shown is not None
    digits = shown[1]
    right = config.rename(config.with_name(f"asked_gen_{digits}.py"))
    (workdir / "asked" / "README.md").unlink()
    message = assay("check", str(right)).out
    assert (f"fact      the prompt hash of the file is {digits}, as in its name" in message) is is_said
    wrong = right.rename(right.with_name("asked_gen_000000.py"))
    message = assay("check", str(wrong)).out
    is_warned = f"name is 000000, but the prompt has {digits}" in message
    assert (is_warned, "1 warning" in message) == (is_said, is_said)
    assert (
        "asked_gen_000000.py: the prompt hash in the file's name" in assay("check", "asked").out
    ) is is_said


ONE = ConfigDescription(
    Path("a_gen.py"),
    (Method.GEN,),
    ("accuracy",),
    ("AccEvaluator",),
    (0,),
    ("dialogue format",),
    None,
    False,
    None,
)


@pytest.mark.parametrize(
    ("column", "message", "changed", "is_right"),
    [
        ("task", "`a_gen`", {}, True),
        ("task", "b_gen", {}, False),
        ("introduction", "", {}, False),
        ("introduction", "anything", {}, True),
        ("metrics", "Accuracy", {}, True),
        ("metrics", "acc", {}, True),
        ("metrics", "准确率(accuracy)", {}, True),
        ("metrics", "pass@1", {}, True),
        ("metrics", "AccEvaluator", {}, True),
        ("metrics", "rouge", {}, False),
        ("metrics", "", {}, False),
        ("metrics", "Performance Evaluation", {}, True),
        ("metrics", "ROUGE-1", {"metrics": ("rouge1",)}, False),
        ("metrics", "rouge1, rougeL", {"metrics": ("rouge1", "rouge2", "rougeL")}, True),
        ("metrics", "pass@1", {"metrics": ("humaneval_pass@1",)}, True),
        # A name that says nothing may be called by a better one; one that is not known by any.
        ("metrics", "Accuracy", {"metrics": ("score",)}, True),
        ("metrics", "anls", {"metrics": ()}, True),
        ("metrics", "", {"metrics": ()}, False),
        ("shots", "0-shot", {}, True),
        ("shots", "zero-shot", {}, True),
        ("shots", "零样本", {}, True),
        ("shots", "5-shot", {}, False),
        ("shots", "", {}, False),
        ("shots", "0-shot / 5-shot", {"shots": (5, 0)}, True),
        ("shots", "5-shot", {"shots": (5, 0)}, False),
        # Rows that bring their examples along: the file's name says so, and the config cannot.
        ("shots", "5-shot", {"path": Path("a_5_shot_gen.py")}, True),
        ("shots", "3-shot", {"path": Path("a_5_shot_gen.py")}, False),
        ("shots", "0-shot", {"path": Path("a_0_shot_gen.py"), "shots": (5,)}, False),
        ("format", "Chat Format", {}, True),
        ("format", "对话格式", {}, True),
        ("format", "String format", {}, False),
        ("format", "Chat format", {"formats": ("multi-turn",)}, True),
        ("format", "多轮对话格式", {"formats": ("multi-turn",)}, True),
        ("format", "Multi-turn", {}, False),
        ("format", "List format (text and image)", {"formats": ("multimodal",)}, True),
        ("format", "String format", {"formats": ("multimodal",)}, False),
        ("format", "my own way", {}, True),
        ("format", "-", {"formats": ()}, True),
    ],
)
def test_words_that_mean_the_same_agree(
    column: str, message: str, changed: dict[str, object], is_right: bool
) -> None:
    assert is_cell_correct(column, message, ONE._replace(**changed)) is is_right  # type: ignore[arg-type]
