"""Four endings by their letters; the reply is read from its first letter of an option on."""

import random


def transform(data, num_sample: int, r: random.Random, dataset_name: str):
    """Return the prompt of a row, its answer in an example, and what a reply is compared with."""
    endings = "".join(f"{chr(65 + i)}. {ending}\n" for i, ending in enumerate(data["target_scores"]))
    letter = chr(65 + list(data["target_scores"].values()).index(1))
    text = (
        f"{data['activity_label']}. Which ending follows?\n"
        f"{data['passage']} {data['question'].capitalize()} ...\n{endings}Letter:"
    )
    return {"input": text, "output": f" {letter}", "processed_output": letter}
