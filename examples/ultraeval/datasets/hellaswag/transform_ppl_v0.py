"""The beginning of a text; each ending is put behind it."""

import random


def transform(data, num_sample: int, r: random.Random, dataset_name: str):
    """Return the beginning. It ends in a space, since endings are joined to it as they are."""
    right = next(ending for ending, score in data["target_scores"].items() if score == 1)
    text = f"{data['activity_label']}: {data['passage']} {data['question'].capitalize()} "
    return {"input": text, "output": right, "processed_output": right}
