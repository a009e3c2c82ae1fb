"""Configs of AISBench's performance mode in a folder: made-up datasets, a trace, conversations, a service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

_HEAD = """
from ais_bench.benchmark.datasets import (
    MooncakeTraceDataset, MooncakeTraceEvaluator, ShareGPTDataset, ShareGPTEvaluator, SyntheticDataset,
    MATHEvaluator, math_postprocess_v2,
)
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer, MultiTurnGenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import MultiTurnPromptTemplate, PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever


def asked(template, columns, inferencer=dict(type=GenInferencer)):
    return dict(
        reader_cfg=dict(input_columns=columns, output_column="answer"),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template=template),
            retriever=dict(type=ZeroRetriever),
            inferencer=inferencer,
        ),
        eval_cfg=dict(
            evaluator=dict(type=MATHEvaluator, version="v2"),
            pred_postprocessor=dict(type=math_postprocess_v2),
        ),
    )

"""
STRING = {
    "Type": "string",
    "RequestCount": 5,
    "StringConfig": {
        "Input": {"Method": "uniform", "Params": {"MinValue": 20, "MaxValue": 30}},
        "Output": {"Method": "uniform", "Params": {"MinValue": 7, "MaxValue": 9}},
    },
}
TOKEN_IDS = {
    "Type": "tokenid",
    "RequestCount": 4,
    "TokenIdConfig": {"RequestSize": 20, "PrefixLen": 6},
}


def write_synthetic(config: Path, configs: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write a config with a synthetic dataset for each name."""
    entries = [
        f"dict(abbr={abbr!r}, type=SyntheticDataset, config={dict(config)!r},"
        ' **asked("{question}", ["question", "max_out_len"]))'
        for abbr, config in configs.items()
    ]
    return _written(config, f"synthetic_datasets = [{', '.join(entries)}]\n")


def write_trace(config: Path, **arguments: Any) -> Path:
    """Write a config with a trace."""
    message = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    entry = f"dict(abbr='mooncake-trace', type=MooncakeTraceDataset, {message},"
    columns = '["prompt", "timestamp", "max_out_len"]'
    return _written(config, f'trace_datasets = [{entry} **asked("{{prompt}}", {columns}))]\n')


def write_conversations(config: Path, **arguments: Any) -> Path:
    """Write a config with conversations, as the original's preset has them."""
    message = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return _written(
        config,
        f"sharegpt_datasets = [dict(abbr='sharegpt', type=ShareGPTDataset, {message}, "
        'reader_cfg=dict(input_columns=["question", "answer"], output_column="answer"), '
        "infer_cfg=dict(prompt_template=dict(type=MultiTurnPromptTemplate, template=dict(round=["
        'dict(role="HUMAN", prompt="{question}"), dict(role="BOT", prompt="{answer}")])), '
        "retriever=dict(type=ZeroRetriever), "
        'inferencer=dict(type=MultiTurnGenInferencer, infer_mode="every")), '
        "eval_cfg=dict(evaluator=dict(type=ShareGPTEvaluator)))]\n",
    )


def write_service(config: Path, url: str, **edited: Any) -> Path:
    """Write a config with the stream preset of chats, some of its keys edited."""
    entry = {
        "attr": "service",
        "abbr": "mine",
        "path": "",
        "model": "",
        "stream": True,
        "request_rate": 0,
        "use_timestamp": False,
        "retry": 1,
        "api_key": "",
        "url": url,
        "max_out_len": 33,
        "batch_size": 2,
        "trust_remote_code": False,
        "generation_kwargs": {"temperature": 0.01, "ignore_eos": True},
        **edited,
    }
    config.parent.mkdir(parents=True, exist_ok=True)
    head = "from ais_bench.benchmark.models import VLLMCustomAPIChat\n"
    config.write_text(f"{head}\nmodels = [dict(type=VLLMCustomAPIChat, **{entry!r})]\n", encoding="utf-8")
    return config


def _written(config: Path, lists: str) -> Path:
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(_HEAD + lists, encoding="utf-8")
    return config
