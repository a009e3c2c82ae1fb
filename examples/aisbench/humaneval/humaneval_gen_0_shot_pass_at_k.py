"""Four programs for each function: pass@k is the chance that one of k passes the tests."""

from opencompass.datasets import HumanevalDataset, HumanEvalEvaluator, humaneval_postprocess_v2
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

humaneval_reader_cfg = dict(input_columns=["prompt"], output_column="task_id")

humaneval_infer_cfg = dict(
    prompt_template=dict(
        type=PromptTemplate,
        template=dict(
            round=[
                dict(
                    role="HUMAN",
                    prompt="Write the rest of this function. Reply with all of it in a block of code.\n\n"
                    "{prompt}",
                )
            ]
        ),
    ),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer, max_out_len=512, temperature=0.8),
)

humaneval_eval_cfg = dict(
    evaluator=dict(type=HumanEvalEvaluator),
    pred_postprocessor=dict(type=humaneval_postprocess_v2),
)

humaneval_datasets = [
    dict(
        abbr="humaneval",
        type=HumanevalDataset,
        path="data/humaneval/HumanEval.jsonl.gz",
        reader_cfg=humaneval_reader_cfg,
        infer_cfg=humaneval_infer_cfg,
        eval_cfg=humaneval_eval_cfg,
        n=4,
        k=[1, 2, 4],
    )
]
