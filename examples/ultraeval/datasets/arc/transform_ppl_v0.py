"""The question alone: each option's text is put behind it, and the likeliest sentence wins."""

import random


def transform(data, num_sample: int, r: random.Random, dataset_name: str):
    """Return the prompt of a row. It ends in a space, since options are joined to it as they are."""
    right = next(option for option, score in data["target_scores"].items() if score == 1)
    return {"input": f"Question: {data['question']}\nAnswer: ", "output": right, "processed_output": right}
