"""The model classes of the originals' configs, and the keys of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

Family: TypeAlias = Literal["vllm_service", "openai_service", "hf", "assay"]

FAMILIES: Mapping[str, tuple[Family, bool | None]] = {
    "VLLMCustomAPI": ("vllm_service", False),
    "VLLMCustomAPIStream": ("vllm_service", False),
    "VLLMCustomAPIChat": ("vllm_service", True),
    "VLLMCustomAPIChatStream": ("vllm_service", True),
    "VllmMultiturnAPIChatStream": ("vllm_service", True),
    "TGICustomAPI": ("vllm_service", False),
    "TGICustomAPIStream": ("vllm_service", False),
    "TritonCustomAPI": ("vllm_service", False),
    "TritonCustomAPIStream": ("vllm_service", False),
    "MindieStreamApi": ("vllm_service", False),
    "VITAGenerateAPI": ("vllm_service", True),
    "OpenAI": ("openai_service", True),
    "OpenAISDK": ("openai_service", True),
    "OpenAISDKStreaming": ("openai_service", True),
    "HuggingFace": ("hf", False),
    "HuggingFaceCausalLM": ("hf", False),
    "HuggingFaceBaseModel": ("hf", False),
    "HuggingFacewithChatTemplate": ("hf", True),
    "HuggingFaceQwen2VLwithChatTemplate": ("hf", True),
    "Assay": ("assay", None),
}
"""The supported classes, and whether each uses chat messages."""
STREAMING_CLASSES = (
    "VLLMCustomAPIStream",
    "VLLMCustomAPIChatStream",
    "VllmMultiturnAPIChatStream",
    "TGICustomAPIStream",
    "TritonCustomAPIStream",
    "MindieStreamApi",
    "OpenAISDKStreaming",
)
TGI_CLASSES = ("TGICustomAPI", "TGICustomAPIStream")
TRITON_CLASSES = ("TritonCustomAPI", "TritonCustomAPIStream")
OPENAI_COMPATIBLE_CLASSES: Mapping[str, str] = {"MindieStreamApi": "/infer", "VITAGenerateAPI": "/generate"}
"""Classes with their own protocol whose servers also have an OpenAI-compatible address, with the path that
the original calls."""
REJECTED_CLASSES: Mapping[str, str] = {
    "VLLMFunctionCallAPIChat": "function calls are not supported; name VLLMCustomAPIChat",
    "VLLM": "give the model on the command line, --model vllm:PATH; or serve it (`vllm serve`), and name "
    "VLLMCustomAPI",
    "VLLMwithChatTemplate": "give the model on the command line, --model vllm:PATH; or serve it "
    "(`vllm serve`), and name VLLMCustomAPIChat",
    "VLLMOfflineVLModel": "vllm: does not support images inside the program. Serve the "
    "model (`vllm serve PATH`), and name VLLMCustomAPIChat or the preset vllm_api_general_chat",
    "TurboMindModel": "serve the model (`lmdeploy serve api_server`), and name VLLMCustomAPI",
    "TurboMindModelwithChatTemplate": "serve the model (`lmdeploy serve api_server`), and name "
    "VLLMCustomAPIChat; or name HuggingFacewithChatTemplate",
    "QwenImageEditModel": "it generates images, but Assay scores texts: use AISBench for its image datasets",
}
"""Unsupported classes of the originals, and what to do instead."""

USED_KEYS: Mapping[Family, Sequence[str]] = {
    "vllm_service": (
        *("path", "model", "host_ip", "host_port", "url", "enable_ssl", "api_key", "stream", "retry"),
        *("max_out_len", "batch_size", "generation_kwargs", "meta_template", "pred_postprocessor"),
    ),
    "openai_service": (
        *("path", "openai_api_base", "key", "retry", "temperature", "max_out_len", "batch_size", "timeout"),
        *("generation_kwargs", "meta_template", "pred_postprocessor", "extra_body", "openai_extra_kwargs"),
        *("max_completion_tokens", "stream", "max_workers"),
    ),
    "hf": (
        *("path", "max_out_len", "batch_size", "max_seq_len", "generation_kwargs", "stop_words", "end_str"),
        *("meta_template", "pred_postprocessor", "model_kwargs", "trust_remote_code"),
    ),
    "assay": (
        "model",
        "model_args",
        "max_out_len",
        "generation_kwargs",
        "meta_template",
        "pred_postprocessor",
    ),
}
COMMON_KEYS = ("type", "abbr", "attr", "summarizer_abbr")
IGNORED_KEYS = (
    *(
        "run_cfg",
        "request_rate",
        "use_timestamp",
        "traffic_cfg",
        "trust_remote_code",
        "verbose",
        "tokenizer_path",
    ),
    *("tokenizer_kwargs", "batch_padding", "query_per_second", "rpm_verbose", "mode", "max_seq_len", "org"),
    *("response_anomaly", "min_out_len", "concurrency", "tokenizer_only", "drop_middle", "vision_kwargs"),
    *("use_fastchat_template", "fastchat_template", "pad_token_id", "think_tag", "logprobs", "top_logprobs"),
    *(
        "stream_chunk_size",
        "http_client_cfg",
        "status_code_mappings",
        "returns_tool_calls",
        "extract_pred_after_decode",
    ),
)
"""Keys that affect how the original runs, not requests or answers."""
ANSWER_CHANGING_KEYS = ("peft_path", "peft_kwargs", "openai_proxy_url", "lora_path")
"""Unsupported keys that would change the model: an error if set."""
SAMPLING_KEYS = ("temperature", "top_p", "do_sample", "seed", "stop", "num_return_sequences", "max_tokens")
LENGTH_KEYS = ("max_tokens", "max_completion_tokens")
REASONING_MODEL_NAMES = ("o1", "o3", "o4", "gpt-5")
"""Name parts of models for which OpenCompass sends the length as `max_completion_tokens`."""
SERVER_KEYS = ("top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty")
"""Arguments that a served model accepts by these names."""
SERVER_DEFAULTS = {"ignore_eos": False, "lora_data_map_file": None}
"""Server defaults, which are not sent."""
OPENAI_URL = "https://api.openai.com/v1"
