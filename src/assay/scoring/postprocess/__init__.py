"""Post-processors: from what a model wrote to its answer, by the names that task configs give them.

They know texts and nothing else: no samples, no metrics, no models. docs/metrics.md lists them.
"""

from collections.abc import Mapping

from assay.core.errors import listing, nearest
from assay.scoring.differences import Difference
from assay.scoring.postprocess import answers, code, exams, mathematics, numbers
from assay.scoring.postprocess.processor import PostProcessor

POSTPROCESSORS: Mapping[str, PostProcessor] = {
    "exact_match_post": answers.EXACT_MATCH,
    "bbh_post": answers.BBH,
    "until_return_post": answers.UNTIL_RETURN,
    "theoremqa_post": answers.THEOREM_QA,
    "arithmetic_post": numbers.ARITHMETIC,
    "gsm8k_post": numbers.GSM8K,
    "math_post": mathematics.MATH,
    "common_math_post": mathematics.COMMON_MATH,
    "agieval_cloze_post": mathematics.AGIEVAL_CLOZE,
    "mbpp_post": code.MBPP,
    "new_mbpp_post": code.NEW_MBPP,
    "humaneval_post": code.HUMANEVAL,
    "humaneval_chatgpt": code.HUMANEVAL_CHATGPT,
    "hellaswag_post": exams.HELLASWAG,
    "gaokao_single_choice_post": exams.GAOKAO_SINGLE,
    "gaokao_multi_question_choice_post": exams.GAOKAO_QUESTIONS,
    "gaokao_multi_choice_post": exams.GAOKAO_SEVERAL,
    "gaokao_five_out_of_seven_post": exams.GAOKAO_FIVE_OF_SEVEN,
    "agieval_single_answer_post": exams.AGIEVAL_SINGLE,
    "agieval_multiple_answer_post": exams.AGIEVAL_SEVERAL,
}
"""Every post-processor by its registered name."""

CORRECTED: Mapping[str, Difference] = {
    name: one.difference for name, one in POSTPROCESSORS.items() if one.difference is not None
}
"""Post-processors that do not return what the original does: (what the original does, what is done here)."""


def find_postprocessor(name: str) -> PostProcessor:
    """Return the post-processor of a name; ValueError that lists the names when there is none."""
    found = POSTPROCESSORS.get(name)
    if found is None:
        raise ValueError(
            f"there is no post-processor {name!r}{nearest(name, POSTPROCESSORS)}; "
            f"expected one of {listing(POSTPROCESSORS, at_most=len(POSTPROCESSORS))}"
        )
    return found


__all__ = ["CORRECTED", "POSTPROCESSORS", "Difference", "PostProcessor", "find_postprocessor"]
