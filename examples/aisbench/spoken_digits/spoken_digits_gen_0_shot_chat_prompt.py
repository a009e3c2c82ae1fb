"""A question and a clip of sound."""

from ais_bench.benchmark.datasets import SpokenDigitsDataset, spoken_digits_postprocess
from ais_bench.benchmark.openicl.icl_evaluator import AccEvaluator
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template.icl_prompt_template_mm import MMPromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever

spoken_digits_reader_cfg = dict(input_columns=["content"], output_column="digit")

spoken_digits_infer_cfg = dict(
    prompt_template=dict(
        type=MMPromptTemplate,
        template=dict(
            round=[
                dict(
                    role="HUMAN",
                    prompt_mm={
                        "text": {"type": "text", "text": "{question} Reply with the figure alone."},
                        "audio": {"type": "audio_url", "audio_url": {"url": "file://{audio}"}},
                    },
                )
            ]
        ),
    ),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer, max_out_len=16),
)

spoken_digits_datasets = [
    dict(
        abbr="spoken_digits",
        type=SpokenDigitsDataset,
        path="ais_bench/datasets/spoken_digits",
        reader_cfg=spoken_digits_reader_cfg,
        infer_cfg=spoken_digits_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(type=AccEvaluator),
            pred_postprocessor=dict(type=spoken_digits_postprocess),
        ),
    )
]
