"""57 subjects by what the model writes, after five solved questions in turns of a dialogue."""

from mmengine.config import read_base
from opencompass.datasets import MMLUDataset
from opencompass.openicl.icl_evaluator import AccwithDetailsEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever
from opencompass.utils.text_postprocessors import first_option_postprocess

with read_base():
    from .mmlu_subjects import mmlu_subjects, mmlu_summary_groups

mmlu_reader_cfg = dict(
    input_columns=["question", "A", "B", "C", "D"], output_column="answer", train_split="dev"
)

mmlu_datasets = []
for subject in mmlu_subjects:
    asked = (
        f"A question about {subject.replace('_', ' ')}. Reply with the letter of the right option.\n\n"
        "{question}\nA. {A}\nB. {B}\nC. {C}\nD. {D}"
    )
    turns = [dict(role="HUMAN", prompt=asked), dict(role="BOT", prompt="Answer: {answer}\n")]
    mmlu_datasets.append(
        dict(
            abbr=f"mmlu_{subject}",
            type=MMLUDataset,
            path="data/mmlu",
            name=subject,
            reader_cfg=mmlu_reader_cfg,
            infer_cfg=dict(
                ice_template=dict(type=PromptTemplate, template=dict(round=turns)),
                prompt_template=dict(
                    type=PromptTemplate,
                    template=dict(begin="</E>", round=turns),
                    ice_token="</E>",
                ),
                retriever=dict(type=FixKRetriever, fix_id_list=[0, 1, 2, 3, 4]),
                inferencer=dict(type=GenInferencer, max_out_len=32),
            ),
            eval_cfg=dict(
                evaluator=dict(type=AccwithDetailsEvaluator),
                pred_postprocessor=dict(type=first_option_postprocess, options="ABCD"),
            ),
        )
    )

summarizer = dict(summary_groups=mmlu_summary_groups)
