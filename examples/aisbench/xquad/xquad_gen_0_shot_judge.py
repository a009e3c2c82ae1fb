"""Free answers by a judge, in AISBench's way: `judge_infer_cfg` says how it is asked."""

from ais_bench.benchmark.datasets import XQuADDataset
from ais_bench.benchmark.datasets.utils.llm_judge import LLMJudgeCorrectEvaluator, get_a_or_b
from ais_bench.benchmark.models import VLLMCustomAPIChat
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever

GRADING = """
Passage: {passage}

Question: {question}

Right answer: {answer}

Answer of a candidate: {model_answer}

Does the candidate's answer say the same as the right one? Other words for the same thing are fine, a part of
it or something beside it is not. Reply with A for yes, with B for no, and with nothing else.
""".strip()

xquad_reader_cfg = dict(input_columns=["passage", "question"], output_column="answer")

xquad_infer_cfg = dict(
    prompt_template=dict(
        type=PromptTemplate,
        template=dict(
            round=[dict(role="HUMAN", prompt="Read this passage.\n\n{passage}\n\n{question} Answer briefly.")]
        ),
    ),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer, max_out_len=64),
)

xquad_judge_infer_cfg = dict(
    judge_reader_cfg=dict(
        input_columns=["passage", "question", "answer", "model_answer"], output_column="model_pred_uuid"
    ),
    judge_model=dict(
        attr="service",
        type=VLLMCustomAPIChat,
        abbr="judge",
        host_ip="localhost",
        host_port=8080,
        max_out_len=64,
        batch_size=8,
        generation_kwargs=dict(temperature=0.0),
    ),
    prompt_template=dict(
        type=PromptTemplate,
        template=dict(round=[dict(role="HUMAN", prompt=GRADING)]),
    ),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer),
)

xquad_datasets = [
    dict(
        abbr="xquad",
        type=XQuADDataset,
        path="ais_bench/datasets/xquad/xquad.en.json",
        reader_cfg=xquad_reader_cfg,
        infer_cfg=xquad_infer_cfg,
        judge_infer_cfg=xquad_judge_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(type=LLMJudgeCorrectEvaluator),
            pred_postprocessor=dict(type=get_a_or_b),
        ),
    )
]
