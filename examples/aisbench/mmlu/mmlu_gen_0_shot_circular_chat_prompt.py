"""Every question in four orders of its options: one that likes a letter is found out."""

from opencompass.datasets import CircularMMLUDataset
from opencompass.datasets.circular import CircularEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever
from opencompass.utils.text_postprocessors import first_option_postprocess

asked = "Reply with the letter of the right option.\n\n{question}\nA. {A}\nB. {B}\nC. {C}\nD. {D}"

mmlu_circular_datasets = [
    dict(
        abbr=f"mmlu_circular_{subject}",
        type=CircularMMLUDataset,
        path="data/mmlu",
        name=subject,
        reader_cfg=dict(input_columns=["question", "A", "B", "C", "D"], output_column="answer"),
        infer_cfg=dict(
            prompt_template=dict(
                type=PromptTemplate,
                template=dict(round=[dict(role="HUMAN", prompt=asked), dict(role="BOT", prompt="{answer}")]),
            ),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer, max_out_len=32),
        ),
        eval_cfg=dict(
            evaluator=dict(type=CircularEvaluator),
            pred_postprocessor=dict(type=first_option_postprocess, options="ABCD"),
        ),
    )
    for subject in ("astronomy", "philosophy", "sociology", "virology")
]
