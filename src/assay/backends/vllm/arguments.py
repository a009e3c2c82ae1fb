"""What can be set on a model in vLLM's engine, and what of it changes answers."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from assay.backends.arguments import read_arguments
from assay.backends.hf.arguments import Count
from assay.backends.local.adapter_files import find_adapter
from assay.backends.problems import argument_error
from assay.core.errors import suggest_name

ENGINE = "engine."
"""What begins so names an argument of vLLM's engine that Assay does not know."""
_ELSEWHERE = {
    "model": "write vllm:MODEL",
    "tokenizer": "the model's own is used",
    "max_model_len": "write context_length=N",
    "enable_lora": "write lora=FOLDER",
    "max_lora_rank": "it is read from the adapter",
    "lora_target_modules": "they are read from the adapter",
    "load_format": "the files decide",
    "skip_tokenizer_init": "the tokenizer is needed",
    "disable_log_stats": "Assay keeps its own",
}


class VllmArgs(msgspec.Struct, frozen=True):
    """What can be set on the engine."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    revision: str | None = None
    trust_remote_code: bool = False
    chat_template: str | None = None
    """Path of a jinja file to use instead of the model's own template."""
    context_length: Count | None = None
    """Tokens it is given at most, where that should be fewer than it can read."""
    tensor_parallel_size: Count = 1
    """GPUs that each layer is spread over."""
    pipeline_parallel_size: Count = 1
    """GPUs that the layers are spread over."""
    gpu_memory_utilization: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """Share of the device's memory that the engine may take."""
    kv_cache_gib: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Memory for keys and values, where a share of the device is too coarse."""
    max_num_seqs: Count | None = None
    """Sequences that are computed together."""
    max_num_batched_tokens: Count | None = None
    """Tokens that are computed together."""
    block_size: Count | None = None
    """Tokens of a block: beginnings are shared in whole blocks."""
    enforce_eager: bool | None = None
    """Whether nothing is compiled and no graphs are captured."""
    enable_prefix_caching: bool = True
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Of the engine; texts that are drawn have seeds of their own."""
    lora: str | None = None
    """Folder of an adapter that is put upon the model."""


class VllmSettings(msgspec.Struct, frozen=True):
    """The arguments as they are used."""

    args: VllmArgs
    engine: dict[str, Any]
    """Further arguments of the engine, by vLLM's names."""

    def collect_identity_args(self) -> dict[str, str | int | float | bool]:
        """Return what another value of would be another model, as far as answers go."""
        names = ("context_length", "quantization", "kv_cache_dtype")
        changed: dict[str, str | int | float | bool] = {
            name: value for name in names if (value := getattr(self.args, name)) is not None
        }
        if self.args.lora is not None:
            changed["lora"] = find_adapter(self.args.lora).digest
        for name, value in self.engine.items():
            is_plain = isinstance(value, str | int | float | bool)
            changed[ENGINE + name] = (
                value if is_plain else msgspec.json.encode(value, order="sorted").decode()
            )
        return changed


def read_vllm_settings(given: Mapping[str, str]) -> VllmSettings:
    """Return the arguments that a person gave, or raise MODEL-002 or MODEL-003."""
    plain = {name: value for name, value in given.items() if not name.startswith(ENGINE)}
    args = read_arguments("vllm", VllmArgs, plain)
    further = {name.removeprefix(ENGINE): given[name] for name in given.keys() - plain.keys()}
    if args.lora is not None:
        find_adapter(args.lora)
    asked = VllmSettings(args, {name: _read_engine_argument(name, further[name]) for name in sorted(further)})
    if further:
        _check_known(further)
    return asked


def _read_engine_argument(name: str, value: str) -> Any:
    """Return the value of an argument of the engine: JSON where it is such, else the text itself."""
    if name in VllmArgs.__struct_fields__:
        raise argument_error(f"vllm argument {ENGINE}{name}: {name!r} has a name", f"write {name}={value}")
    if name in _ELSEWHERE:
        raise argument_error(f"vllm argument {ENGINE}{name}: Assay sets {name!r} itself", _ELSEWHERE[name])
    if not name:
        raise argument_error(f"vllm argument {ENGINE!r} names nothing", f"write {ENGINE}cpu_offload_gb=8")
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value


def _check_known(names: Mapping[str, str]) -> None:
    """Raise MODEL-002 where vLLM's engine has no such argument; where vLLM is not here, it is not known."""
    known = _engine_arguments()
    for name in names:
        if known and name not in known:
            raise argument_error(
                f"vllm argument {ENGINE}{name}: vLLM's engine has no argument {name!r}{suggest_name(name, known)}",
                "see the engine arguments in vLLM's documentation",
            )


def _engine_arguments() -> list[str]:
    """Return the names of the engine's arguments, read from its source: importing it takes half a minute."""
    spec = importlib.util.find_spec("vllm")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        source = Path(folder) / "engine" / "arg_utils.py"
        if source.is_file():
            for one in ast.parse(source.read_text("utf-8")).body:
                if isinstance(one, ast.ClassDef) and one.name == "EngineArgs":
                    fields = (part.target for part in one.body if isinstance(part, ast.AnnAssign))
                    return [field.id for field in fields if isinstance(field, ast.Name)]
    return []
