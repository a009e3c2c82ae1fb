"""Which packages are imported with a model, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("transformers")
MakeModel = Callable[..., Path]
Run = Callable[..., list[str]]

LOAD = """
import sys
from pathlib import Path
from assay.backends.hf.loading import load_model, load_tokenizer
load_tokenizer(Path(sys.argv[1]))
load_model(Path(sys.argv[1]), dtype="float32", device="cpu")
print(*(name for name in ("scipy", "sklearn") if name in sys.modules))
from transformers import utils
from transformers.generation import candidate_generator
from transformers.loss import loss_for_object_detection
"""
FAKES = {"sklearn/metrics.py": "roc_curve", "scipy/optimize.py": "linear_sum_assignment"}


@pytest.fixture
def run(tmp_path: Path, make_model: MakeModel) -> Run:
    """Return a function that loads a model, runs code after it and returns the lines that it prints."""

    def run_code(code: str) -> list[str]:
        paths = [str(tmp_path), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        done = subprocess.run(
            [sys.executable, "-c", LOAD + code, str(make_model())],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        return done.stdout.splitlines()

    return run_code


@pytest.fixture
def fakes(tmp_path: Path) -> None:
    """Install packages that have nothing but the functions that transformers imports."""
    for path, name in FAKES.items():
        file = tmp_path / path
        file.parent.mkdir()
        (file.parent / "__init__.py").touch()
        file.write_text(f"def {name}(*given, **named): return given, named\n", "utf-8")


@pytest.mark.usefixtures("fakes")
def test_a_text_model_imports_neither_scikit_learn_nor_scipy(run: Run) -> None:
    assert run("") == [""]


@pytest.mark.usefixtures("fakes")
def test_later_code_finds_the_packages(run: Run) -> None:
    checks = """
print(utils.is_sklearn_available(), utils.is_scipy_available())
print(candidate_generator.is_sklearn_available(), loss_for_object_detection.is_scipy_available())
print(candidate_generator.roc_curve(1, drop=2), loss_for_object_detection.linear_sum_assignment(3))
print("sklearn.metrics" in sys.modules, "scipy.optimize" in sys.modules)
"""
    assert run(checks) == ["", "True True", "True True", "((1,), {'drop': 2}) ((3,), {})", "True True"]


def test_missing_packages_stay_missing(run: Run, tmp_path: Path) -> None:
    # A check that runs before transformers looks for them.
    hide = "import sys; sys.modules.update(dict.fromkeys(('scipy', 'sklearn')))"
    (tmp_path / "sitecustomize.py").write_text(hide, "utf-8")
    checks = """
print(utils.is_sklearn_available(), candidate_generator.is_sklearn_available())
print(hasattr(candidate_generator, "roc_curve"), hasattr(loss_for_object_detection, "linear_sum_assignment"))
"""
    assert run(checks)[1:] == ["False False", "False False"]


@pytest.mark.usefixtures("fakes")
def test_a_version_without_these_checks_imports_as_usual(run: Run) -> None:
    code = """
from assay.backends.hf import transformers_imports
transformers_imports._POSTPONED["is_renamed_available"] = ("renamed", "function")
transformers_imports.import_transformers()
print(hasattr(utils, "is_renamed_available"))
"""
    assert run(code) == ["", "False"]
