"""--model and --model_args as a model of Assay."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from assay.backends.hf.arguments import HfArgs
from assay.backends.openai.arguments import EXTRA, OpenAIArgs
from assay.backends.registry import BACKENDS
from assay.backends.vllm.arguments import ENGINE, VllmArgs
from assay.core.errors import listing, suggest_name
from assay.systems.flag_table import usage_error
from assay.systems.lm_eval.pairs import format_value

_HF, _VLLM, _API, _MOCK = "hf", "vllm", "openai", "mock"
_OPENAI = "https://api.openai.com/v1"


class _Server(NamedTuple):
    """A kind of model behind an address."""

    api: str
    url: str | None = None
    """Its usual address."""
    path: str = "/completions"
    """The end of `base_url`, which Assay adds itself."""


_LOCAL_NAMES = {**dict.fromkeys(("hf", "hf-auto", "huggingface"), _HF), "vllm": _VLLM}
_SERVERS = {
    "local-completions": _Server("completions"),
    "local-chat-completions": _Server("chat", path="/chat/completions"),
    "openai-completions": _Server("completions", _OPENAI),
    "openai-chat-completions": _Server("chat", _OPENAI, "/chat/completions"),
    "gguf": _Server("completions"),
    "ggml": _Server("completions"),
}
_GGUF = ("gguf", "ggml")
_DUMMY = "dummy"
_DUMMY_ANSWER = "lol"
"""What the original's dummy model writes."""
_BY_SERVER = "use --model local-chat-completions with the base_url of an OpenAI-compatible address"
_BY_SGLANG = "start its OpenAI-compatible server and use --model local-completions with its base_url"
_BY_HF = "use --model hf"
_UNSUPPORTED = {
    **dict.fromkeys(("anthropic-chat", "anthropic-chat-completions", "anthropic-completions"), _BY_SERVER),
    **dict.fromkeys(("litellm", "litellm-chat", "litellm-chat-completions", "textsynth"), _BY_SERVER),
    **dict.fromkeys(("watsonx_llm", "azure-openai-chat-completions", "trtllm"), _BY_SERVER),
    **dict.fromkeys(("sglang", "sglang-generate"), _BY_SGLANG),
    **dict.fromkeys(("hf-multimodal", "hf-audiolm-qwen", "hf-mistral3", "steered", "mamba_ssm"), _BY_HF),
    **dict.fromkeys(("ipex", "openvino", "habana", "neuronx", "winml", "onnxruntime"), _BY_HF),
    **dict.fromkeys(("onnxruntime-genai", "megatron_lm", "nemo_lm"), _BY_HF),
    "vllm-vlm": "use --model vllm, for tasks without images",
}
"""Models of the original that Assay does not have, and what to use instead."""

