from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.benchmark import Benchmark, DataNeed
from assay.core.method import Method
from assay.dialects.openicl.benchmark_list import find_config_packages, list_configs
from fakes.benchmark_packages import write_packages


@pytest.fixture
def listed(tmp_path: Path) -> dict[str, Benchmark]:
    configs, _ = find_config_packages(write_packages(tmp_path))
    return {one.name: one for one in list_configs(configs)}


def test_a_config_that_only_imports_another_is_described_like_it(listed: dict[str, Benchmark]) -> None:
    alias, own = listed["sums_gen"], listed["sums_gen_abc123"]
    assert own.methods == (Method.GEN,)
    assert own.split == "test"
    assert own.about == "Sums of two numbers."
    assert (alias.methods, alias.data, alias.split) == (own.methods, own.data, own.split)


def test_a_dataset_of_opencompass_is_kept_in_the_folder_of_its_mapping(listed: dict[str, Benchmark]) -> None:
    assert listed["sums_gen"].data == (DataNeed("opencompass/sums", paths=("./data/sums/",)),)


def test_a_path_that_a_loop_completes_counts_as_its_folder(listed: dict[str, Benchmark]) -> None:
    assert listed["sums_ppl"].data == (DataNeed("./data/sums"),)
    assert listed["sums_ppl"].methods == (Method.PPL,)


def test_a_dataset_of_somebody_else_is_on_the_hub(listed: dict[str, Benchmark]) -> None:
    other = listed["other/sums_ppl"]
    assert (other.data, other.methods) == ((DataNeed("org/other", on_hub="org/other"),), (Method.PROB,))


def test_a_file_that_is_not_python_is_left_out(tmp_path: Path) -> None:
    configs, _ = find_config_packages(write_packages(tmp_path))
    (configs / "datasets" / "sums" / "broken.py").write_text("sums_datasets = [dict(infer_cfg=")
    assert "broken" not in {one.name for one in list_configs(configs)}
