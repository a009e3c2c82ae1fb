from ais_bench.benchmark.datasets import QuestionsDataset
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import CLPInferencer, GenInferencer, PPLInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever
from opencompass.utils.text_postprocessors import first_option_postprocess

LETTERS = "ABCD"
asked = "Question: {question}\nA. {A}\nB. {B}\nC. {C}\nD. {D}\nAnswer: {answer}"
options = {letter: f"Question: {{question}}\nAnswer: {{{letter}}}" for letter in LETTERS}


def shown(template):
    return dict(type=PromptTemplate, template=template)


def beneath(template):
    """The template below the examples."""
    with_examples = (
        {label: f"</E>{text}" for label, text in template.items()}
        if isinstance(template, dict)
        else f"</E>{template}"
    )
    return dict(type=PromptTemplate, template=with_examples, ice_token="</E>")


questions_datasets = [
    dict(
        abbr=abbr,
        type=QuestionsDataset,
        path=".",
        reader_cfg=dict(input_columns=["question", *LETTERS], output_column="answer"),
        infer_cfg=dict(
            ice_template=shown(template),
            prompt_template=beneath(template),
            retriever=dict(
                type=FixKRetriever, fix_id_list=[0, 1], ice_separator="\n\n", ice_eos_token="\n\n"
            ),
            inferencer=dict(type=inferencer),
        ),
        eval_cfg=dict(
            evaluator=dict(type=AccEvaluator),
            pred_postprocessor=dict(type=first_option_postprocess, options=LETTERS),
        ),
    )
    for abbr, template, inferencer in (
        ("texts", options, PPLInferencer),
        ("letters", asked, CLPInferencer),
        ("writing", asked, GenInferencer),
    )
]
