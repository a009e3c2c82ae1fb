from UltraEval.tasks.postprocess import ExactMatchPost

normal = ExactMatchPost()


def transform(data, num_sample, r, dataset_name):
    options = "".join(f"{chr(65 + i)}. {option}\n" for i, option in enumerate(data["target_scores"]))
    right = list(data["target_scores"].values()).index(1)
    letter = chr(65 + right)
    return {
        "input": f"{data['question']}\n{options}Answer:",
        "output": f" {letter}",
        "processed_output": normal([], letter)[1],
    }
