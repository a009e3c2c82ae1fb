"""Two questions, the second after the answer to the first; a judge grades the conversation from 1 to 10."""

from ais_bench.benchmark.datasets import MTBenchDataset
from ais_bench.benchmark.openicl.icl_inferencer import MultiTurnGenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import MultiTurnPromptTemplate, PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever
from opencompass.datasets import mtbench_postprocess
from opencompass.openicl.icl_evaluator import LMEvaluator

GRADING = """
A person asked an assistant two questions, one after the other. Grade the whole conversation: are the answers
right, helpful and complete, and does the second one take the first into account? Give reasons in a sentence
or two, then a grade from 1 (useless) to 10 (could not be better), written like this: Rating: [[5]]

{reference_answers}First question: {question_1}

First answer: {prediction_r1}

Second question: {question_2}

Second answer: {prediction_r2}
""".strip()

mt_bench_reader_cfg = dict(
    input_columns=["question", "answer", "question_1", "question_2", "reference_answers"],
    output_column="answer",
)

mt_bench_infer_cfg = dict(
    prompt_template=dict(
        type=MultiTurnPromptTemplate,
        template=dict(
            round=[
                dict(role="HUMAN", prompt="{question}"),
                dict(role="BOT", prompt="{answer}"),
            ]
        ),
    ),
    retriever=dict(type=ZeroRetriever),
    # The model's own first answer stands before the second question.
    inferencer=dict(type=MultiTurnGenInferencer, infer_mode="every", max_out_len=1024),
)

mt_bench_eval_cfg = dict(
    evaluator=dict(
        type=LMEvaluator,
        prompt_template=dict(
            type=PromptTemplate,
            template=dict(
                begin=[
                    dict(
                        role="SYSTEM",
                        fallback_role="HUMAN",
                        prompt="You grade conversations, strictly and fairly.",
                    )
                ],
                round=[dict(role="HUMAN", prompt=GRADING)],
            ),
        ),
        dict_postprocessor=dict(type=mtbench_postprocess),
    ),
    pred_role="BOT",
)

mt_bench_datasets = [
    dict(
        abbr="mt_bench",
        type=MTBenchDataset,
        path="ais_bench/datasets/mt_bench/mt_bench",
        references="gpt-4",
        reader_cfg=mt_bench_reader_cfg,
        infer_cfg=mt_bench_infer_cfg,
        eval_cfg=mt_bench_eval_cfg,
    )
]
