def transform(data, num_sample, r, dataset_name):
    right = max(data["target_scores"], key=data["target_scores"].get)
    return {"input": f"{data['question']} ", "output": right, "processed_output": right}
