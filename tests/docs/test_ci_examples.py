"""The examples for CI systems: they are valid, are what the guide shows, and their commands run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from cli import assay

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "ci"
GUIDE = ROOT / "docs" / "guides" / "gate.md"
DATA = "question,A,B,answer\n" + "".join(f"Is {n} even?,yes,no,A\n" for n in range(0, 40, 2))


def load(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


@pytest.fixture
def project(workdir: Path) -> dict[str, str]:
    """A folder with a dataset and its baseline; the environment of a shell that has `assay`."""
    (workdir / "data.csv").write_text(DATA, encoding="utf-8")
    assert assay("run", "data.csv", "-m", "mock", "--model-arg", "answer=A", "--out", "base").status == 0
    assert assay("baseline", "base", "-o", "main.json").status == 0
    program = workdir / "bin" / "assay"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m assay "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    place = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    return inherited | place


def run_shell(script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("arguments", "status"), [("--model-arg answer=A", 0), ("--model-arg answer=B", 5)])
def test_the_action_of_github_runs_the_gate(project: dict[str, str], arguments: str, status: int) -> None:
    action = load("github/action.yml")
    assert action["runs"]["using"] == "composite"
    workflow = load("github/gate.yml")
    (use,) = (step for step in workflow["jobs"]["gate"]["steps"] if "assay-gate" in step.get("uses", ""))
    given = {**use["with"], "model": "mock", "arguments": arguments}
    assert given.keys() <= action["inputs"].keys()
    (step,) = (one for one in action["runs"]["steps"] if "assay gate" in one.get("run", ""))
    environment = dict(project)
    for name, value in step["env"].items():
        key = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)
        assert key is not None, value
        environment[name] = str(given.get(key[1], action["inputs"][key[1]].get("default", "")))
    environment |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md"}
    done = run_shell(step["run"], environment)
    assert done.returncode == status, done.stdout + done.stderr
    assert ("::error " in done.stdout) == (status == 5)
    comment = Path("assay-gate.md").read_text(encoding="utf-8")
    assert comment.startswith("## Gate")
    assert comment in Path("summary.md").read_text(encoding="utf-8")
    ElementTree.parse("assay-gate.xml")


def test_every_script_of_the_action_takes_its_inputs_from_the_environment() -> None:
    for name in ("github/action.yml", "github/gate.yml"):
        document = load(name)
        jobs = [document["runs"]] if "runs" in document else document["jobs"].values()
        for job in jobs:
            assert not [step["run"] for step in job["steps"] if "${{" in step.get("run", "")]


def test_the_job_of_gitlab_runs_the_gate(project: dict[str, str]) -> None:
    job = load("gitlab-ci.yml")["assay-gate"]
    (script,) = (line for line in job["script"] if "assay gate" in line)
    done = run_shell(script, project | {"MODEL": "mock"})
    assert done.returncode in (0, 5), done.stderr
    for path in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]):
        assert Path(path).exists()


@pytest.mark.parametrize("name", ["github/gate.yml", "gitlab-ci.yml"])
def test_the_guide_shows_the_examples_as_they_are(name: str) -> None:
    _, _, body = (EXAMPLES / name).read_text(encoding="utf-8").partition("\n")
    assert f"```yaml\n{body}```" in GUIDE.read_text(encoding="utf-8")
