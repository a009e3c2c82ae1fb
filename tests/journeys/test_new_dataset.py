"""`assay new`: what it writes runs, and its own tests pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from assay.app.new import STARTERS
from cli import assay

DIALECTS = Path(import_module("assay.dialects").__path__[0])
ASKED = {
    "llmbox": ("ppl,prob,gen", "--shots", "2"),
    "ultraeval": ("ppl,prob,gen", "--shots", "2"),
    "leap": ("ppl,prob", "--shots", "2"),
    "lm_eval": ("ppl,prob", "--shots", "2"),
    "aisbench": ("gen",),
    "opencompass": ("gen",),
}
"""The ways in which each starter can be asked; a Task class has one, or the two that compare options, and a
config says itself how many examples it shows."""
CONFIGS = ("gen_0_shot_chat_prompt", "gen_5_shot_str", "ppl_0_shot_str")


@pytest.fixture(params=sorted(STARTERS))
def dialect(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_every_dialect_with_a_starter_folder_is_offered() -> None:
    offered = {starter.package.rpartition(".")[2] for starter in STARTERS.values()}
    assert {path.parent.name for path in DIALECTS.glob("*/starter")} == offered


def test_a_starter_is_written_and_says_what_to_do_next(workdir: Path) -> None:
    result = assay("new", "my_quiz", "--like", "llmbox")
    assert result.status == 0
    files = {str(path.relative_to(workdir)) for path in workdir.rglob("*") if path.is_file()}
    assert files == {
        "my_quiz/my_quiz.py",
        "my_quiz/test_my_quiz.py",
        "my_quiz/README.md",
        "my_quiz/data/test.jsonl",
        "my_quiz/data/dev.jsonl",
    }
    for file in files:
        assert f"wrote  {file}" in result.out
    assert "assay run my_quiz/my_quiz.py" in result.out
    for path in workdir.rglob("*.*"):
        assert "@" not in path.name
        assert "@name@" not in path.read_text(encoding="utf-8")
    assert "class MyQuiz(" in (workdir / "my_quiz" / "my_quiz.py").read_text(encoding="utf-8")


def test_a_starter_that_is_a_folder_says_so(workdir: Path) -> None:
    result = assay("new", "my_quiz", "--like", "ultraeval")
    assert result.status == 0
    files = {str(path.relative_to(workdir)) for path in workdir.rglob("*") if path.is_file()}
    assert files == {
        "my_quiz/README.md",
        "my_quiz/make_dataset.py",
        "my_quiz/transform_gen_v0.py",
        "my_quiz/transform_ppl_v0.py",
        "my_quiz/test_my_quiz.py",
        "my_quiz/config/my_quiz_gen.json",
        "my_quiz/config/my_quiz_ppl.json",
        "my_quiz/data/my_quiz.jsonl",
        "my_quiz/raw/questions.csv",
    }
    assert re.search(r"^  assay run my_quiz  ", result.out, re.MULTILINE)
    assert "put your rows into my_quiz/raw" in result.out
    assert "class" not in result.out
    for file in files:
        assert "@name@" not in (workdir / file).read_text(encoding="utf-8")


def test_a_starter_that_needs_a_package_says_so(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pip install" not in assay("new", "my_quiz", "--like", "leap").out
    monkeypatch.setattr("assay.app.new.find_spec", lambda name: None)
    assert re.search(r"^  pip install datasets  ", assay("new", "other", "--like", "leap").out, re.MULTILINE)
    assert "pip install" not in assay("new", "third", "--like", "llmbox").out


def test_a_starter_that_is_registered_has_its_registry_and_its_layout(workdir: Path) -> None:
    result = assay("new", "my_quiz", "--like", "leap")
    assert result.status == 0
    files = {str(path.relative_to(workdir)) for path in workdir.rglob("*") if path.is_file()}
    assert files == {
        "my_quiz/README.md",
        "my_quiz/my_quiz.py",
        "my_quiz/dataset.py",
        "my_quiz/test_my_quiz.py",
        "my_quiz/data/my_quiz/train.jsonl",
        "my_quiz/data/my_quiz/test.jsonl",
    }
    for file in files:
        assert "@" not in (workdir / file).read_text(encoding="utf-8")
    # The folder is a collection of one, and its rows may lie elsewhere.
    (workdir / "my_quiz" / "data").rename(workdir / "data")
    assert "LEAP-007" in assay("check", "my_quiz/my_quiz.py").err
    result = assay("run", "my_quiz", "-m", "mock", "--data-root", ".")
    assert result.status == 0, result.err
    assert "astronomy and arithmetic for children" in result.out
    assert re.search(r"my_quiz +ppl acc +8/8", result.out)


def next_steps(message: str) -> list[list[str]]:
    """Return the commands that `assay new` tells a person to type."""
    return [
        re.split(" {2,}", line.strip())[0].split() for line in message.splitlines() if line.startswith("  ")
    ]


def test_a_starter_runs_on_a_model(workdir: Path, dialect: str) -> None:
    message = assay("new", "quiz", "--like", dialect).out
    check, run, *more, tests = next_steps(message)
    checked = assay(*check[1:])
    assert (checked.status, "no errors, 0 warnings" in checked.out) == (0, True)
    methods, *asked = ASKED[dialect]
    result = assay(*run[1:], "-m", "mock", "--method", methods, *asked)
    assert result.status == 0, result.err
    for method in methods.split(","):
        assert re.search(rf"quiz\S* +{method}( acc)? +8/8", result.out)
    for step in more:
        assert assay(*step[1:]).status == 0
    assert tests == ["pytest", "quiz"]


@pytest.mark.parametrize("system", ["aisbench", "opencompass"])
def test_a_starter_of_configs_has_its_three_ways_and_a_table_of_them(workdir: Path, system: str) -> None:
    message = assay("new", "my_quiz", "--like", system)
    assert message.status == 0
    data = {"aisbench": "ais_bench/datasets", "opencompass": "data"}[system]
    files = {str(path.relative_to(workdir)) for path in workdir.rglob("*") if path.is_file()}
    assert files == {
        "my_quiz/README.md",
        "my_quiz/my_quiz.py",
        "my_quiz/test_my_quiz.py",
        *(f"my_quiz/my_quiz_{name}.py" for name in CONFIGS),
        *(f"my_quiz/{data}/my_quiz/{split}.jsonl" for split in ("train", "test")),
    }
    for file in files:
        text = (workdir / file).read_text(encoding="utf-8")
        assert re.search(r"@\w+@", text) is None
        other = {"aisbench": "opencompass", "opencompass": "ais_bench"}[system]
        assert other not in text.casefold()
    assert re.search(r"^  assay docs my_quiz  ", message.out, re.MULTILINE)
    configs = [f"my_quiz/my_quiz_{name}.py" for name in CONFIGS]
    result = assay("run", *configs, "-m", "mock")
    assert result.status == 0, result.err
    for task in ("gen_0_shot gen", "gen_5_shot gen", "ppl_0_shot ppl", "gen_5_shot gen answered"):
        assert re.search(rf"my_quiz_{task} +8/8", result.out)
    # The page says of each config what `assay docs` would.
    assert assay("docs", "my_quiz", "--check").status == 0
    checked = assay("check", "my_quiz")
    assert (checked.status, "warning" in checked.out) == (0, False)
    assert "3 datasets: 3 ok" in checked.out


def test_the_post_processor_and_the_evaluator_of_a_starter_of_configs_score(workdir: Path) -> None:
    assay("new", "quiz", "--like", "aisbench")
    config = workdir / "quiz" / "quiz_gen_0_shot_chat_prompt.py"
    answer = assay("run", str(config), "-m", "mock", "--model-arg", "answer=So I say B.")
    assert answer.status == 0, answer.err
    assert re.search(r"quiz_gen_0_shot gen +8/8 +25\.0 ", answer.out)


def test_a_starter_class_reports_the_subjects_of_its_rows(workdir: Path) -> None:
    assay("new", "quiz", "--like", "llmbox")
    result = assay("run", "quiz/quiz.py", "-m", "mock")
    assert re.search(r"arithmetic +ppl +4 / 4", result.out)


def run_tests(workdir: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a starter as its author would, whatever the environment asks of these tests."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "quiz"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(command, cwd=workdir, env=environment, capture_output=True, text=True)


def test_the_starters_own_tests_pass(workdir: Path, dialect: str) -> None:
    assay("new", "quiz", "--like", dialect)
    tests = run_tests(workdir, "-W", "error")
    assert tests.returncode == 0, tests.stdout
    assert "3 passed" in tests.stdout


@pytest.mark.parametrize(
    ("dialect", "file", "right", "wrong"),
    [
        ("llmbox", "quiz.py", "{{question}}", "{{answer}}"),
        ("ultraeval", "transform_gen_v0.py", "data['question']", "data['answer']"),
        ("ultraeval", "raw/questions.csv", "Mercury", "Vulcan"),
        ("leap", "quiz.py", "doc['question']", "doc['choices']"),
        ("leap", "quiz.py", '"acc_norm": mean', '"acc_norm": None'),
        ("aisbench", "quiz.py", '"accuracy": 100', '"details": 100'),
        ("opencompass", "quiz_gen_5_shot_str.py", "Question: {question}", "Question: {A}"),
        ("aisbench", "quiz_gen_5_shot_str.py", "[0, 1, 2, 3, 4]", "[0, 1, 2]"),
    ],
)
def test_the_starters_tests_find_what_is_broken(
    workdir: Path, dialect: str, file: str, right: str, wrong: str
) -> None:
    assay("new", "quiz", "--like", dialect)
    path = workdir / "quiz" / file
    text = path.read_text(encoding="utf-8")
    assert right in text
    path.write_text(text.replace(right, wrong), encoding="utf-8")
    assert run_tests(workdir).returncode == 1


def test_nothing_is_written_over(workdir: Path) -> None:
    (workdir / "quiz").mkdir()
    result = assay("new", "quiz", "--like", "llmbox")
    assert (result.status, "USAGE-008" in result.err) == (2, True)
    assert list((workdir / "quiz").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "dialect", "message"),
    [
        ("my-quiz", "llmbox", "is not a valid dataset name"),
        ("9lives", "llmbox", "is not a valid dataset name"),
        ("quiz", "lmbox", "did you mean 'llmbox'?"),
        ("quiz", "ultra", "did you mean 'ultraeval'?"),
        ("quiz", "lep", "did you mean 'leap'?"),
        ("quiz", "openicl", "use one of 'llmbox', 'ultraeval', 'leap', 'lm_eval', 'aisbench', 'opencompass'"),
    ],
)
def test_what_cannot_be_written_is_rejected(workdir: Path, name: str, dialect: str, message: str) -> None:
    result = assay("new", name, "--like", dialect)
    assert (result.status, message in result.err) == (2, True)
    assert list(workdir.iterdir()) == []
