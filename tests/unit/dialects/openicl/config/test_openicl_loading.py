"""Configs run as they are written: bases, loops, functions, files beside them, and no code of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.dialects.openicl.config.loading import ConfigFiles
from assay.dialects.openicl.config.symbol import Symbol

MMLU = Symbol("opencompass.datasets", "MMLUDataset")
BASE = """
from opencompass.datasets import MMLUDataset as Loader
_hidden = 1
shared = dict(test_range='[0:1]')
mmlu_datasets = [dict(type=Loader, abbr=f'mmlu-{i}', reader_cfg=shared) for i in range(2)]
def twice(x):
    return x * 2
"""


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def values(path: Path) -> dict[str, Any]:
    return ConfigFiles().load(path).values


def test_only_data_is_returned_and_names_stand_for_code(tmp_path: Path) -> None:
    text = """
import os.path as osp, torch
from math import log2
from copy import deepcopy
from opencompass.datasets import MMLUDataset
class Mine(MMLUDataset): pass
n = int(log2(8))
here = osp.basename(__file__)
models = [dict(type=MMLUDataset, dtype=torch.bfloat16, own=Mine)]
other = deepcopy(models)
is_it = other[0]['type'] == MMLUDataset
"""
    write(tmp_path, config=text)
    found = values(tmp_path / "config.py")
    own = found["models"][0].pop("own")
    assert own.__name__ == "Mine"
    model = {"type": MMLU, "dtype": Symbol("torch", "bfloat16")}
    assert found["models"] == [model]
    assert {name: found[name] for name in ("n", "here", "is_it")} == {
        "n": 3,
        "here": "config.py",
        "is_it": True,
    }
    assert list(found) == ["n", "here", "models", "other", "is_it"]


def test_bases_by_name_by_star_and_under_another_name(tmp_path: Path) -> None:
    text = """
from mmengine.config import read_base
with read_base():
    from ..base import mmlu_datasets as them, twice
    from ..base import *
n = twice(_hidden)
is_same = them is mmlu_datasets
"""
    write(tmp_path, base=BASE, inner__config=text)
    found = values(tmp_path / "inner" / "config.py")
    assert found["n"] == 2
    assert found["is_same"]
    assert found["them"][1] == {"type": MMLU, "abbr": "mmlu-1", "reader_cfg": {"test_range": "[0:1]"}}


def test_a_change_stays_in_the_file_and_entry_that_made_it(tmp_path: Path) -> None:
    changing = """
with read_base():
    from .base import mmlu_datasets, shared
mmlu_datasets[0].reader_cfg.test_range = '[0:9]'
mmlu_datasets[0]['abbr'] += '-short'
mmlu_datasets.append(mmlu_datasets[1].deepcopy())
shared.update(train_range=3)
"""
    reading = """
with read_base():
    from .changing import mmlu_datasets as changed
    from .base import mmlu_datasets, shared
"""
    header = "from mmengine.config import read_base\n"
    write(tmp_path, base=BASE, changing=header + changing, reading=header + reading)
    files = ConfigFiles()
    for _ in range(2):
        found = files.load(tmp_path / "reading.py").values
        ranges = [one["reader_cfg"]["test_range"] for one in found["changed"]]
        assert ranges == ["[0:9]", "[0:1]", "[0:1]"]
        assert [one["abbr"] for one in found["mmlu_datasets"]] == ["mmlu-0", "mmlu-1"]
        assert found["shared"] == {"test_range": "[0:1]"}
        found["mmlu_datasets"][0]["abbr"] = "spoilt"


def test_what_configs_do_with_their_variables(tmp_path: Path) -> None:
    text = """
import os
with read_base():
    from .base import mmlu_datasets
    from .base import mmlu_datasets as more_datasets
root = os.environ['ASSAY_TEST_ROOT']
with open(os.path.join(os.path.dirname(__file__), 'prompt.txt')) as file:
    prompt = file.read()
for name in ('a', 'b'):
    globals()[f'{name}_datasets'] = [{'abbr': f'{name}-{{x}}', 'hint': hint} for hint in [prompt]]
del mmlu_datasets, name
datasets = sum((v for k, v in locals().items() if k.endswith('_datasets')), [])
def unused():
    from nowhere.at_all import X
    return X()
sizes = dict[str, int](a=1)
"""
    write(tmp_path, base=BASE, config="from mmengine import read_base\n" + text)
    (tmp_path / "prompt.txt").write_text("Hm.", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_TEST_ROOT", "/data")
        found = values(tmp_path / "config.py")
    assert [one["abbr"] for one in found["datasets"]] == ["mmlu-0", "mmlu-1", "a-{x}", "b-{x}"]
    assert found["a_datasets"] == [{"abbr": "a-{x}", "hint": "Hm."}]
    assert found["root"] == "/data"
    assert found["sizes"] == {"a": 1}
    assert not {"mmlu_datasets", "name", "unused", "file"} & set(found)


def test_a_file_without_imports_names_types_by_text(tmp_path: Path) -> None:
    write(tmp_path, config="datasets = [dict(type='MMLUDataset', abbr='mmlu')]\n")
    assert values(tmp_path / "config.py") == {"datasets": [{"type": "MMLUDataset", "abbr": "mmlu"}]}


def test_a_config_beside_is_a_base_without_the_block_too(tmp_path: Path) -> None:
    write(tmp_path, base=BASE, config="from .base import mmlu_datasets\n")
    assert len(values(tmp_path / "config.py")["mmlu_datasets"]) == 2


@pytest.mark.parametrize("is_given", [True, False])
@pytest.mark.parametrize("package", ["opencompass.configs", "ais_bench.benchmark.configs"])
def test_an_absolute_base_is_in_the_checkout(tmp_path: Path, package: str, is_given: bool) -> None:
    checkout = tmp_path / "checkout"
    configs = checkout.joinpath(*package.split("."))
    text = f"with read_base():\n    from {package}.datasets.mmlu.base import mmlu_datasets\n"
    write(configs / "datasets" / "mmlu", base=BASE)
    place = tmp_path / "opencompass" if is_given else checkout / "examples"
    write(place, config="from mmengine.config import read_base\n" + text)
    config = ConfigFiles(checkout if is_given else None).load(place / "config.py")
    assert len(config.values["mmlu_datasets"]) == 2
    assert config.files == (configs / "datasets" / "mmlu" / "base.py", place / "config.py")


def test_nothing_of_other_packages_is_loaded(tmp_path: Path) -> None:
    text = "import torch, numpy as np\nfrom datasets import Dataset\nfrom mmengine.config import read_base\n"
    write(tmp_path, config=text + "models = [dict(type=Dataset, dtype=np.float32)]\n")
    program = f"""
import sys
from pathlib import Path
from assay.dialects.openicl.config.loading import ConfigFiles
ConfigFiles().load(Path({str(tmp_path / "config.py")!r}))
print([name for name in ("torch", "numpy", "datasets", "mmengine") if name in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_an_escape_that_python_does_not_know_is_the_authors_text(tmp_path: Path) -> None:
    write(tmp_path, config="pattern = 'ANSWER: \\d'\n")
    assert values(tmp_path / "config.py") == {"pattern": "ANSWER: \\d"}
