"""The names of the values that evaluators return, for code that needs them before evaluation."""

from __future__ import annotations

from collections.abc import Mapping

_ACCURACY = ("accuracy",)
_SCORE = ("score",)

VALUE_NAMES: Mapping[str, tuple[str, ...]] = {
    "AccEvaluator": _ACCURACY,
    "AccwithDetailsEvaluator": _ACCURACY,
    "AccContaminationEvaluator": (
        "accuracy - clean",
        "accuracy - input contaminated",
        "accuracy - input-and-label contaminated",
    ),
    "EDAccEvaluator": _ACCURACY,
    "GPQAEvaluator": _ACCURACY,
    "BBHEvaluator": _SCORE,
    "BBHEvaluator_mcq": _SCORE,
    "EMEvaluator": _SCORE,
    "FreeAnswerEvaluator": _ACCURACY,
    "LEvalEMEvaluator": _ACCURACY,
    "TriviaQAEvaluator": _SCORE,
    "NQEvaluator": _SCORE,
    "SQuAD20Evaluator": _SCORE,
    "DropOpenAIEvaluator": _ACCURACY,
    "LambadaEvaluator": _ACCURACY,
    "SquadEvaluator": ("f1",),
    "RougeEvaluator": ("rouge1", "rouge2", "rougeL", "rougeLsum"),
    "JiebaRougeEvaluator": ("rouge1", "rouge2", "rougeL"),
    "BleuEvaluator": _SCORE,
    "BleuFloresEvaluator": _SCORE,
    "MccEvaluator": ("matthews_correlation",),
    "AUCROCEvaluator": ("auc_score", "accuracy"),
    "BBoxIoUEvaluator": ("Accuracy@0.5",),
    "AveragePPLEvaluator": ("average_ppl",),
    "AverageMinKEvaluator": ("average_mink",),
    "AverageInferencePPLEvaluator": ("average_ppl",),
    "BPCEvaluator": ("bpc",),
    "CircularEvaluator": ("acc_1", "acc_4", "perf_4", "vote_4"),
    "datasets.CircularEvaluator": ("acc_origin", "acc_circular", "perf_circular"),
    "OptionSimAccEvaluator": _ACCURACY,
    "CircularOptionSimAccEvaluator": ("acc_origin", "acc_circular", "perf_circular"),
    "Gsm8kEvaluator": _ACCURACY,
    "MATHEvaluator": _ACCURACY,
    "MATHVerifyEvaluator": _ACCURACY,
    "HumanEvalEvaluator": ("humaneval_pass@1",),
    "MBPPEvaluator": _SCORE,
    "MBPPEvaluator2": _SCORE,
    "MBPPPassKEvaluator": ("pass@1",),
    "IFEvaluator": (
        "Prompt-level-strict-accuracy",
        "Inst-level-strict-accuracy",
        "Prompt-level-loose-accuracy",
        "Inst-level-loose-accuracy",
    ),
    "CascadeEvaluator": ("accuracy", "rule_accuracy", "llm_accuracy"),
}
"""By evaluator name, with its usual arguments; of many values only the main ones."""
