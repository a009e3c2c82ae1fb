"""A picture and a question; the row says which parts there are, the template how each is written."""

from ais_bench.benchmark.datasets import EasyVQADataset, EasyVQAEvaluator, easy_vqa_postprocess
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template.icl_prompt_template_mm import MMPromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever

easy_vqa_reader_cfg = dict(input_columns=["content"], output_column="answer")

easy_vqa_infer_cfg = dict(
    prompt_template=dict(
        type=MMPromptTemplate,
        template=dict(
            round=[
                dict(
                    role="HUMAN",
                    prompt_mm={
                        "text": {
                            "type": "text",
                            "text": "Look at the picture: {question} Answer in one word.",
                        },
                        "image": {"type": "image_url", "image_url": {"url": "file://{image}"}},
                    },
                )
            ]
        ),
    ),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer, max_out_len=16),
)

easy_vqa_datasets = [
    dict(
        abbr="easy_vqa",
        type=EasyVQADataset,
        path="ais_bench/datasets/easy_vqa",
        reader_cfg=easy_vqa_reader_cfg,
        infer_cfg=easy_vqa_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(type=EasyVQAEvaluator),
            pred_postprocessor=dict(type=easy_vqa_postprocess),
        ),
    )
]
