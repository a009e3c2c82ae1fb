"""A rule first: what math-verify accepts is right, and the judge is asked about the rest alone."""

from mmengine.config import read_base
from opencompass.evaluator import CascadeEvaluator, MATHVerifyEvaluator

with read_base():
    from .gsm8k_gen_0_shot_cot_judge import gsm8k_datasets, judge_evaluator

for dataset in gsm8k_datasets:
    dataset["abbr"] = "gsm8k_cascade"
    dataset["infer_cfg"]["prompt_template"]["template"]["round"][0]["prompt"] = (
        "{question}\nThink step by step, then write the result as \\boxed{}."
    )
    dataset["eval_cfg"] = dict(
        evaluator=dict(
            type=CascadeEvaluator,
            rule_evaluator=dict(type=MATHVerifyEvaluator),
            llm_evaluator=judge_evaluator,
            parallel=False,
        )
    )
