"""Weights that are quantised, spread over several devices, or changed by an adapter (LoRA).

The packages that this needs are checked before any weights are read. Does not import torch until a model is
loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from assay.backends.hf.arguments import HfArgs
from assay.backends.local.adapter_files import find_adapter
from assay.backends.problems import argument_error, load_error, require_packages

_METHOD_PACKAGES = {
    "gptq": ("optimum", "gptqmodel"),
    "awq": ("gptqmodel",),
    "bitsandbytes": ("bitsandbytes",),
    "compressed-tensors": ("compressed_tensors",),
}
"""What transformers needs to load weights quantised by a method; for others, its own error names it."""


class WeightOptions(NamedTuple):
    """How the weights of a model are loaded."""

    spreads: bool = False
    """Whether the layers are distributed over all devices."""
    bits: int | None = None
    """To how many bits weights are quantised while they are read."""
    is_quantized: bool = False
    """Whether the checkpoint itself is quantised."""
    adapter: Path | None = None
    """The folder of an adapter to apply."""

    @property
    def is_placed(self) -> bool:
        """Return whether transformers places the weights on devices while it reads them."""
        return self.spreads or self.bits is not None or self.is_quantized

    def options(self, device: str, dtype: Any) -> dict[str, Any]:
        """Return the arguments for transformers' loader."""
        if not self.is_placed:
            return {}
        options: dict[str, Any] = {"device_map": "auto" if self.spreads else {"": device}}
        if self.bits is not None:
            from transformers import BitsAndBytesConfig

            options["quantization_config"] = BitsAndBytesConfig(
                load_in_4bit=self.bits == 4, load_in_8bit=self.bits == 8, bnb_4bit_compute_dtype=dtype
            )
        return options

    def apply_adapter(self, model: Any) -> Any:
        """Return the model with its adapter, if any; it is added to the weights unless they are quantised."""
        if self.adapter is None:
            return model
        from peft import LoraConfig, PeftConfig, get_peft_model

        config = PeftConfig.from_pretrained(str(self.adapter))
        if not isinstance(config, LoraConfig):
            raise load_error(
                f"the adapter {self.adapter} is of the type {config.peft_type}",
                "use an adapter of the type LORA",
            )
        adapted = get_peft_model(model, config)
        report = adapted.load_adapter(str(self.adapter), adapter_name="default")
        # Whatever the file does not contain would silently stay as the base model has it.
        if missing := sorted(report.missing_keys):
            raise load_error(
                f"the adapter {self.adapter} does not contain {missing[0]}", "save the adapter again"
            )
        if self.bits is not None or self.is_quantized:
            return adapted.get_base_model()
        return adapted.merge_and_unload()


AS_STORED = WeightOptions()


def read_weight_options(args: HfArgs, config: Mapping[str, Any] | None, name: str) -> WeightOptions:
    """Return how to load a model, given its config.json; raise if a package is missing or options conflict.

    `config` is None for a GGUF file.
    """
    bits = 4 if args.load_in_4bit else 8 if args.load_in_8bit else None
    if args.load_in_4bit and args.load_in_8bit:
        raise argument_error("load_in_4bit and load_in_8bit are both true", "give only one of them")
    if args.device_map is not None and args.device != "auto":
        raise argument_error(
            f"device_map={args.device_map} uses all devices, but device={args.device} names one",
            "give only one of them",
        )
    if config is None and (bits is not None or args.device_map is not None):
        raise argument_error(
            f"{name} is a GGUF file: device_map, load_in_4bit and load_in_8bit are not supported for it",
            "use a folder of safetensors weights",
        )
    method = _read_method(config or {})
    if method is not None and bits is not None:
        raise argument_error(
            f"the weights of {name} are already quantised ({method})", "omit load_in_4bit and load_in_8bit"
        )
    if args.device_map is not None:
        _require(name, f"device_map={args.device_map}", ("accelerate",))
    if bits is not None:
        _require(name, f"load_in_{bits}bit", ("bitsandbytes", "accelerate"))
    if method is not None:
        _require(name, f"{method} weights", (*_METHOD_PACKAGES.get(method, ()), "accelerate"))
    adapter = None
    if args.lora is not None:
        _require(name, "lora", ("peft",))
        adapter = find_adapter(args.lora).folder
    return WeightOptions(args.device_map is not None, bits, method is not None, adapter)


def _read_method(config: Mapping[str, Any]) -> str | None:
    """Return the method with which a checkpoint's weights are quantised."""
    settings = config.get("quantization_config")
    if not isinstance(settings, Mapping):
        return None
    is_old = settings.get("load_in_4bit") or settings.get("load_in_8bit")
    return str(settings.get("quant_method") or ("bitsandbytes" if is_old else "unknown"))


def _require(name: str, option: str, packages: tuple[str, ...]) -> None:
    names = " ".join(package.replace("_", "-") for package in packages)
    require_packages(*packages, needed_by=f"{name} with {option}", fix=f"pip install {names}")
