"""Options as `(A) text`, and a line that asks for the letter."""

import random


def transform(data, num_sample: int, r: random.Random, dataset_name: str):
    """Return the prompt of a row, its answer in an example, and what a reply is compared with."""
    options = "".join(f"({chr(65 + i)}) {option}\n" for i, option in enumerate(data["target_scores"]))
    answer = f"({chr(65 + list(data['target_scores'].values()).index(1))})"
    text = (
        f"Science question:\n{data['question']}\n"
        f"Options:\n{options}"
        "Reply with the letter of the right option, in parentheses.\n"
        "Answer:\n"
    )
    return {"input": text, "output": answer, "processed_output": answer}
