"""Arguments of `vllm:` are typed, and wrong ones are errors before anything is loaded."""

from __future__ import annotations

import importlib.util
import json
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from assay.backends.local.adapter_files import find_adapter
from assay.backends.vllm.arguments import read_vllm_settings
from assay.core.errors import BackendError


def adapter(
    folder: Path, *, rank: int | None = 8, layers: tuple[str, ...] = ("q_proj",), **more: object
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps({"r": rank, **more}), encoding="utf-8")
    names = [f"base_model.model.layers.0.{layer}.lora_{side}.weight" for layer in layers for side in "AB"]
    header = json.dumps({"__metadata__": {}, **{name: {} for name in names}}).encode()
    (folder / "adapter_model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    return folder


@pytest.fixture
def vllm_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package vllm whose engine has two arguments."""
    package = tmp_path / "vllm"
    (package / "engine").mkdir(parents=True)
    (package / "engine" / "arg_utils.py").write_text(
        "class EngineArgs:\n    cpu_offload_gb: float = 0\n    hf_overrides: dict = {}\n    x = 1\n", "utf-8"
    )
    spec = ModuleSpec("vllm", None, is_package=True)
    spec.submodule_search_locations = [str(package)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)


def test_values_have_types() -> None:
    asked = read_vllm_settings(
        {
            "tensor_parallel_size": "2",
            "enforce_eager": "true",
            "gpu_memory_utilization": "0.5",
            "dtype": "float16",
        }
    )
    args = asked.args
    assert (args.tensor_parallel_size, args.enforce_eager, args.dtype) == (2, True, "float16")
    assert args.gpu_memory_utilization == 0.5
    assert asked.engine == {}
    assert asked.collect_identity_args() == {}, "where and how fast it computes is no part of who it is"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tensor_parallel": "2"}, "'tensor_parallel' (did you mean 'tensor_parallel_size'?)"),
        ({"tensor_parallel_size": "0"}, "tensor_parallel_size='0'"),
        ({"gpu_memory_utilization": "1.5"}, "gpu_memory_utilization='1.5'"),
        ({"dtype": "fp8"}, "dtype='fp8'"),
        ({"engine.max_model_len": "5"}, "write context_length=N"),
        ({"engine.enable_lora": "true"}, "write lora=FOLDER"),
        ({"engine.seed": "5"}, "write seed=5"),
        ({"engine.": "5"}, "has no name"),
        ({"engine.cpu_ofload_gb": "5"}, "'cpu_ofload_gb' (did you mean 'cpu_offload_gb'?)"),
        ({"engine.x": "5"}, "no argument 'x'"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("vllm_source")
def test_wrong_ones_are_named(given: dict[str, str], message: str) -> None:
    with pytest.raises(BackendError) as caught:
        read_vllm_settings(given)
    assert caught.value.problems[0].code == "MODEL-002"
    assert message in str(caught.value)


@pytest.mark.usefixtures("vllm_source")
def test_further_arguments_of_the_engine_are_passed_on_and_change_who_it_is() -> None:
    asked = read_vllm_settings({"engine.cpu_offload_gb": "8", "engine.hf_overrides": '{"b":1,"a":2}'})
    assert asked.engine == {"cpu_offload_gb": 8, "hf_overrides": {"b": 1, "a": 2}}
    assert asked.collect_identity_args() == {
        "engine.cpu_offload_gb": 8,
        "engine.hf_overrides": '{"a":2,"b":1}',
    }


def test_an_adapter_is_known_by_its_files(tmp_path: Path) -> None:
    one = read_vllm_settings({"lora": str(adapter(tmp_path / "one"))}).collect_identity_args()
    same = read_vllm_settings({"lora": str(adapter(tmp_path / "moved"))}).collect_identity_args()
    other = read_vllm_settings(
        {"lora": str(adapter(tmp_path / "other", layers=("v_proj",)))}
    ).collect_identity_args()
    assert one == same
    assert one != other


def test_the_rank_of_an_adapter_is_its_highest(tmp_path: Path) -> None:
    assert find_adapter(str(adapter(tmp_path / "plain"))).rank == 8
    mixed = adapter(tmp_path / "mixed", rank_pattern={"q_proj": 64, "v_proj": 4})
    assert find_adapter(str(mixed)).rank == 64
    with pytest.raises(BackendError, match=r"MODEL-003.*does not contain the rank"):
        _ = find_adapter(str(adapter(tmp_path / "none", rank=None))).rank


def test_the_layers_that_an_adapter_changes_are_those_that_it_has_weights_for(tmp_path: Path) -> None:
    written = adapter(tmp_path / "two", layers=("self_attn.v_proj", "lm_head"), target_modules=".*")
    assert find_adapter(str(written)).modules == ["lm_head", "v_proj"]
    (written / "adapter_model.safetensors").rename(written / "adapter_model.bin")
    assert find_adapter(str(written)).modules is None
    listed = adapter(tmp_path / "listed", target_modules=["v_proj", "q_proj"])
    (listed / "adapter_model.safetensors").rename(listed / "adapter_model.bin")
    assert find_adapter(str(listed)).modules == ["q_proj", "v_proj"]


def test_a_folder_without_an_adapter_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"MODEL-003.*adapter_config\.json"):
        read_vllm_settings({"lora": str(tmp_path)})
