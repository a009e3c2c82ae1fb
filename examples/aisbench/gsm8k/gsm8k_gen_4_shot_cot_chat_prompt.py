"""Four problems of our own, solved in turns of a dialogue, stand before each question."""

from ais_bench.benchmark.datasets import (
    GSM8KDataset,
    Gsm8kEvaluator,
    gsm8k_dataset_postprocess,
    gsm8k_postprocess,
)
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever

# Problems of our own, solved as the model should solve the next one.
SOLVED = [
    (
        "A bakery fills 6 trays with 8 rolls each. By noon 31 rolls are sold. How many rolls are left?",
        "The bakery makes 6 * 8 = 48 rolls.\nAfter 31 are sold, 48 - 31 = 17 are left.\nThe answer is 17",
    ),
    (
        "Mina reads 12 pages on Monday and three times as many on Tuesday. Her book has 90 pages. "
        "How many pages does she still have to read?",
        "On Tuesday she reads 3 * 12 = 36 pages.\nIn both days she reads 12 + 36 = 48 pages.\n"
        "There are 90 - 48 = 42 pages left.\nThe answer is 42",
    ),
    (
        "A taxi costs $4 to enter and $1.50 for each mile. How many dollars does a ride of 10 miles cost?",
        "The miles cost 10 * 1.50 = 15 dollars.\nWith the $4 to enter that is 15 + 4 = 19 dollars.\n"
        "The answer is 19",
    ),
    (
        "Half of the 240 seats of a theatre are taken. Then a class of 35 comes in. How many seats are free?",
        "Half of 240 is 240 / 2 = 120, so 120 seats are free.\nThe class takes 35 of them: 120 - 35 = 85.\n"
        "The answer is 85",
    ),
]
ASKED = "Problem: {question}\nWork it out step by step. End with the words: The answer is N"

gsm8k_reader_cfg = dict(input_columns=["question"], output_column="answer")

gsm8k_infer_cfg = dict(
    prompt_template=dict(
        type=PromptTemplate,
        template=dict(
            round=[
                turn
                for question, solution in SOLVED
                for turn in (
                    dict(role="HUMAN", prompt=ASKED.replace("{question}", question)),
                    dict(role="BOT", prompt=solution + "\n"),
                )
            ]
            + [dict(role="HUMAN", prompt=ASKED)],
        ),
    ),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer, max_out_len=512, stopping_criteria=["Problem:"]),
)

gsm8k_eval_cfg = dict(
    evaluator=dict(type=Gsm8kEvaluator),
    pred_postprocessor=dict(type=gsm8k_postprocess),
    dataset_postprocessor=dict(type=gsm8k_dataset_postprocess),
)

gsm8k_datasets = [
    dict(
        abbr="gsm8k_4_shot_chat",
        type=GSM8KDataset,
        path="ais_bench/datasets/gsm8k",
        reader_cfg=gsm8k_reader_cfg,
        infer_cfg=gsm8k_infer_cfg,
        eval_cfg=gsm8k_eval_cfg,
    )
]