_ONE_BOS = "Assay adds the BOS token as the model's tokenizer does; remove it"
_OWN_TEXTS = "the server encodes texts; remove it"
_FP32 = "log-probabilities are always computed in float32; remove it"
_REJECTED: Mapping[str, str] = {
    "add_bos_token": _OWN_TEXTS,
    "prefix_token_id": _ONE_BOS,
    "custom_prefix_token_id": _ONE_BOS,
    "softmax_dtype": _FP32,
    "mixed_precision_dtype": "use dtype",
    "subfolder": "name the folder itself as pretrained",
    "delta": "merge the delta into the weights and name their folder",
    "autogptq": "remove it: the checkpoint's own configuration says how it is quantized",
    "gptqmodel": "remove it: the checkpoint's own configuration says how it is quantized",
    "auth_token": "put the key into the environment variable OPENAI_API_KEY",
    "header": "put the key into the environment variable OPENAI_API_KEY",
    "tokenizer_revision": "remove it: the model's own tokenizer is used",
    "verify_certificate": "let SSL_CERT_FILE name the certificate of the server",
    "ca_cert_path": "let SSL_CERT_FILE name the certificate of the server",
}
"""Arguments that change results and cannot be honoured, and how to do without."""
_SECRET = ("auth_token", "header")
"""Arguments whose value no message repeats."""
_SAME_WHEN: Mapping[str, tuple[Any, ...]] = {
    "softmax_dtype": ("float32", None),
    "verify_certificate": (True,),
    "subfolder": ("", None),
    "autogptq": (False,),
    "gptqmodel": (False,),
    **dict.fromkeys(("delta", "prefix_token_id"), (None,)),
}
"""Values of rejected arguments that are the same as omitting them."""
_OWN_TOKENS = "the tokens of the model's own tokenizer are used"
_OWN_MEMORY = "batches always fit the available memory"
_ONE_DEVICE = "device_map=auto distributes the layers over all GPUs"
_IGNORED: Mapping[str, Mapping[str, str]] = {
    _HF: {
        "backend": "the model's configuration says what it is",
        "truncation": "prompts that are too long are failed samples, never cut",
        "logits_cache": "shared prefixes are always computed once",
        "use_fast_tokenizer": "the tokenizer is always the fast one",
        "low_cpu_mem_usage": _OWN_MEMORY,
        **dict.fromkeys(("max_memory_per_gpu", "max_cpu_memory", "offload_folder", "tp_plan"), _ONE_DEVICE),
    },
    _VLLM: {
        "tokenizer_mode": _OWN_TOKENS,
        "max_lora_rank": "it is read from the adapter",
        "lora_rank": "it is read from the adapter",
        "device": "vLLM chooses the device",
        "swap_space": "the engine chooses it",
    },
    _API: {
        **dict.fromkeys(("tokenizer", "tokenizer_backend", "tokenized_requests"), "the server encodes texts"),
        **dict.fromkeys(("trust_remote_code", "use_fast_tokenizer", "revision"), "the server encodes texts"),
        "truncate": "prompts that are too long are failed samples, never cut",
        "max_length": "the server decides which prompts are too long",
        "eos_string": "the server ends its replies itself",
        "seed": "greedy replies need no seed, and sampled ones get that of --seed",
        "max_images": "task files with images are not supported yet",
    },
    _MOCK: {},
}
"""Arguments that change no result, and what happens instead."""
_RENAMED: Mapping[str, Mapping[str, str]] = {
    _HF: {"peft": "lora", "max_length": "context_length", "attn_implementation": "attn"},
    _VLLM: {
        "lora_local_path": "lora",
        "max_length": "context_length",
        "max_model_len": "context_length",
        "max_batch_size": "max_num_seqs",
    },
    _API: {"num_concurrent": "concurrency", "timeout": "timeout_s"},
    _MOCK: {},
}
_KNOWN: Mapping[str, tuple[str, ...]] = {
    _HF: HfArgs.__struct_fields__,
    _VLLM: VllmArgs.__struct_fields__,
    _API: OpenAIArgs.__struct_fields__,
    _MOCK: ("answer", "chat", "delay_ms", "fail_every", "context_length"),
}
_NAMES = ("pretrained", "model", "base_url", "gguf_file")
TEMPLATE_SWITCHES = {"true": True, "default": True, "false": False}
"""Values of --apply_chat_template that name no template."""


class ResolvedModel(NamedTuple):
    """A model as Assay names it."""

    name: str
    args: dict[str, str]
    settings: dict[str, Any]
    """Settings of the run that its arguments set."""
    max_gen_toks: int | None
    """The length of replies for tasks that do not set one."""
    thinks: bool
    """Whether the chat template lets the model think before it answers."""
    think_end_token: str | int | None
    """The text, or the token's number, after which its answer begins."""
    notes: tuple[str, ...]

    @property
    def backend(self) -> str:
        """Return the name of its backend."""
        return self.name.partition(":")[0]


