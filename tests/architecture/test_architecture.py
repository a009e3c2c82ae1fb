"""Rules of the architecture that tests enforce."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "assay"
HEAVY = (
    "torch",
    "transformers",
    "httptools",
    "uvloop",
    "pyarrow",
    "numpy",
    "rich",
    "jinja2",
    "msgspec",
    "pandas",
)


def test_import_contracts() -> None:
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command; lint_imports_command()",
    ]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def loaded_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_help_imports_nothing_heavy() -> None:
    code = """
from click.testing import CliRunner
from assay.faces.cli.main import cli
result = CliRunner().invoke(cli, ["--help"])
assert result.exit_code == 0, result.output
"""
    assert loaded_after(code) == set()


def test_import_assay_imports_nothing_heavy() -> None:
    assert loaded_after("import assay") == set()


def test_a_look_at_a_table_waits_for_no_other_languages_libraries(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("question,A,B,answer\n1+1=,1,2,B\n", encoding="utf-8")
    code = f"""
from click.testing import CliRunner
from assay.faces.cli.main import cli
result = CliRunner().invoke(cli, ["check", {str(data)!r}])
assert result.exit_code == 0, result.output
"""
    assert loaded_after(code).isdisjoint(set(HEAVY) - {"rich", "jinja2", "msgspec"})


def test_a_run_on_the_mock_model_needs_no_torch(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("question,A,B,answer\n1+1=,1,2,B\n", encoding="utf-8")
    code = f"""
import assay
assay.run({str(data)!r}, model="mock", method=["ppl", "prob", "gen"], out={str(tmp_path / "run")!r})
"""
    assert loaded_after(code).isdisjoint(
        {"torch", "transformers", "httptools", "uvloop", "pyarrow", "pandas"}
    )


@pytest.mark.parametrize(
    "model", ["ultraeval:http://127.0.0.1:5002/infer", "openai:m@http://127.0.0.1:8000/v1"]
)
def test_a_client_is_not_loaded_before_a_server_is_asked(model: str) -> None:
    code = f"""
from assay.backends.registry import open_backend
open_backend({model!r}, {{}}).card
"""
    assert "httptools" not in loaded_after(code)


def test_no_package_or_file_is_called_utils() -> None:
    names = {path.stem for path in SOURCE.rglob("*.py")} | {
        path.name for path in SOURCE.rglob("*") if path.is_dir()
    }
    assert names.isdisjoint({"utils", "util", "common", "helpers", "helper", "misc"})


def test_contributing_names_every_package() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    packages = [path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"]
    missing = [name for name in packages if f"`{name}/`" not in text]
    assert missing == []


CODE = re.compile(r'"([A-Z]{3,}-\d{3})"')


def codes_in_source() -> set[str]:
    return {code for path in SOURCE.rglob("*.py") for code in CODE.findall(path.read_text(encoding="utf-8"))}


def test_every_error_code_is_documented_and_nothing_else() -> None:
    text = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^### ([A-Z]+-\d{3})", text, re.MULTILINE))
    assert documented == codes_in_source()


@pytest.mark.parametrize("code", sorted(codes_in_source()))
def test_every_error_code_is_provoked_by_a_test(code: str) -> None:
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    assert any(code in path.read_text(encoding="utf-8") for path in tests)
