"""Four solved problems of the train split before each question: the same for all rows, or others for each."""

from ais_bench.benchmark.datasets import GSM8KDataset, Gsm8kEvaluator, gsm8k_postprocess
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import FixKRetriever, RandomRetriever

gsm8k_reader_cfg = dict(input_columns=["question", "steps"], output_column="number")

gsm8k_eval_cfg = dict(
    evaluator=dict(type=Gsm8kEvaluator),
    pred_postprocessor=dict(type=gsm8k_postprocess),
)

gsm8k_datasets = [
    dict(
        abbr=abbr,
        type=GSM8KDataset,
        path="ais_bench/datasets/gsm8k",
        reader_cfg=gsm8k_reader_cfg,
        infer_cfg=dict(
            ice_template=dict(
                type=PromptTemplate,
                template="Question: {question}\nAnswer: {steps}\nThe answer is {number}\n",
            ),
            prompt_template=dict(
                type=PromptTemplate,
                template="</E>Question: {question}\nAnswer:",
                ice_token="</E>",
            ),
            retriever=retriever,
            inferencer=dict(type=GenInferencer, max_out_len=512, stopping_criteria=["Question:"]),
        ),
        eval_cfg=gsm8k_eval_cfg,
    )
    for abbr, retriever in (
        # The same four problems for every row, and four others for each.
        ("gsm8k_4_shot_fixed", dict(type=FixKRetriever, fix_id_list=[0, 1, 2, 3])),
        ("gsm8k_4_shot_random", dict(type=RandomRetriever, ice_num=4, seed=7)),
    )
]
