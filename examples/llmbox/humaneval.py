r"""HumanEval: write the body of a Python function from its signature and docstring.

A row: {"task_id": "HumanEval/0", "entry_point": "has_close_elements",
        "prompt": "from typing import List\n\n\ndef has_close_elements(...) -> bool:\n    \"\"\" Check ...",
        "canonical_solution": "    for idx, elem in enumerate(numbers): ...",
        "test": "def check(candidate):\n    assert candidate([1.0, 2.0, 3.9, 4.0, 5.0, 2.2], 0.3) ..."}

The code runs in a sandbox. `--samples 20 --dataset-arg pass_at_k=10` estimates pass@10 from 20 samples.
"""

import re
from functools import cached_property

from ..metric import PassAtK
from .generation_dataset import GenerationDataset

FENCED = re.compile(r"```(?:python|py)?\n(.*?)(?:```|\Z)", re.DOTALL)
AFTER_FUNCTION = ["\nclass ", "\ndef ", "\n#", "\nif ", "\nprint("]


class HumanEval(GenerationDataset):
    """A base model goes on with the function; a chat model writes it again, in a fenced block."""

    instruction = "{prompt}"
    metrics = [PassAtK(k=1)]
    load_args = ("openai_humaneval",)
    evaluation_set = "test"
    extra_model_args = dict(max_tokens=512)

    def init_arguments(self):
        # One sample is the best guess; of several, each should be another one.
        self.extra_model_args["temperature"] = 0.8 if self.sample_num > 1 else 0
        if self.model_type == "chat":
            self.instruction = "Complete this Python function. Answer with the whole function.\n\n{prompt}"
        else:
            # Whatever begins a new block belongs to the function no more.
            self.extra_model_args["stop"] = AFTER_FUNCTION

    def format_instance(self, instance):
        return dict(prompt=instance["prompt"])

    def post_processing(self, predictions):
        return [_code(text) for text in predictions]

    @cached_property
    def references(self):
        # A docstring alone is a valid body, so a whole function may follow as well.
        return [
            f"{instance['prompt']}{{pred}}\n\n{instance['test']}\n\ncheck({instance['entry_point']})\n"
            for instance in self.evaluation_data
        ]


def _code(text):
    fenced = FENCED.search(text)
    return fenced[1] if fenced else text
