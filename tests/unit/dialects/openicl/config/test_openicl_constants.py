"""Constants of a checkout's modules: their values where these can be had without running the module."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.dialects.openicl.config.loading import ConfigFiles
from assay.dialects.openicl.config.symbol import Symbol

MODULE = """
import torch_that_is_not_there
from .levels import LEVELS as ALL_LEVELS, other
raise RuntimeError('this module is not run')

HEAD = 'You are a grader.\\n'
PROMPT: str = HEAD + f'{HEAD.strip()} Levels: ' + ', '.join(ALL_LEVELS)
subsets = [*ALL_LEVELS, 'hard'][0:3]
sizes = dict(a=1, b=len(subsets))
CHANGED = ['a']
CHANGED.append('b')
TWICE = 1
TWICE = 2
GROWN = [1]
GROWN += [2]
SET = {}
SET['x'] = 1
MADE = make_it()
OPENED = open('secret').read()
ROUND = ROUND + 1
REACHED = (1).__class__
BROKEN = ['a'][3]
class GRADER: pass
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "opencompass" / "datasets"
    package.mkdir(parents=True)
    (package / "grading.py").write_text(MODULE, encoding="utf-8")
    (package / "levels.py").write_text("LEVELS = ('easy', 'mid')\n", encoding="utf-8")
    (package / "__init__.py").write_text("from .levels import *\nfrom .grading import *\n", encoding="utf-8")
    return tmp_path


def imported(checkout: Path, module: str, name: str) -> object:
    path = checkout / "config.py"
    path.write_text(f"from {module} import {name}\nvalue = [{name}]\n", encoding="utf-8")
    (value,) = ConfigFiles().load(path).values["value"]
    return value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HEAD", "You are a grader.\n"),
        ("PROMPT", "You are a grader.\nYou are a grader. Levels: easy, mid"),
        ("subsets", ["easy", "mid", "hard"]),
        ("sizes", {"a": 1, "b": 3}),
        ("ALL_LEVELS", ("easy", "mid")),
    ],
)
def test_values_of_constants(checkout: Path, name: str, value: object) -> None:
    assert imported(checkout, "opencompass.datasets.grading", name) == value


def test_a_constant_that_the_package_passes_on(checkout: Path) -> None:
    assert imported(checkout, "opencompass.datasets", "HEAD") == "You are a grader.\n"
    assert imported(checkout, "opencompass.datasets", "LEVELS") == ("easy", "mid")


@pytest.mark.parametrize(
    "name",
    [
        *("CHANGED", "TWICE", "GROWN", "SET", "MADE", "OPENED", "ROUND", "REACHED", "BROKEN", "GRADER"),
        *("other", "absent", "ABSENT"),
    ],
)
def test_what_only_running_the_module_would_tell_stays_a_name(checkout: Path, name: str) -> None:
    module = "opencompass.datasets.grading"
    assert imported(checkout, module, name) == Symbol(module, name)


def test_a_module_that_is_no_python_gives_names(checkout: Path) -> None:
    (checkout / "opencompass" / "datasets" / "levels.py").write_text("LEVELS = (", encoding="utf-8")
    module = "opencompass.datasets.levels"
    assert imported(checkout, module, "LEVELS") == Symbol(module, "LEVELS")


def test_modules_that_import_each_other_come_to_an_end(checkout: Path) -> None:
    levels = checkout / "opencompass" / "datasets" / "levels.py"
    levels.write_text("from .grading import ALL_LEVELS as LEVELS\n", encoding="utf-8")
    module = "opencompass.datasets.levels"
    assert imported(checkout, module, "LEVELS") == Symbol(module, "LEVELS")
