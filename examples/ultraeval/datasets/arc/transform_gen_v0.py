"""Options as `A. text`, answered by the bare letter."""

import random


def transform(data, num_sample: int, r: random.Random, dataset_name: str):
    """Return the prompt of a row, its answer in an example, and what a reply is compared with."""
    options = "".join(f"{chr(65 + i)}. {option}\n" for i, option in enumerate(data["target_scores"]))
    letter = chr(65 + list(data["target_scores"].values()).index(1))
    return {
        "input": f"Question: {data['question']}\n{options}Answer:",
        # The space belongs to the answer: nothing is put between input and output.
        "output": f" {letter}",
        # qa_match, which the config names, compares the form in parentheses.
        "processed_output": f"({letter})",
    }
