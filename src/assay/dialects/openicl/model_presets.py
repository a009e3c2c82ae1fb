"""AISBench's model configs by name, usable without a checkout: the same fields with the same defaults.

The original's files are meant to be edited; in Assay, fields are set on the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SERVICE: Mapping[str, Any] = {
    "attr": "service",
    "path": "",
    "model": "",
    "retry": 2,
    "api_key": "",
    "host_ip": "localhost",
    "host_port": 8080,
    "url": "",
    "max_out_len": 512,
    "batch_size": 1,
    "trust_remote_code": False,
    "generation_kwargs": {"temperature": 0.01, "ignore_eos": False},
}
_DROP_REASONING: Mapping[str, Any] = {"pred_postprocessor": {"type": "extract_non_reasoning_content"}}
_LOCAL: Mapping[str, Any] = {
    "attr": "local",
    "path": "",
    "max_out_len": 100,
    "batch_size": 1,
    "max_seq_len": 2048,
    "generation_kwargs": {
        "temperature": 0.5,
        "top_k": 10,
        "top_p": 0.95,
        "do_sample": True,
        "seed": None,
        "repetition_penalty": 1.03,
    },
}


def _service(abbr: str, kind: str, *, stream: bool) -> dict[str, Any]:
    more = _DROP_REASONING if kind.endswith("Chat") else {}
    return {**_SERVICE, "type": kind, "abbr": abbr, "stream": stream, **more}


def _raw_service(abbr: str, kind: str, *, stream: bool | None = None, **more: Any) -> dict[str, Any]:
    """Return a service with its own protocol: it has no API key, and one model or a `model_name`."""
    kept = {name: value for name, value in _SERVICE.items() if name not in ("model", "api_key")}
    streaming = {} if stream is None else {"stream": stream}
    return {**kept, "type": kind, "abbr": abbr, **streaming, **more}


def _local(abbr: str, kind: str, **more: Any) -> dict[str, Any]:
    return {**_LOCAL, "type": kind, "abbr": abbr, **more}


MODEL_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "vllm_api_general": _service("vllm-api-general", "VLLMCustomAPI", stream=False),
    "vllm_api_general_stream": _service("vllm-api-general-stream", "VLLMCustomAPI", stream=True),
    "vllm_api_general_chat": _service("vllm-api-general-chat", "VLLMCustomAPIChat", stream=False),
    "vllm_api_stream_chat": _service("vllm-api-stream-chat", "VLLMCustomAPIChat", stream=True),
    "vllm_api_stream_chat_multiturn": _service(
        "vllm-multiturn-api-chat-stream", "VLLMCustomAPIChat", stream=True
    ),
    "vllm_api_function_call_chat": {
        **_service("vllm-api-function-call-chat", "VLLMCustomAPIChat", stream=False),
        "max_out_len": 10240,
        "returns_tool_calls": True,
    },
    "tgi_api_general": _raw_service("tgi-api-general", "TGICustomAPI", stream=False),
    "tgi_stream_api_general": _raw_service("tgi-stream-api-general", "TGICustomAPI", stream=True),
    "triton_api_general": _raw_service("triton-api-general", "TritonCustomAPI", stream=False, model_name=""),
    "triton_stream_api_general": _raw_service(
        "triton-stream-api-general", "TritonCustomAPI", stream=True, model_name=""
    ),
    "mindie_stream_api_general": _raw_service("mindie-stream-api", "MindieStreamApi"),
    "vita_generate_chat": _raw_service(
        "vita-generate-chat",
        "VITAGenerateAPI",
        stream=False,
        model="vita",
        api_key="",
        host_ip="127.0.0.1",
        host_port=1025,
        generation_kwargs={"do_sample": False, "temperature": 0.01},
    ),
    "vllm_offline_vl_model": _local("vllm-offline-vl-model", "VLLMOfflineVLModel", max_out_len=512),
    "qwen_image_edit": _local("qwen-image-edit", "QwenImageEditModel"),
    "hf_base_model": _local("hf-base-model", "HuggingFaceBaseModel"),
    "hf_causal_lm": _local("hf-causal-lm", "HuggingFaceCausalLM"),
    "hf_model": _local("hf-model", "HuggingFace"),
    "hf_chat_model": _local("hf-chat-model", "HuggingFacewithChatTemplate"),
    "hf_qwenvl_model": _local("hf-qwenvl-model", "HuggingFaceQwen2VLwithChatTemplate", max_out_len=256),
}
"""The `models` entry for each name."""


_STRING: Mapping[str, Any] = {
    "Type": "string",
    "RequestCount": 10,
    "TrustRemoteCode": False,
    "StringConfig": {
        "Input": {"Method": "uniform", "Params": {"MinValue": 1, "MaxValue": 200}},
        "Output": {
            "Method": "gaussian",
            "Params": {"Mean": 100, "Var": 200, "MinValue": 1, "MaxValue": 100},
        },
    },
}
_TOKEN_IDS: Mapping[str, Any] = {
    "Type": "tokenid",
    "RequestCount": 10,
    "TrustRemoteCode": False,
    "TokenIdConfig": {"RequestSize": 10, "PrefixLen": 0},
}

LOAD_PRESET_NAME = "synthetic"
"""The name for the results of all of these."""
LOAD_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "synthetic_gen_string": _STRING,
    "synthetic_gen_tokenid": _TOKEN_IDS,
}
"""The `config` for each name."""
