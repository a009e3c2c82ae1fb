"""What transform scripts import from the original's package: its post-processors as classes.

A script applies them to right answers, so that these have the form of post-processed model answers. A class
has no constructor arguments; its object takes the raw and the processed outputs of the model, and returns
both, the second as a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class PostProcess(Protocol):
    """Finds the answer in a text."""

    def __call__(self, text: str, faithful: bool = False) -> str | None:
        """Return the answer, with `faithful` as the original does; None without an answer."""


_CLASSES = {
    "AGIEvalClozePost": "agieval_cloze_post",
    "AGIEvalMultipleAnswerPost": "agieval_multiple_answer_post",
    "AGIEvalSingleAnswerPost": "agieval_single_answer_post",
    "ArithmeticPost": "arithmetic_post",
    "BBHPost": "bbh_post",
    "CommonMathPost": "common_math_post",
    "ExactMatchPost": "exact_match_post",
    "GSM8KPost": "gsm8k_post",
    "GaoKaoFiveOutOfSevenPost": "gaokao_five_out_of_seven_post",
    "GaoKaoMultiChoicePost": "gaokao_multi_choice_post",
    "GaoKaoMultiQuestionChoicePost": "gaokao_multi_question_choice_post",
    "GaoKaoSingleChoicePost": "gaokao_single_choice_post",
    "HellaSwagPost": "hellaswag_post",
    "HumanEvalGPT": "humaneval_chatgpt",
    "HumanEvalPost": "humaneval_post",
    "MathPost": "math_post",
    "MbppPost": "mbpp_post",
    "NewMbppPost": "new_mbpp_post",
    "TheoremQAPost": "theoremqa_post",
    "UntilReturnPost": "until_return_post",
}
"""Class names that scripts import, and the registered names of their functions."""


def namespaces(postprocessors: Mapping[str, PostProcess], *, is_faithful: bool) -> dict[str, dict[str, Any]]:
    """Return the modules that scripts import from."""
    classes: dict[str, Any] = {
        name: _class(name, postprocessors[registered], is_faithful) for name, registered in _CLASSES.items()
    }
    # In a checkout the package is importable by its own name and from inside.
    return {"UltraEval.tasks.postprocess": classes, "tasks.postprocess": classes}


def _class(name: str, process: PostProcess, is_faithful: bool) -> type:
    def call(_: object, raw_outputs: Any, processed_outputs: str | Sequence[str]) -> tuple[Any, list[str]]:
        texts = [processed_outputs] if isinstance(processed_outputs, str) else processed_outputs
        return raw_outputs, [_process_text(text) for text in texts]

    def _process_text(text: str) -> str:
        answer = process(text, is_faithful)
        # A right answer must not become empty.
        return text.strip() if answer is None else answer

    return type(name, (), {"__call__": call})
