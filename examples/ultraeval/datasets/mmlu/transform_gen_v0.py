"""A question with four options, answered by the letter; what it is about stands in the description."""

import random


def transform(data, num_sample: int, r: random.Random, dataset_name: str):
    """Return the prompt of a row, its answer in an example, and what a reply is compared with."""
    options = "".join(f"{chr(65 + i)}. {option}\n" for i, option in enumerate(data["target_scores"]))
    letter = chr(65 + list(data["target_scores"].values()).index(1))
    return {
        "input": f"Question: {data['question']}\n{options}Answer:",
        "output": f" {letter}",
        "processed_output": letter,
    }
