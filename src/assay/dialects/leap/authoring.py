"""The base classes of authors' tasks, as in LEAP and in early lm-evaluation-harness (lm-eval) versions.

A method that an author does not override behaves as in the original. A class does not know where the rows
come from, which file it is in, and which model is used: `TaskEnvironment` provides the rows.
"""

from __future__ import annotations

import random
import re
import sys
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from assay.dialects.leap.author_requests import REQUEST_RETURN_LENGTHS, ROLLING, Request, RequestFactory
from assay.dialects.leap.examples import choose_examples, render_context

rf = RequestFactory()
classic_rf = RequestFactory(is_classic=True)


class TaskEnvironment(NamedTuple):
    """The environment of a task's object."""

    load: Callable[[Task, str | None], None]
    """Sets the `dataset` of a task, given the folder of datasets that its author names, if any."""
    aggregations: Mapping[str, Any]
    """The functions that aggregate many values into one number, by name."""
    is_faithful: bool = False


class LoadedSplits(NamedTuple):
    """What was loaded for a task."""

    files: tuple[Path, ...] = ()
    """The data files, if known."""
    absent: Mapping[str, Path] = {}
    """Splits that the class names but whose file does not exist."""
    notes: tuple[str, ...] = ()


class Task(ABC):
    """A dataset, its prompts and its scoring, as in LEAP."""

    VERSION: Any = 0
    IN_HF_HUB: bool = False
    """Whether DATASET_PATH is a folder in the hub's layout, with DATASET_NAME as a config."""
    DATASET_PATH: Any = None
    DATASET_NAME: Any = None
    DATA_FILES: Any = None
    """Maps a split to its file in the folder DATASET_PATH/DATASET_NAME."""
    DATASET_TYPE: Any = None
    """The format of the files, as the `datasets` library names it: csv, json, parquet, text."""
    DOWNLOAD_OPTIONS: Any = None
    """Arguments for reading them, such as a delimiter."""

    _environment: ClassVar[TaskEnvironment]
    """Set on the classes that one file imports."""
    dataset: Any
    """Maps a split to its rows."""
    _loaded: LoadedSplits = LoadedSplits()
    """How the rows were found; empty if the author's code loads them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__ == ABCMeta.__module__:
            # A class created by `type(...)` seems to belong to `abc`; assign it to the file that creates it.
            cls.__module__ = sys._getframe(2).f_globals["__name__"]

    def __init__(self, data_dir: str | None = None, cache_dir: str | None = None) -> None:
        self._training_docs: Any = None
        self._fewshot_docs: Any = None
        self.load(data_dir, cache_dir)

    def load(self, data_dir: str | None = None, cache_dir: str | None = None) -> None:
        """Load all splits; an author can override this."""
        self._environment.load(self, data_dir)

    def n_shot(self) -> int:
        """Return the number of solved examples before a question."""
        return 0

    def request_type(self) -> str:
        """Return the type of request that construct_requests creates."""
        return "loglikelihood"

    def description(self) -> str | None:
        """Return the text before everything else."""
        return None

    @abstractmethod
    def has_training_docs(self) -> bool:
        """Return whether there is a split for examples."""

    @abstractmethod
    def has_validation_docs(self) -> bool:
        """Return whether there is a validation split."""

    @abstractmethod
    def has_test_docs(self) -> bool:
        """Return whether there is a test split with right answers."""

    def training_docs(self) -> Any:
        """Return the documents for examples."""
        return []

    def validation_docs(self) -> Any:
        """Return the documents of the validation split."""
        return []

    def test_docs(self) -> Any:
        """Return the documents of the test split."""
        return []

    def _process_doc(self, doc: Any) -> Any:
        """Return a row in the form of the other methods; called by the author's own methods."""
        return doc

    def fewshot_examples(self, k: int, rnd: random.Random) -> Sequence[Any]:
        """Return k examples."""
        if self._training_docs is None:
            self._training_docs = list(self.training_docs())
        return rnd.sample(self._training_docs, k)

    @abstractmethod
    def doc_to_text(self, doc: Any) -> str:
        """Return the question of a document."""

    @abstractmethod
    def doc_to_target(self, doc: Any) -> str:
        """Return the right answer, with the leading space that separates it."""

    @abstractmethod
    def construct_requests(self, doc: Any, ctx: str) -> Any:
        """Return the requests for a document: one request, or a list of them."""

    @abstractmethod
    def process_results(self, doc: Any, results: list[Any]) -> dict[str, Any]:
        """Return the values of a document's metrics, given the model's results."""

    @abstractmethod
    def aggregation(self) -> dict[str, Callable[[list[Any]], Any]]:
        """Return for each metric the function that aggregates the values of all documents."""

    @abstractmethod
    def higher_is_better(self) -> dict[str, bool]:
        """Return for each metric whether higher is better."""

    def fewshot_context(
        self, doc: Any, num_fewshot: int, rnd: random.Random, description: str | None = None
    ) -> str:
        """Return the description, the examples and the question as one text."""
        examples = choose_examples(self, doc, num_fewshot, rnd)
        return render_context(self, doc, examples, description)


