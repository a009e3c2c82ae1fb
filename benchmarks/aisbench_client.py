"""AISBench's serving benchmark as a command: its config for a load, and what its csv says.

It counts the first event of a stream as the first token, also when that names the role alone, and the event
with the usage as one more; the server it is run against names the role just before the first token, as vLLM
does, so that its TTFT means what Assay's means.
"""

from __future__ import annotations

import csv
from pathlib import Path
from urllib.parse import urlsplit

ABBR = "aisbench"
_STATS = {"mean": "Average", "p50": "Median", "p99": "P99"}
_CONFIG = """
from mmengine.config import read_base
from ais_bench.benchmark.datasets import MATHEvaluator, SyntheticDataset, math_postprocess_v2
from ais_bench.benchmark.models import VLLMCustomAPIChat
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever

with read_base():
    from ais_bench.benchmark.configs.summarizers.perf.default_perf import summarizer

models = [dict(
    attr="service", type=VLLMCustomAPIChat, abbr={abbr!r}, path={tokenizer!r}, model="m", stream=True,
    request_rate={rate}, retry=2, host_ip={host!r}, host_port={port}, max_out_len={n_output},
    batch_size={n_streams}, trust_remote_code=False,
    generation_kwargs=dict(temperature=0.01, ignore_eos=True),
)]
datasets = [dict(
    abbr="synthetic", type=SyntheticDataset,
    config={{
        "Type": "string", "RequestCount": {n_requests}, "TrustRemoteCode": False,
        "StringConfig": {{
            "Input": {{"Method": "uniform", "Params": {{"MinValue": {n_input}, "MaxValue": {n_input}}}}},
            "Output": {{"Method": "uniform", "Params": {{"MinValue": {n_output}, "MaxValue": {n_output}}}}},
        }},
    }},
    reader_cfg=dict(input_columns=["question", "max_out_len"], output_column="answer"),
    infer_cfg=dict(
        prompt_template=dict(type=PromptTemplate, template="{{question}}"),
        retriever=dict(type=ZeroRetriever),
        inferencer=dict(type=GenInferencer),
    ),
    eval_cfg=dict(
        evaluator=dict(type=MATHEvaluator, version="v2"), pred_postprocessor=dict(type=math_postprocess_v2)
    ),
)]
work_dir = "out"
"""


def aisbench_command(
    python: Path,
    folder: Path,
    url: str,
    tokenizer: Path,
    *,
    n_streams: int,
    n_requests: int,
    n_input: int,
    n_output: int,
    rate: float = 0,
) -> list[str]:
    """Write the config of a load into a folder; return the command. A rate of 0: as fast as it will."""
    server = urlsplit(url)
    text = _CONFIG.format(
        abbr=ABBR,
        tokenizer=str(tokenizer),
        rate=rate,
        host=server.hostname,
        port=server.port,
        n_streams=n_streams,
        n_requests=n_requests,
        n_input=n_input,
        n_output=n_output,
    )
    (folder / "perf.py").write_text(text, encoding="utf-8")
    command = [str(python.with_name("ais_bench")), "perf.py", "--mode", "perf"]
    return ["env", f"--chdir={folder}", "HF_HUB_OFFLINE=1", *command]


def aisbench_said(folder: Path) -> dict[str, dict[str, float]]:
    """Return the statistics of each metric that it wrote, in seconds."""
    (path,) = folder.glob(f"out/*/performances/{ABBR}/synthetic.csv")
    with open(path, encoding="utf-8", newline="") as file:
        rows = {row["Performance Parameters"].lower(): row for row in csv.DictReader(file)}
    return {
        metric: {stat: _seconds(rows[metric][column]) for stat, column in _STATS.items()}
        for metric in ("ttft", "itl", "tpot")
    }


def _seconds(text: str) -> float:
    """Read `15.6 ms`."""
    value, unit = text.split()
    if unit != "ms":
        raise ValueError(f"{text!r} is not in milliseconds")
    return float(value) / 1000
