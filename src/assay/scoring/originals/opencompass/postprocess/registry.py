"""Post-processors by config name, and how one is found with its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.difference import Difference
from assay.core.errors import listing, suggest_name
from assay.scoring.originals.opencompass.postprocess import (
    answers,
    code,
    marked,
    mathematics,
    options,
    word_problems,
)
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor, bind_arguments

ULTRAEVAL: Mapping[str, PostProcessor] = {
    "exact_match_post": answers.EXACT_MATCH,
    "bbh_post": answers.BBH,
    "until_return_post": answers.UNTIL_RETURN,
    "theoremqa_post": answers.THEOREM_QA,
    "arithmetic_post": word_problems.ARITHMETIC,
    "gsm8k_post": word_problems.ULTRAEVAL_GSM8K,
    "math_post": mathematics.ULTRAEVAL_MATH,
    "common_math_post": mathematics.COMMON_MATH,
    "agieval_cloze_post": mathematics.AGIEVAL_CLOZE,
    "mbpp_post": code.MBPP,
    "new_mbpp_post": code.NEW_MBPP,
    "humaneval_post": code.HUMANEVAL,
    "humaneval_chatgpt": code.HUMANEVAL_CHATGPT,
    "hellaswag_post": options.HELLASWAG,
    "gaokao_single_choice_post": options.GAOKAO_SINGLE,
    "gaokao_multi_question_choice_post": options.GAOKAO_QUESTIONS,
    "gaokao_multi_choice_post": options.GAOKAO_SEVERAL,
    "gaokao_five_out_of_seven_post": options.GAOKAO_FIVE_OF_SEVEN,
    "agieval_single_answer_post": options.AGIEVAL_SINGLE,
    "agieval_multiple_answer_post": options.AGIEVAL_SEVERAL,
}
"""Post-processors that UltraEval registers."""

OPENICL: Mapping[str, PostProcessor] = {
    "general": answers.GENERAL,
    "general_cn": answers.GENERAL_CHINESE,
    "first-capital": options.FIRST_CAPITAL,
    "last-capital": options.LAST_CAPITAL,
    "first-capital-multi": options.FIRST_CAPITAL_MULTI,
    "multiple-select": options.MULTIPLE_SELECT,
    "my_multiple_select_postprocess": options.SEEDBENCH_MULTIPLE_SELECT,
    "first_option_postprocess": options.FIRST_OPTION,
    "first_option_postprocess_v1": options.FIRST_OPTION_V1,
    "last_option_postprocess": options.LAST_OPTION,
    "GPQA_Simple_Eval_postprocess": options.GPQA,
    "aisbench:GPQA_Simple_Eval_postprocess": options.GPQA_OF_AISBENCH,
    "bbh-mcq": options.BBH_MCQ,
    "charm-reason": options.BBH_MCQ,
    "crowspairs_postprocess": options.CROWSPAIRS,
    "get_a_or_b": options.JUDGED_A_OR_B,
    "think_pred": marked.THINK_PRED,
    "match_answer_pattern": marked.MATCH_ANSWER_PATTERN,
    "specific-xml-tag": marked.SPECIFIC_XML_TAG,
    "extract-non-reasoning-content": marked.NON_REASONING,
    "extract-non-reasoning-content-raw": marked.NON_REASONING_RAW,
    "keep-reasoning-content": marked.KEEP_REASONING,
    "first_number_postprocess": word_problems.FIRST_NUMBER,
    "InfiniteBench_first_number_postprocess": word_problems.FIRST_NUMBER_PLAIN,
    "gsm8k": word_problems.GSM8K,
    "gsm8k_dataset": word_problems.GSM8K_GOLD,
    "gsm100": word_problems.GSM100,
    "gsm100_dataset": word_problems.GSM100_GOLD,
    "mgsm_postprocess": word_problems.MGSM,
    "mathbench_postprocess": word_problems.MATHBENCH,
    "compassbench_objective_v1_3_postprocess": word_problems.MATHBENCH,
    "scibench": word_problems.SCIBENCH,
    "math_postprocess": mathematics.MATH,
    "math_postprocess_v2": mathematics.MATH_V2,
    "math_judement_preprocess": mathematics.MATH_JUDGED,
    "dapo_math_postprocess": mathematics.DAPO,
    "dapo_math_postprocess_v2": mathematics.DAPO_BOXED,
    "needlebench_atc_postprocess_v2": mathematics.NEEDLEBENCH_NAME,
    "olympiadbench_postprocess_v2": mathematics.OLYMPIADBENCH,
    "TheoremQA": answers.THEOREM_QA,
    "TheoremQA_postprocess_v2": answers.THEOREM_QA_V2,
    "TheoremQA_postprocess_v3": mathematics.THEOREM_QA_V3,
    "TheoremQA_postprocess_v4": mathematics.THEOREM_QA_V4,
    "bbh-freeform": answers.BBH_FREEFORM,
    "aisbench:bbh-freeform": answers.BBH_FREEFORM_OF_AISBENCH,
    "bbeh_freeform": answers.BBEH_FREEFORM,
    "bbeh_mcq": answers.BBEH_MCQ,
    "strategyqa": answers.STRATEGYQA,
    "strategyqa_dataset": answers.STRATEGYQA_GOLD,
    "cmrc": answers.CHINESE_SPAN,
    "drcd": answers.CHINESE_SPAN,
    "chinese_simpleqa_preprocess": answers.CHINESE_SIMPLEQA,
    "game24_postprocess": answers.GAME24,
    "teval": answers.TEVAL,
    "Xsum": answers.FIRST_LINE,
    "lcsts": answers.LCSTS,
    "flores": answers.FLORES,
    "flores-chinese": answers.FLORES_CHINESE,
    "ReCoRD": answers.RECORD,
    "trec_postprocess": answers.LONGBENCH,
    "lsht_postprocess": answers.LONGBENCH,
    "samsum_postprocess": answers.LONGBENCH,
    "triviaqa_postprocess": answers.LONGBENCH,
    "needlebench": answers.WHOLE,
    "needlebench_dataset": answers.WHOLE,
    "humaneval_postprocess_v2": code.HUMANEVAL_V2,
    "humaneval_postprocess_v3": code.HUMANEVAL_V3,
    "humaneval_internal_v1_postprocess": code.HUMANEVAL_INTERNAL_V1,
    "humaneval_internal_v2_postprocess": code.HUMANEVAL_INTERNAL_V2,
    "MBPPEvaluator": code.MBPP_EVALUATOR,
    "MBPPEvaluator2": code.MBPP_EVALUATOR_2,
    "ds1000": code.DS1000,
    "ds1000_completion": code.DS1000_COMPLETION,
    "ds1000_matplotlib": code.DS1000_MATPLOTLIB,
    "cruxeval_o_postprocess": code.CRUXEVAL_OUTPUT,
    "refcoco_bbox_1000": word_problems.REFCOCO_BOX,
    "get_lmm_point_list": word_problems.POINTS,
}
"""Post-processors of OpenCompass and AISBench; `aisbench:` marks AISBench's if the two differ."""