class ClassicTask(Task):
    """The same as in early lm-eval versions."""

    def __init__(
        self, data_dir: str | None = None, cache_dir: str | None = None, download_mode: Any = None
    ) -> None:
        self._training_docs = None
        self._fewshot_docs = None
        self.download(data_dir, cache_dir, download_mode)

    def download(
        self, data_dir: str | None = None, cache_dir: str | None = None, download_mode: Any = None
    ) -> None:
        """Load all splits; an author can override this. Nothing is downloaded."""
        self._environment.load(self, data_dir)

    def should_decontaminate(self) -> bool:
        """Return whether to search documents in training data, which Assay does not do."""
        return False

    def doc_to_decontamination_query(self, doc: Any) -> str:
        """Return the text to search for."""
        raise NotImplementedError("doc_to_decontamination_query")

    def fewshot_context(  # type: ignore[override]
        self,
        doc: Any,
        num_fewshot: int,
        provide_description: Any = None,
        rnd: random.Random | None = None,
        description: str | None = None,
    ) -> str:
        """Return the description, the examples and the question as one text."""
        if rnd is None:
            raise ValueError("fewshot_context needs rnd=, a random.Random")
        return render_context(self, doc, choose_examples(self, doc, num_fewshot, rnd), description)


class MultipleChoiceTask(ClassicTask):
    """Documents with `query`, `choices` and `gold`: the likeliest choice is the answer."""

    def doc_to_target(self, doc: Any) -> str:
        """Return the right choice."""
        return f" {doc['choices'][doc['gold']]}"

    def construct_requests(self, doc: Any, ctx: str) -> list[Request]:
        """Request the likelihood of each choice."""
        return [classic_rf.loglikelihood(ctx, f" {choice}")[0] for choice in doc["choices"]]

    def process_results(self, doc: Any, results: list[Any]) -> dict[str, Any]:
        """Return whether the likeliest choice is right, unnormalised and per character."""
        lengths = np.array([float(len(choice)) for choice in doc["choices"]])
        # An empty choice is infinitely unlikely per character, so it is never chosen.
        with np.errstate(divide="ignore"):
            normed = np.array(results) / lengths
        return {
            "acc": float(np.argmax(results) == doc["gold"]),
            "acc_norm": float(np.argmax(normed) == doc["gold"]),
        }

    def aggregation(self) -> dict[str, Callable[[list[Any]], Any]]:
        """Return the mean for both metrics."""
        average = self._environment.aggregations["mean"]
        return {"acc": average, "acc_norm": average}

    def higher_is_better(self) -> dict[str, bool]:
        """Return that higher is better."""
        return {"acc": True, "acc_norm": True}


class PerplexityTask(ClassicTask):
    """Whole texts, scored by their likelihood."""

    def has_training_docs(self) -> bool:
        """Return False: there are no examples."""
        return False

    def fewshot_examples(self, k: int, rnd: random.Random) -> Sequence[Any]:
        """Return no examples."""
        if k:
            raise ValueError("a PerplexityTask cannot show examples")
        return []

    def doc_to_text(self, doc: Any) -> str:
        """Return an empty text: there is no question."""
        return ""

    def doc_to_target(self, doc: Any) -> str:
        """Return the text."""
        return str(doc)

    def construct_requests(self, doc: Any, ctx: str) -> Request:
        """Request the likelihood of the text."""
        return Request(ROLLING, (self.doc_to_target(doc),), is_classic=True)

    def process_results(self, doc: Any, results: list[Any]) -> dict[str, Any]:
        """Return the log-likelihood with the number of words and of bytes."""
        (loglikelihood,) = results
        words, size = self.count_words(self.doc_to_target(doc)), self.count_bytes(self.doc_to_target(doc))
        return {
            "word_perplexity": (loglikelihood, words),
            "byte_perplexity": (loglikelihood, size),
            "bits_per_byte": (loglikelihood, size),
        }

    def aggregation(self) -> dict[str, Callable[[list[Any]], Any]]:
        """Return the ratios of the sums."""
        known = self._environment.aggregations
        return {
            "word_perplexity": known["weighted_perplexity"],
            "byte_perplexity": known["weighted_perplexity"],
            "bits_per_byte": known["bits_per_byte"],
        }

    def higher_is_better(self) -> dict[str, bool]:
        """Return that lower is better."""
        return {"word_perplexity": False, "byte_perplexity": False, "bits_per_byte": False}

    @classmethod
    def count_bytes(cls, doc: str) -> int:
        """Return the length of a text in UTF-8."""
        return len(doc.encode("utf-8"))

    @classmethod
    def count_words(cls, doc: str) -> int:
        """Return the number of pieces between white space, including empty ones at the ends."""
        return len(re.split(r"\s+", doc))


_BASES = (Task, MultipleChoiceTask, PerplexityTask)
SETTABLE = (
    "dataset",
    "_process_doc",
    *sorted({name for cls in _BASES for name in dir(cls) if name[0] != "_"}),
)
"""The names that an author can define."""
BUILTIN_CONTEXTS = (Task.fewshot_context, ClassicTask.fewshot_context)
"""The implementations of `fewshot_context` that are not an author's own."""


def build_base_modules(environment: TaskEnvironment) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the contents of both systems' `base` modules for files loaded in this environment."""

    def bound(cls: Any, *extended: Any) -> Any:
        name = cls.__name__.removeprefix("Classic")
        return type(name, (cls, *extended), {"_environment": environment, "__doc__": cls.__doc__})

    leap = {"Task": bound(Task), "rf": rf}
    task = bound(ClassicTask)
    classic = {"Task": task, "rf": classic_rf, "mean": environment.aggregations["mean"]}
    shared = {
        "MultipleChoiceTask": bound(MultipleChoiceTask, task),
        "PerplexityTask": bound(PerplexityTask, task),
        "Request": Request,
        "RequestFactory": RequestFactory,
        "REQUEST_RETURN_LENGTHS": REQUEST_RETURN_LENGTHS,
    }
    return {**leap, **shared}, {**classic, **shared}
