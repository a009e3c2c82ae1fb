"""The locations of base configs and code modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.dialects.openicl.config.parsed import BaseImport
from assay.dialects.openicl.config.places import ModuleLocator, find_checkout, suggest_file


def test_relative_bases_go_up_from_the_file() -> None:
    asking = Path("configs/mmlu/gen.py")
    places = ModuleLocator(None)
    assert places.find_base_file(BaseImport("a", 1, ("x",), 1), asking) == Path("configs/mmlu/a.py")
    assert places.find_base_file(BaseImport("b.c", 2, ("x",), 1), asking) == Path("configs/b/c.py")


def test_a_folder_of_the_packages_name_is_no_checkout_without_its_configs(tmp_path: Path) -> None:
    asking = tmp_path / "opencompass" / "opencompass" / "mine" / "config.py"
    asking.parent.mkdir(parents=True)
    asked = BaseImport("opencompass.configs.datasets.a", 0, ("x",), 1)
    assert ModuleLocator(None).find_base_file(asked, asking) is None
    (tmp_path / "opencompass" / "configs").mkdir()
    expected = tmp_path / "opencompass" / "configs" / "datasets" / "a.py"
    assert ModuleLocator(None).find_base_file(asked, asking) == expected


def test_the_checkout_that_was_named_is_the_only_one(tmp_path: Path) -> None:
    (tmp_path / "opencompass" / "configs").mkdir(parents=True)
    asked = BaseImport("opencompass.configs.a", 0, ("x",), 1)
    assert ModuleLocator(tmp_path / "elsewhere").find_base_file(asked, tmp_path / "config.py") is None


def test_code_is_a_file_or_a_package(tmp_path: Path) -> None:
    package = tmp_path / "opencompass" / "datasets"
    package.mkdir(parents=True)
    for name in ("__init__.py", "mmlu.py"):
        (package / name).touch()
    places, asking = ModuleLocator(None), tmp_path / "config.py"
    assert places.find_code_file("opencompass.datasets", asking) == package / "__init__.py"
    assert places.find_code_file("opencompass.datasets.mmlu", asking) == package / "mmlu.py"
    assert places.find_code_file("opencompass.datasets.gsm8k", asking) is None
    assert places.find_code_file("torch.nn", asking) is None


def test_the_nearest_file_or_folder(tmp_path: Path) -> None:
    (tmp_path / "mmlu").mkdir()
    (tmp_path / "mmlu" / "mmlu_gen_4d595a.py").touch()
    assert suggest_file(tmp_path / "mmlu" / "mmlu_gen_4d595b.py") == " (did you mean 'mmlu_gen_4d595a'?)"
    assert suggest_file(tmp_path / "mmlv" / "deeper" / "x.py") == " (did you mean 'mmlu'?)"
    assert suggest_file(tmp_path / "mmlu" / "arc.py") == ""


@pytest.mark.parametrize("package", ["opencompass/configs", "ais_bench/benchmark/configs"])
def test_a_config_in_a_checkout_has_that_checkout(workdir: Path, package: str) -> None:
    assert find_checkout(Path(package, "datasets", "quiz", "quiz_gen.py")) == workdir
    assert find_checkout(workdir / "opencompass" / "datasets" / "quiz.py") is None
    assert find_checkout(Path("quiz_gen.py")) is None
