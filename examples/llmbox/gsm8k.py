r"""GSM8K: word problems from grade school, answered by a number.

A row: {"question": "Natalia sold clips to 48 of her friends ...",
        "answer": "Natalia sold 48/2 = <<48/2=24>>24 clips in May.\n...\n#### 72"}

Shots are rows of the train split, answered by the bare number. With `--cot base` they are the problems below,
which think before they answer.
"""

import re
from functools import cached_property

from ..metric import Accuracy
from .generation_dataset import GenerationDataset

EXEMPLARS = [
    {
        "question": "A baker fills 6 trays with 8 rolls each. By noon 19 rolls are sold. How many are left?",
        "answer": "The baker makes 6 * 8 = 48 rolls. After 19 are sold, 48 - 19 = 29 are left.\n#### 29",
    },
    {
        "question": "Ida reads 12 pages a day. Her book has 300 pages, of which she has read 60. "
        "How many more days does she need?",
        "answer": "Ida has 300 - 60 = 240 pages to go. At 12 pages a day this takes "
        "240 / 12 = 20 days.\n#### 20",
    },
    {
        "question": "A ticket costs $9, and half of that for children. What do 2 parents with 4 children "
        "pay?",
        "answer": "A child pays 9 / 2 = 4.5 dollars. The parents pay 2 * 9 = 18 dollars and the children "
        "4 * 4.5 = 18 dollars, so together 18 + 18 = 36 dollars.\n#### 36",
    },
    {
        "question": "Tom has twice as many stamps as Ana. Together they have 1,200. How many does Tom have?",
        "answer": "Two parts are Tom's and one is Ana's, so one part is 1200 / 3 = 400 stamps. Tom has "
        "2 * 400 = 800.\n#### 800",
    },
]


class Gsm8k(GenerationDataset):
    """The last number of what the model writes is its answer."""

    instruction = "Answer the following question.\n\nQuestion: {question}\nAnswer:"
    metrics = [Accuracy()]
    load_args = ("gsm8k", "main")
    evaluation_set = "test"
    example_set = "train"
    supported_cot = ["base"]
    extra_model_args = dict(temperature=0, max_tokens=512, stop=["\nQuestion:"])

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        super().load_raw_dataset(dataset_path, subset_name, evaluation_set, example_set)
        if self.cot == "base":
            self.example_data = EXEMPLARS

    def format_instance(self, instance):
        solution, _, number = instance["answer"].partition("\n#### ")
        # Marks such as <<48/2=24>> are for a calculator, not for a reader.
        solution = re.sub(r"<<[^>]*>>", "", solution)
        target = f"{solution} So the answer is {number}." if self.cot else number
        return dict(question=instance["question"], target=target)

    def post_processing(self, predictions):
        return [_last_number(text) for text in predictions]

    @cached_property
    def references(self):
        return [_last_number(instance["answer"]) for instance in self.evaluation_data]


def _last_number(text):
    numbers = re.findall(r"-?\d*\.?\d+", re.sub(r"(?<=\d),(?=\d)", "", text))
    return re.sub(r"\.0+$", "", numbers[-1]) if numbers else ""
