"""Free answers by exact match and F1: an evaluator of our own, with several metrics and details."""

from ais_bench.benchmark.datasets import XQuADDataset, XQuADEvaluator, xquad_postprocess
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever

xquad_reader_cfg = dict(input_columns=["passage", "question"], output_column="answers")

xquad_infer_cfg = dict(
    prompt_template=dict(
        type=PromptTemplate,
        template="Answer with words of the passage.\n\nPassage: {passage}\nQuestion: {question}\nAnswer:",
    ),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer, max_out_len=48, stopping_criteria=["\n\n"]),
)

xquad_datasets = [
    dict(
        abbr="xquad",
        type=XQuADDataset,
        path="ais_bench/datasets/xquad/xquad.en.json",
        reader_cfg=xquad_reader_cfg,
        infer_cfg=xquad_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(type=XQuADEvaluator),
            pred_postprocessor=dict(type=xquad_postprocess),
        ),
    )
]
