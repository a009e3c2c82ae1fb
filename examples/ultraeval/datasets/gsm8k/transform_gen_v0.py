"""A word problem. An example shows the whole solution; a reply is compared by its number alone."""

import random
import re

from UltraEval.tasks.postprocess import GSM8KPost

CALCULATOR_NOTE = re.compile(r"<<[^>]*>>")
number_of = GSM8KPost()


def transform(data, num_sample: int, r: random.Random, dataset_name: str):
    """Return the prompt of a row, its solution in an example, and the number a reply must end in."""
    # The data notes what a calculator was asked: `<<48/2=24>>`. A model should not learn to write that.
    solution = CALCULATOR_NOTE.sub("", data["answer"])
    _, number = number_of([], solution)
    return {
        "input": f"Problem: {data['question']}\nSolution:",
        "output": f" {solution}",
        "processed_output": number,
    }
