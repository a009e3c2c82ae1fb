"""Arguments of a model in vLLM's engine, and which of them change answers."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from assay.backends.arguments import read_arguments
from assay.backends.hf.arguments import Count, collect_thinking_args
from assay.backends.local.adapter_files import find_adapter
from assay.backends.problems import argument_error
from assay.core.errors import suggest_name

ENGINE = "engine."
"""Prefix of an argument for vLLM's engine that Assay does not know."""
_ELSEWHERE = {
    "model": "write vllm:MODEL",
    "tokenizer": "the model's own tokenizer is used",
    "max_model_len": "write context_length=N",
    "enable_lora": "write lora=FOLDER",
    "max_lora_rank": "Assay reads it from the adapter",
    "lora_target_modules": "Assay reads them from the adapter",
    "load_format": "the model's files decide it",
    "skip_tokenizer_init": "the tokenizer is needed",
    "disable_log_stats": "Assay has its own statistics",
}


class VllmArgs(msgspec.Struct, frozen=True):
    """Arguments of the engine."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    revision: str | None = None
    trust_remote_code: bool = False
    chat_template: str | None = None
    """Path of a jinja file to use instead of the model's template, or the name of one of its templates."""
    chat_template_kwargs: str | None = None
    """Further variables of the chat template, a JSON object."""
    add_bos_token: bool | None = None
    """Whether a text begins with the BOS token. None: as the tokenizer decides."""
    context_length: Count | None = None
    """Maximum number of tokens to give the model, if it should be less than the model's own."""
    tensor_parallel_size: Count = 1
    """GPUs over which each layer is split."""
    pipeline_parallel_size: Count = 1
    """GPUs over which the layers are distributed."""
    gpu_memory_utilization: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """Fraction of the device's memory that the engine may use."""
    kv_cache_gib: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Memory for keys and values, if a fraction of the device is too coarse."""
    max_num_seqs: Count | None = None
    """Maximum sequences in a batch."""
    max_num_batched_tokens: Count | None = None
    """Maximum tokens in a batch."""
    block_size: Count | None = None
    """Tokens in a cache block: prefixes are shared in whole blocks."""
    enforce_eager: bool | None = None
    """Whether to skip compilation and CUDA graphs."""
    enable_prefix_caching: bool = True
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Seed of the engine; sampled texts have their own seeds."""
    thinking: str | None = None
    """`on`, `off`, an effort or a number of tokens. None: as the model's chat template does by itself."""
    thoughts: Literal["apart", "inline"] = "apart"
    """`inline`: leave thoughts in the answers, as systems do that know no thoughts."""
    lora: str | None = None
    """Folder of an adapter to apply to the model."""


class VllmSettings(msgspec.Struct, frozen=True):
    """The arguments, parsed."""

    args: VllmArgs
    engine: dict[str, Any]
    """Further arguments of the engine, by vLLM's names."""

    def collect_identity_args(self) -> dict[str, str | int | float | bool]:
        """Return the arguments that change answers, as part of the model's identity."""
        names = ("context_length", "quantization", "kv_cache_dtype")
        changed: dict[str, str | int | float | bool] = {
            name: value for name in names if (value := getattr(self.args, name)) is not None
        }
        changed |= collect_thinking_args(self.args.thinking, self.args.thoughts)
        if self.args.lora is not None:
            changed["lora"] = find_adapter(self.args.lora).digest
        for name, value in self.engine.items():
            is_plain = isinstance(value, str | int | float | bool)
            changed[ENGINE + name] = (
                value if is_plain else msgspec.json.encode(value, order="sorted").decode()
            )
        return changed


def read_vllm_settings(given: Mapping[str, str]) -> VllmSettings:
    """Return the parsed arguments, or raise MODEL-002 or MODEL-003."""
    plain = {name: value for name, value in given.items() if not name.startswith(ENGINE)}
    args = read_arguments("vllm", VllmArgs, plain)
    further = {name.removeprefix(ENGINE): given[name] for name in given.keys() - plain.keys()}
    if args.lora is not None:
        find_adapter(args.lora)
    engine = {name: _read_engine_argument(name, further[name]) for name in sorted(further)}
    settings = VllmSettings(args, engine)
    if further:
        _check_known(further)
    return settings


def _read_engine_argument(name: str, value: str) -> Any:
    """Return the value of an engine argument: parsed if it is JSON, else the text itself."""
    if name in VllmArgs.__struct_fields__:
        what = f"vllm argument {ENGINE}{name}: {name!r} is a separate argument"
        raise argument_error(what, f"write {name}={value}")
    if name in _ELSEWHERE:
        raise argument_error(f"vllm argument {ENGINE}{name}: Assay sets {name!r} itself", _ELSEWHERE[name])
    if not name:
        raise argument_error(f"vllm argument {ENGINE!r} has no name", f"write {ENGINE}cpu_offload_gb=8")
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value


def _check_known(names: Mapping[str, str]) -> None:
    """Raise MODEL-002 if vLLM's engine has no such argument; without vLLM the names are not checked."""
    known = _engine_arguments()
    for name in names:
        if known and name not in known:
            what = f"vllm argument {ENGINE}{name}: vLLM's engine has no argument {name!r}"
            fix = "see the engine arguments in vLLM's documentation"
            raise argument_error(what + suggest_name(name, known), fix)


def _engine_arguments() -> list[str]:
    """Return the names of the engine's arguments from its source: importing it takes half a minute."""
    spec = importlib.util.find_spec("vllm")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        source = Path(folder) / "engine" / "arg_utils.py"
        if source.is_file():
            for node in ast.parse(source.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef) and node.name == "EngineArgs":
                    fields = (part.target for part in node.body if isinstance(part, ast.AnnAssign))
                    return [field.id for field in fields if isinstance(field, ast.Name)]
    return []
