"""IFEval: the percentage of followed instructions, and of prompts with all instructions followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, get_args

from assay.scoring.instructions.instruction import Strictness, check_instructions
from assay.scoring.instructions.language import require_langdetect
from assay.scoring.instructions.registry import read_rows
from assay.scoring.metrics.checks import check_lengths
from assay.scoring.metrics.list_metric import ListMetric


class IFEval(ListMetric):
    """Accuracy in following instructions, strict or loose; use both to get all four numbers.

    A reference is a whole row with `instruction_id_list` and `kwargs`. Two values are returned, in percent:

    - `IFEval(strict)`: instruction level, the followed instructions of all prompts divided by all
      instructions.
    - `IFEval(strict):Prompt`: prompt level, the prompts with every instruction followed divided by all
      prompts.

    The sample values are the share of its followed instructions, and 1 or 0. The mean of the shares is not
    the instruction-level value, where each instruction has equal weight, not each prompt.
    """

    scale: ClassVar[float] = 100.0

    def __init__(self, type: Strictness = "strict") -> None:
        if type not in get_args(Strictness):
            raise ValueError(f"IFEval's type must be 'strict' or 'loose', not {type!r}")
        require_langdetect()
        self.type: Strictness = type

    def __call__(
        self, predictions: Sequence[str], references: Sequence[Mapping[str, Any]]
    ) -> dict[str, float]:
        """Return both accuracies over all prompts."""
        check_lengths(self, predictions, references)
        followed = [
            check_instructions(instructions, prediction, self.type)
            for instructions, prediction in zip(read_rows(references), predictions, strict=True)
        ]
        name = f"IFEval({self.type})"
        by_prompt = f"{name}:Prompt"
        self.last_score_lists = {
            name: [sum(row) / len(row) for row in followed],
            by_prompt: [float(all(row)) for row in followed],
        }
        self.last_ratios[name] = [(float(sum(row)), float(len(row))) for row in followed]
        n_followed, n_instructions = sum(map(sum, followed)), sum(map(len, followed))
        n_passed = sum(map(all, followed))
        return {
            name: self.scale * n_followed / n_instructions,
            by_prompt: self.scale * n_passed / len(followed),
        }
