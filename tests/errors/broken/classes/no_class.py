from .generation_dataset import GenerationDataset

DATASETS = [GenerationDataset]
