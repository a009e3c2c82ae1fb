"""A passage and a question; `yes` and `no` are put behind it and their sentences are compared."""

import random


def transform(data, num_sample: int, r: random.Random, dataset_name: str):
    """Return the prompt of a row. It ends in a space, since options are joined to it as they are."""
    right = next(word for word, score in data["target_scores"].items() if score == 1)
    text = f"{data['passage']}\nQuestion: {data['question']}?\nAnswer: "
    return {"input": text, "output": right, "processed_output": right}
