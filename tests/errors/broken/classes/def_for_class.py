def NewDataset(GenerationDataset):
    instruction = "{source}"
