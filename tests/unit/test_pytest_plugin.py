"""The pytest plugin, in test sessions of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path

import pytest

DATA = "question,A,B,answer\n1+1=,1,2,B\n2+2=,4,5,A\n3+3=,7,6,B\n"
TESTS = """
def test_right(assay_run):
    result = assay_run("quiz.csv", model=lambda prompt: "A" if "2+2" in prompt else "B", name="sums")
    assert result.accuracy.value == 1.0

def test_wrong(assay_run):
    assert assay_run("quiz.csv", method="gen").accuracy.low > 0.6

def test_without_a_model():
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "quiz.csv").write_text(DATA, encoding="utf-8")
    (tmp_path / "tests" / "test_quiz.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def run_session(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder. Warnings are errors."""
    is_installed = any(one.value == "assay.pytest_plugin" for one in entry_points(group="pytest11"))
    plugin = [] if is_installed else ["-p", "assay.pytest_plugin"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-W",
        "error",
        "-p",
        "no:hypothesispytest",
        *plugin,
        *arguments,
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def test_a_session_reports_scores_and_wrong_samples(folder: Path) -> None:
    done = run_session(folder, "--assay-model", "mock", "--junitxml", "junit.xml")
    assert done.returncode == 1, done.stdout + done.stderr
    failure, _, summary = done.stdout.rpartition("= assay =")
    assert "first 2 of 2 samples that are not right:" in failure
    assert "right answer 'B'" in failure
    assert "accuracy 0.333 [" in failure
    assert "tests/test_quiz.py::test_right\n  sums gen: 100.0 %" in summary
    assert "tests/test_quiz.py::test_wrong\n  quiz gen: 33.3 % [6.1–79.2], 3 of 3 counted" in summary
    assert "test_without_a_model" not in summary
    values = [one.get("value", "") for one in ET.parse(folder / "junit.xml").iter("property")]
    assert [value.split(":")[0] for value in values] == ["sums gen", "quiz gen"]
    runs = folder / ".pytest_cache" / "d" / "assay-runs"
    assert len([one for one in runs.iterdir() if one.is_dir()]) == 2
    assert not (folder / "runs").exists()


def test_the_ini_file_names_the_model_and_the_folder_of_runs(folder: Path) -> None:
    (folder / "pytest.ini").write_text(
        "[pytest]\nassay_model = mock\nassay_runs_dir = evaluations\n", encoding="utf-8"
    )
    done = run_session(folder, "-k", "wrong", "-p", "no:cacheprovider")
    assert "quiz gen: 33.3 %" in done.stdout, done.stdout + done.stderr
    assert [one.name.rpartition("-")[0] for one in (folder / "evaluations").iterdir()] == ["quiz-mock"]


def test_the_plugin_loads_nothing_of_assay_for_other_tests(folder: Path) -> None:
    (folder / "test_other.py").write_text(
        "import sys\ndef test_other():\n    assert 'assay.pytest_plugin' in sys.modules\n"
        "    assert not [one for one in sys.modules if one.startswith('assay.app')]\n",
        encoding="utf-8",
    )
    done = run_session(folder, "test_other.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "= assay =" not in done.stdout
