"""Quantised weights, several devices, adapters: what is checked before weights are read, and what loads."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.backends import problems
from assay.backends.hf import loading
from assay.backends.registry import open_backend
from assay.core.errors import BackendError

MakeModel = Callable[..., Path]


@pytest.fixture
def without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    optional = {"accelerate", "bitsandbytes", "gptqmodel", "optimum", "peft", "compressed_tensors"}

    def find_spec(name: str, package: str | None = None) -> Any:
        return None if name in optional else importlib.util.find_spec(name, package)

    # Only here: transformers remembers which packages it found.
    monkeypatch.setattr(problems, "find_spec", find_spec)

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("weights were read")

    monkeypatch.setattr(loading, "_load_folder", never)


def quantized(source: Path, folder: Path, settings: dict[str, Any]) -> Path:
    shutil.copytree(source, folder)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"quantization_config": settings}), "utf-8")
    return folder


@pytest.mark.usefixtures("without_packages")
@pytest.mark.parametrize(
    ("args", "packages"),
    [
        ({"device_map": "auto"}, "accelerate"),
        ({"load_in_4bit": "true"}, "bitsandbytes accelerate"),
        ({"load_in_8bit": "true"}, "bitsandbytes accelerate"),
        ({"lora": "/adapters/mine"}, "peft"),
    ],
)
def test_a_missing_package_is_named_before_weights_are_read(
    make_model: MakeModel, args: dict[str, str], packages: str
) -> None:
    with pytest.raises(BackendError, match="MODEL-004") as raised:
        open_backend(f"hf:{make_model()}", args).card  # noqa: B018
    assert f"pip install {packages}" in str(raised.value)


@pytest.mark.usefixtures("without_packages")
@pytest.mark.parametrize(
    ("settings", "packages"),
    [
        ({"quant_method": "gptq", "bits": 4}, "optimum gptqmodel accelerate"),
        ({"quant_method": "awq", "bits": 4}, "gptqmodel accelerate"),
        ({"load_in_8bit": True}, "bitsandbytes accelerate"),
        ({"quant_method": "compressed-tensors"}, "compressed-tensors accelerate"),
    ],
)
def test_a_quantised_checkpoint_names_what_it_needs(
    make_model: MakeModel, tmp_path: Path, settings: dict[str, Any], packages: str
) -> None:
    folder = quantized(make_model(), tmp_path / "model", settings)
    with pytest.raises(BackendError, match="MODEL-004") as raised:
        open_backend(f"hf:{folder}", {}).card  # noqa: B018
    assert f"pip install {packages}" in str(raised.value)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"load_in_4bit": "true", "load_in_8bit": "true"}, "both true"),
        ({"device_map": "auto", "device": "cpu"}, "names one"),
    ],
)
def test_options_that_exclude_each_other(make_model: MakeModel, args: dict[str, str], message: str) -> None:
    with pytest.raises(BackendError, match=message):
        open_backend(f"hf:{make_model()}", args).card  # noqa: B018


def test_quantised_weights_are_not_quantised_again(make_model: MakeModel, tmp_path: Path) -> None:
    folder = quantized(make_model(), tmp_path / "model", {"quant_method": "gptq", "bits": 4})
    with pytest.raises(BackendError, match="already quantised"):
        open_backend(f"hf:{folder}", {"load_in_4bit": "true"}).card  # noqa: B018


def test_a_gguf_file_is_not_quantised_again() -> None:
    with pytest.raises(BackendError, match="GGUF file"):
        open_backend("smollm2", {"load_in_4bit": "true"}).card  # noqa: B018


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_an_adapter_changes_the_weights_and_the_identity(make_model: MakeModel, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(make_model(), dtype=torch.float32)
    config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    adapted = peft.get_peft_model(base, config).eval()
    adapted.save_pretrained(tmp_path)
    ids = torch.arange(9)[None] + 5
    backend: Any = open_backend(f"hf:{make_model()}", {"lora": str(tmp_path)})
    with torch.inference_mode():
        found, expected = backend._load().model(input_ids=ids).logits, adapted(input_ids=ids).logits
    assert torch.allclose(found, expected, atol=1e-3)
    assert "lora" in backend.identity().args
    weights = load_file(tmp_path / "adapter_model.safetensors")
    weights.pop(min(weights))
    save_file(weights, tmp_path / "adapter_model.safetensors", metadata={"format": "pt"})
    broken: Any = open_backend(f"hf:{make_model()}", {"lora": str(tmp_path)})
    with pytest.raises(BackendError, match="does not contain"):
        broken._load()


def test_layers_on_one_device_compute_as_usual(make_model: MakeModel) -> None:
    pytest.importorskip("accelerate")
    import torch

    logits = []
    for args in ({}, {"device_map": "auto"}):
        backend: Any = open_backend(f"hf:{make_model()}", args)
        with torch.inference_mode():
            logits.append(backend._load().model(input_ids=torch.arange(9)[None] + 5).logits)
    assert torch.equal(*logits)
