from ais_bench.benchmark.datasets import MooncakeTraceDataset
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever

trace_datasets = [
    dict(
        abbr="trace",
        type=MooncakeTraceDataset,
        path="nowhere.jsonl",
        reader_cfg=dict(input_columns=["prompt", "timestamp", "max_out_len"], output_column="answer"),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template="{prompt}"),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer),
        ),
    )
]
