"""A passage and a question, answered in one word."""

import random


def transform(data, num_sample: int, r: random.Random, dataset_name: str):
    """Return the prompt of a row, its answer in an example, and what a reply is compared with."""
    right = next(word for word, score in data["target_scores"].items() if score == 1)
    text = (
        f"Read the passage, then answer the question with yes or no.\n"
        f"Passage: {data['passage']}\nQuestion: {data['question']}?\nAnswer:"
    )
    return {"input": text, "output": f" {right}", "processed_output": right}