def resolve_model(flags: argparse.Namespace, given: Mapping[str, Any]) -> ResolvedModel:
    """Return the model of --model; `given`: the parsed --model_args."""
    name: str = flags.model
    backend, builder = _find_backend(name)
    values = {key: value for key, value in given.items() if key not in ("batch_size", "max_batch_size")}
    length = values.pop("max_gen_toks", None)
    think_end = values.pop("think_end_token", None)
    variables = _pop_template_variables(values)
    settings: dict[str, Any] = {}
    if backend == _VLLM and (n_replicas := values.pop("data_parallel_size", 1)) not in (1, None):
        settings["workers"] = int(n_replicas)
    full = builder(name, values)
    notes: list[str] = []
    args: dict[str, str] = {}
    known = _KNOWN.get(backend, ())
    for key, value in values.items():
        if key in _NAMES or value is None or value in _SAME_WHEN.get(key, ()):
            continue
        if (note := _IGNORED.get(backend, {}).get(key)) is not None:
            notes.append(f"--model_args {key}: {note}")
            continue
        _require_supported(key, value, backend)
        renamed = _rename(key, backend, known)
        if renamed is not None:
            args[renamed] = format_value(value)
    if backend == _API and "max_retries" in values:
        args.pop("max_retries", None)
        args["retries"] = str(max(int(values["max_retries"]) - 1, 0))
    if name in _SERVERS:
        args.setdefault("api", _SERVERS[name].api)
    if name == _DUMMY:
        args.setdefault("answer", _DUMMY_ANSWER)
    if variables and backend != _MOCK:
        args[f"{EXTRA if backend == _API else ''}chat_template_kwargs"] = format_value(variables)
    if (template := find_template_name(flags.apply_chat_template)) is not None:
        _require_own_template(template, backend)
        args.setdefault("chat_template", template)
    thinks = bool(variables.get("enable_thinking"))
    _check_thinking(think_end, backend, thinks=thinks)
    args |= _read_hardware_flags(flags, given, backend, notes)
    length = None if length is None else int(length)
    return ResolvedModel(full, args, settings, length, thinks, think_end, tuple(notes))


def find_template_name(given: str | bool | None) -> str | None:
    """Return the template that --apply_chat_template names; None if it names none."""
    return given if isinstance(given, str) and given.lower() not in TEMPLATE_SWITCHES else None


def _pop_template_variables(values: dict[str, Any]) -> dict[str, Any]:
    """Remove the arguments that set variables of the chat template; return these variables."""
    given = values.pop("chat_template_args", None) or {}
    if not isinstance(given, Mapping):
        what = f"--model_args chat_template_args={given!r:.60}, expected a dict"
        raise usage_error(what, """write --model_args '{"chat_template_args": {"enable_thinking": false}}'""")
    thinks = values.pop("enable_thinking", None)
    return {**given, **({} if thinks is None else {"enable_thinking": thinks})}


def _require_own_template(name: str, backend: str) -> None:
    if backend in (_API, _MOCK):
        what = f"--apply_chat_template {name}: a server has its own chat template"
        raise usage_error(what, "write --apply_chat_template without a name")


def _check_thinking(end: Any, backend: str, *, thinks: bool) -> None:
    if thinks and end is None:
        what = "--model_args enable_thinking=True: where the thoughts end is unknown"
        raise usage_error(what, "add think_end_token, such as --model_args think_end_token='</think>'")
    is_number = isinstance(end, int) and not isinstance(end, bool) and backend not in (_API, _MOCK)
    if end is not None and not is_number and not (isinstance(end, str) and end):
        what = f"--model_args think_end_token={end!r:.60}, expected a text"
        raise usage_error(what, "write --model_args think_end_token='</think>'")


def _find_backend(name: str) -> tuple[str, Callable[[str, dict[str, Any]], str]]:
    """Return the backend for a name of --model, and the function that builds Assay's name of it."""
    if name in _LOCAL_NAMES:
        return _LOCAL_NAMES[name], _name_local
    if name in _SERVERS:
        return _API, _name_served
    if name == _DUMMY:
        return _MOCK, lambda *_: _MOCK
    if name.partition(":")[0] in BACKENDS:
        return name.partition(":")[0], lambda own, _: own
    if name in _UNSUPPORTED:
        raise usage_error(f"--model {name} is not supported", _UNSUPPORTED[name])
    names = sorted({*_LOCAL_NAMES, *_SERVERS, _DUMMY, *BACKENDS})
    what = f"--model: there is no model {name!r}{suggest_name(name, names)}"
    if "/" in name:
        raise usage_error(what, f"write --model hf --model_args pretrained={name}")
    raise usage_error(
        what, f"use one of {listing(names, at_most=20)}, or a model of Assay such as hf:ORG/NAME"
    )


