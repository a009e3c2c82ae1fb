"""57 subjects by likelihood: which letter makes the whole text the likeliest."""

from mmengine.config import read_base
from opencompass.datasets import MMLUDataset
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import PPLInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever

with read_base():
    from .mmlu_subjects import mmlu_subjects, mmlu_summary_groups

question = "{question}\nA. {A}\nB. {B}\nC. {C}\nD. {D}\nAnswer:"

mmlu_datasets = []
for subject in mmlu_subjects:
    head = f"Questions about {subject.replace('_', ' ')}, each with four options and the right one.\n\n"
    mmlu_datasets.append(
        dict(
            abbr=f"mmlu_{subject}",
            type=MMLUDataset,
            path="data/mmlu",
            name=subject,
            reader_cfg=dict(
                input_columns=["question", "A", "B", "C", "D"],
                output_column="answer",
                train_split="dev",
            ),
            infer_cfg=dict(
                ice_template=dict(
                    type=PromptTemplate,
                    template={letter: f"{question} {letter}\n" for letter in "ABCD"},
                ),
                prompt_template=dict(
                    type=PromptTemplate,
                    template={letter: f"{head}</E>{question} {letter}" for letter in "ABCD"},
                    ice_token="</E>",
                ),
                retriever=dict(type=FixKRetriever, fix_id_list=[0, 1, 2, 3, 4]),
                inferencer=dict(type=PPLInferencer),
            ),
            eval_cfg=dict(evaluator=dict(type=AccEvaluator)),
        )
    )
del subject, head

summarizer = dict(
    dataset_abbrs=[
        "mmlu_all",
        "mmlu_weighted",
        "mmlu_humanities",
        "mmlu_stem",
        "mmlu_social_sciences",
        "mmlu_other",
    ],
    summary_groups=mmlu_summary_groups,
)
