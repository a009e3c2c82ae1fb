"""Spoken digits: clips in which one person says one digit. The files are called DIGIT_SPEAKER_TAKE.wav."""

import os
import re

from ais_bench.benchmark.datasets.utils.datasets import get_content_str, get_data_path
from ais_bench.benchmark.registry import LOAD_DATASET, TEXT_POSTPROCESSORS
from datasets import Dataset

from .base import BaseDataset

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@LOAD_DATASET.register_module()
class SpokenDigitsDataset(BaseDataset):
    """One row for each clip: the question, then the sound."""

    @staticmethod
    def load(path):
        path = get_data_path(path, local_mode=True)
        return Dataset.from_list(
            [
                {
                    "content": get_content_str(
                        [
                            {"type": "text", "text": "Which digit is spoken here?"},
                            {"type": "audio_url", "audio_url": {"url": os.path.join(path, clip)}},
                        ]
                    ),
                    "speaker": clip.split("_")[1],
                    "digit": clip.split("_")[0],
                }
                for clip in sorted(os.listdir(path))
                if clip.endswith(".wav")
            ]
        )


@TEXT_POSTPROCESSORS.register_module("spoken_digits")
def spoken_digits_postprocess(text: str) -> str:
    """The first digit, as a figure or as a word."""
    found = re.search(r"\d|\b(?:" + "|".join(WORDS) + r")\b", text.lower())
    if found is None:
        return ""
    return found.group() if found.group().isdigit() else str(WORDS.index(found.group()))
