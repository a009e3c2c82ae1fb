"""Completion with the tab key: what the scripts of the shells ask for, and what bash makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli import assay
from fakes.run_folders import write_run

_PROGRAM = """#!{python}
import sys
sys.argv[0] = "assay"
from assay.faces.cli.main import main
main()
"""
_PRESS_TAB = """
source <(assay completion bash)
COMP_LINE=$1
COMP_POINT=${#COMP_LINE}
# As bash does: a colon is a word of its own.
read -ra COMP_WORDS <<< "${COMP_LINE//:/ : }"
[[ $COMP_LINE == *[\\ :] ]] && COMP_WORDS+=("")
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
compopt() { :; }
_assay_completion assay
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def shell(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data, runs and profiles, and `assay` on the PATH."""
    (workdir / "bin").mkdir()
    program = workdir / "bin" / "assay"
    program.write_text(_PROGRAM.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{workdir / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (workdir / "questions.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    (workdir / "my questions.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    (workdir / "assay.toml").write_text("[profiles.ci]\nlimit = 2\n[profiles.nightly]\n", encoding="utf-8")
    (workdir / "runs").mkdir()
    write_run(workdir / "runs" / "quiz-mock-1a2b", ["yes"])
    task = workdir / "tasks" / "my_quiz.yaml"
    task.parent.mkdir()
    task.write_text("task: my_quiz\ndataset_path: csv\noutput_type: generate_until\n", encoding="utf-8")
    return workdir


def press_tab(line: str) -> list[str]:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    done = subprocess.run([bash, "--norc", "-c", _PRESS_TAB, "bash", line], capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("assay rep", ["report"]),
        ("assay completion ", ["bash", "zsh", "fish"]),
        ("assay ls d", ["datasets"]),
        ("assay run --fid", ["--fidelity"]),
        ("assay run --chat o", ["on", "off"]),
        ("assay run --profile ", ["ci", "nightly"]),
        ("assay run --method ppl,", ["ppl,prob", "ppl,gen"]),
        ("assay run questions.csv -m hf", ["hf:"]),
        ("assay run q", ["questions.csv"]),
        ("assay run my", ["my questions.csv"]),
        ("assay run lm_", ["lm_eval:"]),
        ("assay report q", ["quiz-mock-1a2b"]),
        ("assay compare last quiz", ["quiz-mock-1a2b"]),
        ("assay report --runs-dir nowhere q", [""]),
        ("assay config max_t", ["max_tokens"]),
        ("assay export last --to hf", ["hf-eval-results"]),
        ("assay track last --to ml", ["mlflow"]),
    ],
)
def test_bash_completes(line: str, expected: list[str], shell: Path) -> None:
    assert press_tab(line) == expected


def test_bash_completes_benchmarks_after_the_colon(shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_BENCHMARKS_FROM", "tasks")
    assert press_tab("assay run lm_eval:my") == [""]
    assert assay("ls", "benchmarks").status == 0
    assert press_tab("assay run lm_eval:my") == ["my_quiz"]


def test_a_damaged_settings_file_does_not_disturb_the_shell(shell: Path) -> None:
    (shell / "assay.toml").write_text("model = \n", encoding="utf-8")
    assert press_tab("assay run --profile ") == [""]
    assert press_tab("assay report ") != []


@pytest.mark.parametrize("kind", ["zsh", "fish"])
def test_the_other_shells_get_names_and_help(kind: str, shell: Path) -> None:
    script = assay("completion", kind).out
    assert f"_ASSAY_COMPLETE={kind}_complete" in script
    environment = {"zsh": ("assay repo", "1"), "fish": ("assay repo", "repo")}[kind]
    done = subprocess.run(
        ["assay"],
        env={
            **os.environ,
            "_ASSAY_COMPLETE": f"{kind}_complete",
            "COMP_WORDS": environment[0],
            "COMP_CWORD": environment[1],
        },
        capture_output=True,
        text=True,
    )
    assert done.stdout.replace("\n", " ").replace(",", " ").split()[:2] == ["plain", "report"]


def test_a_shell_is_required() -> None:
    assert "bash" in assay("completion").err


def test_names_of_commands_are_found_without_importing_any() -> None:
    code = """
import sys
from assay.faces.cli.main import cli
import click
names = [item.value for item in cli.shell_complete(click.Context(cli), "")]
assert "run" in names and "as" in names, names
assert "assay.faces.cli.run" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