def _name_local(name: str, values: dict[str, Any]) -> str:
    where = values.get("pretrained")
    if not where:
        what = f"--model {name} needs the model's name, but --model_args has no pretrained"
        raise usage_error(what, "add --model_args pretrained=ORG/NAME, or a folder")
    tokenizer = values.pop("tokenizer", None)
    if tokenizer not in (None, where):
        what = f"--model_args tokenizer={tokenizer} is not the tokenizer of {where}"
        raise usage_error(what, "remove it: the model's own tokenizer is used")
    if _LOCAL_NAMES[name] == _HF:
        if values.get("backend") == "seq2seq":
            raise usage_error(
                "--model_args backend=seq2seq: encoder-decoder models are not supported", _BY_HF
            )
        if values.pop("parallelize", False):
            values["device_map"] = "auto"
        if isinstance(values.get("dtype"), str):
            values["dtype"] = values["dtype"].removeprefix("torch.")
    file = values.get("gguf_file")
    return f"{_LOCAL_NAMES[name]}:{where}" + (f"/{file}" if file else "")


def _name_served(name: str, values: dict[str, Any]) -> str:
    server = _SERVERS[name]
    url = values.get("base_url") or server.url
    if not url:
        what = f"--model {name} is a server, but --model_args has no base_url"
        path = "/v1" if name in _GGUF else f"/v1{server.path}"
        model = "" if name in _GGUF else "model=NAME,"
        raise usage_error(what, f"add --model_args {model}base_url=http://127.0.0.1:8000{path}")
    base = str(url).rstrip("/").removesuffix("/completions").removesuffix("/chat")
    if name in _GGUF and not base.endswith("/v1"):
        base += "/v1"
    return f"{_API}:{values.get('model') or values.get('pretrained') or ''}@{base}"


def _require_supported(key: str, value: Any, backend: str) -> None:
    if key in _REJECTED and key not in _KNOWN.get(backend, ()):
        shown = key if key in _SECRET else f"{key}={value}"
        raise usage_error(f"--model_args {shown} is not supported", _REJECTED[key])


def _rename(key: str, backend: str, known: tuple[str, ...]) -> str | None:
    """Return Assay's name of an argument; None if it is read elsewhere."""
    renamed = _RENAMED.get(backend, {}).get(key, key)
    if backend == _API and key == "max_retries":
        return None
    if renamed in known or backend not in _KNOWN or renamed.startswith((EXTRA, ENGINE)):
        return renamed
    if backend == _VLLM:
        # Arguments of vLLM's engine; the backend checks their names.
        return ENGINE + renamed
    names = sorted({*known, *_RENAMED[backend], *_IGNORED[backend], *_NAMES[:2]})
    what = f"--model_args: {backend} has no argument {key!r}{suggest_name(key, names)}"
    raise usage_error(what, f"use some of {listing(names, at_most=30)}")


def _read_hardware_flags(
    flags: argparse.Namespace, given: Mapping[str, Any], backend: str, notes: list[str]
) -> dict[str, str]:
    """Return the arguments that --batch_size, --max_batch_size, --device and --trust_remote_code set."""
    args: dict[str, str] = {}
    is_local = backend in (_HF, "smollm2")
    size = flags.batch_size if flags.batch_size is not None else given.get("batch_size")
    size = None if size is None or str(size).startswith("auto") else size
    most = flags.max_batch_size if flags.max_batch_size is not None else given.get("max_batch_size")
    for flag, value in (("--batch_size", size), ("--max_batch_size", most)):
        if value is None:
            continue
        if not str(value).isdecimal() or int(value) < 1:
            raise usage_error(f"{flag} is {value!r}, expected a number or auto", f"write {flag} 8")
        if is_local:
            args.setdefault("max_batch", str(value))
        else:
            notes.append(f"{flag}: {backend} chooses its batches itself")
    if flags.device is not None:
        if is_local:
            args["device"] = flags.device
        else:
            notes.append(f"--device: {backend} does not support it")
    if flags.trust_remote_code:
        if backend in (_HF, _VLLM):
            args["trust_remote_code"] = "true"
        else:
            notes.append(f"--trust_remote_code: {backend} loads no code")
    return args


def find_logged_name(given: Mapping[str, Any], model: ResolvedModel) -> str:
    """Return the model's name in the result files, which names their folder."""
    keys = ("peft", "delta", "pretrained", "model", "path", "engine")
    own = model.name.partition(":")[2] or model.name
    return str(next((given[key] for key in keys if key in given), Path(own).as_posix()))
