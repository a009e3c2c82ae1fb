def transform(data, num_sample, r, dataset_name):
    scores = data["target_scores"]
    options = "".join(f"{letter}. {text}\n" for letter, text in zip("ABCD", scores, strict=True))
    right = "ABCD"[list(scores.values()).index(1)]
    text = f"Question: {data['question']}\n{options}Answer: "
    return {"input": text, "output": right, "processed_output": right}
