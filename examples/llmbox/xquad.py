"""XQuAD: questions whose answer is a piece of the passage; the English part.

The file is SQuAD's: articles hold paragraphs, which hold questions. A row made of it:
{"id": "56beb4343aeaaa14008c925b", "title": "Super_Bowl_50", "context": "The Panthers defense gave up ...",
 "question": "How many points did the Panthers defense surrender?", "answers": ["308"]}
"""

import re
from functools import cached_property

from ..metric import F1, Em
from .generation_dataset import GenerationDataset
from .utils import get_raw_dataset_loader


class Xquad(GenerationDataset):
    """Compared with every reference answer; the best one counts."""

    instruction = (
        "Answer with a few words of the passage.\n\nPassage: {context}\n\nQuestion: {question}\nAnswer:"
    )
    metrics = [F1(), Em()]
    load_args = ("xquad", "xquad.en")
    evaluation_set = "test"
    extra_model_args = dict(temperature=0, max_tokens=64, stop=["\n"])

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        load = get_raw_dataset_loader(self.dataset_name, dataset_path, subset_name, self.load_args, {})
        self.evaluation_data = _questions(load(evaluation_set))
        # The only split that is here. A row is never shown itself.
        self.example_data = _questions(load(evaluation_set))

    def format_instance(self, instance):
        return dict(context=instance["context"], question=instance["question"], target=instance["answers"][0])

    def post_processing(self, predictions):
        return [re.split(r"\n|\.\s", text.strip())[0] for text in predictions]

    @cached_property
    def references(self):
        return [instance["answers"] for instance in self.evaluation_data]


def _questions(articles):
    return [
        {
            "id": question["id"],
            "title": article["title"],
            "context": paragraph["context"],
            "question": question["question"].strip(),
            "answers": [answer["text"] for answer in question["answers"]],
        }
        for article in articles
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
