from .dataset import Dataset


class Plain(Dataset):
    instruction = "{q}"
