"""A judge compares the result at which the model arrives with the right one."""

from opencompass.datasets import GSM8KDataset, generic_llmjudge_postprocess
from opencompass.evaluator import GenericLLMEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

GRADING = """
You are given a problem, its right result, and what a student wrote. Compare the result at which the student
arrives with the right one. Do not solve the problem. Units, a thousands separator, and how the result is
worded make no difference; a text without a result is wrong.

Problem: {question}

Right result: {number}

The student wrote:
{prediction}

Reply with one letter. A: the student's result is right. B: it is wrong.
""".strip()

gsm8k_reader_cfg = dict(input_columns=["question"], output_column="number")

gsm8k_infer_cfg = dict(
    prompt_template=dict(
        type=PromptTemplate,
        template=dict(
            round=[dict(role="HUMAN", prompt="{question}\nThink step by step, then state the result.")]
        ),
    ),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer, max_out_len=512),
)

judge_evaluator = dict(
    type=GenericLLMEvaluator,
    prompt_template=dict(
        type=PromptTemplate,
        template=dict(
            begin=[
                dict(
                    role="SYSTEM",
                    fallback_role="HUMAN",
                    prompt="You check results, fairly and in one letter.",
                )
            ],
            round=[dict(role="HUMAN", prompt=GRADING)],
        ),
    ),
    dataset_cfg=dict(type=GSM8KDataset, path="opencompass/gsm8k", reader_cfg=gsm8k_reader_cfg),
    judge_cfg=dict(),
    dict_postprocessor=dict(type=generic_llmjudge_postprocess),
)

gsm8k_datasets = [
    dict(
        abbr="gsm8k_judge",
        type=GSM8KDataset,
        path="data/gsm8k",
        reader_cfg=gsm8k_reader_cfg,
        infer_cfg=gsm8k_infer_cfg,
        eval_cfg=dict(evaluator=judge_evaluator),
    )
]