ALIASES: Mapping[str, str] = {
    "general_postprocess": "general",
    "general_cn_postprocess": "general_cn",
    "first_capital_postprocess": "first-capital",
    "last_capital_postprocess": "last-capital",
    "first_capital_postprocess_multi": "first-capital-multi",
    "multiple_select_postprocess": "multiple-select",
    "think_pred_postprocess": "think_pred",
    "xml_tag_postprocessor": "specific-xml-tag",
    "extract_non_reasoning_content": "extract-non-reasoning-content",
    "extract_non_reasoning_content_raw": "extract-non-reasoning-content-raw",
    "keep_reasoning_content": "keep-reasoning-content",
    "gsm8k_postprocess": "gsm8k",
    "gsm8k_dataset_postprocess": "gsm8k_dataset",
    "gsm100_postprocess": "gsm100",
    "gsm100_dataset_postprocess": "gsm100_dataset",
    "scibench_postprocess": "scibench",
    "TheoremQA_postprocess": "TheoremQA",
    "bbh_mcq_postprocess": "bbh-mcq",
    "bbh_freeform_postprocess": "bbh-freeform",
    "aisbench:bbh_freeform_postprocess": "aisbench:bbh-freeform",
    "bbeh_mcq_postprocess": "bbeh_mcq",
    "bbeh_freeform_postprocess": "bbeh_freeform",
    "charm_reason_postprocess": "charm-reason",
    "strategyqa_pred_postprocess": "strategyqa",
    "strategyqa_dataset_postprocess": "strategyqa_dataset",
    "cmrc_postprocess": "cmrc",
    "drcd_postprocess": "drcd",
    "teval_postprocess": "teval",
    "Xsum_postprocess": "Xsum",
    "lcsts_postprocess": "lcsts",
    "flores_postprocess": "flores",
    "flores_postprocess_chinese": "flores-chinese",
    "ReCoRD_postprocess": "ReCoRD",
    "needlebench_postprocess": "needlebench",
    "needlebench_dataset_postprocess": "needlebench_dataset",
    "ds1000_postprocess": "ds1000",
    "ds1000_completion_postprocess": "ds1000_completion",
    "ds1000_matplotlib_postprocess": "ds1000_matplotlib",
    "refcoco_bbox_postprocess": "refcoco_bbox_1000",
}
"""Names of functions that configs import, if they are registered under another name."""

POSTPROCESSORS: Mapping[str, PostProcessor] = {**ULTRAEVAL, **OPENICL}
"""Every post-processor by its registered name, or by its function's name if it is not registered."""

CORRECTED: Mapping[str, Difference[object]] = {
    name: one.difference for name, one in POSTPROCESSORS.items() if one.difference is not None
}
"""Post-processors whose results differ from the original's."""

CORRECTED_BY_ANY_NAME: Mapping[str, Difference[object]] = {
    **CORRECTED,
    **{alias: CORRECTED[name] for alias, name in ALIASES.items() if name in CORRECTED},
}
"""The same, including the functions' names."""

_TYPE = "type"


def postprocessor_name(config: str | Mapping[str, Any]) -> str:
    """Return the registered name for a config value: a name, or an object whose `type` is one."""
    given = config if isinstance(config, str) else config.get(_TYPE)
    if not isinstance(given, str):
        raise ValueError(f'the post-processor {config!r:.80} has no "type"; expected a name there')
    name = ALIASES.get(given, given)
    if name not in POSTPROCESSORS:
        known = (*POSTPROCESSORS, *ALIASES)
        raise ValueError(
            f"unknown post-processor {given!r}{suggest_name(given, known)}; "
            f"expected one of {listing(POSTPROCESSORS)}, which docs/reference/metrics.md lists"
        )
    return name


def find_postprocessor(config: str | Mapping[str, Any]) -> PostProcessor:
    """Return the post-processor that a config names, with the arguments next to its `type`.

    ValueError if the name or an argument is wrong, or a required package is missing.
    """
    name = postprocessor_name(config)
    given = {} if isinstance(config, str) else {key: value for key, value in config.items() if key != _TYPE}
    return bind_arguments(name, POSTPROCESSORS[name], given)
