"""Tasks that a Python class defines: stand-ins for the classes of `lm_eval.api.task` that authors extend.

An author overrides some methods; the others work as in a task file with the same keys. The class is read
into the keys of a task file (`read_class_config`), and its own requests are built by the class itself.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from assay.core.origin import Origin
from assay.dialects.lm_eval.rendering import Document, DocumentReader

Load = Callable[[str | None, str | None, Mapping[str, Any]], Any]
"""Loads a dataset by path, name and further arguments."""
_load: ContextVar[Load] = ContextVar("_load")
_SPLITS = {"training": "train", "validation": "validation", "test": "test"}


class Instance:
    """A request, as authors' code creates and reads it."""

    def __init__(
        self,
        request_type: str,
        doc: Any,
        arguments: tuple[Any, ...],
        idx: int,
        metadata: tuple[Any, ...] = (None, None, None),
        **more: Any,
    ) -> None:
        self.request_type = request_type
        self.doc = doc
        self.arguments = arguments
        self.idx = idx
        self.metadata = metadata
        self.resps: list[Any] = []
        self.filtered_resps: dict[str, Any] = {}
        self.task_name, self.doc_id, self.repeats = metadata
        vars(self).update(more)

    @property
    def args(self) -> tuple[Any, ...]:
        """Return the arguments as a tuple."""
        return self.arguments if isinstance(self.arguments, tuple) else (self.arguments,)


_DEFAULTS: Mapping[str, Any] = {
    "output_type": "generate_until",
    "description": "",
    "target_delimiter": " ",
    "fewshot_delimiter": "\n\n",
    "repeats": 1,
    "unsafe_code": False,
    "should_decontaminate": False,
}
"""What authors read from a key that is not given; other keys are None."""


class TaskConfig(dict[str, Any]):
    """The keys of a task file, also as attributes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.output_type == "generate_until":
            usual = {"temperature": 0.0, "do_sample": False, "max_gen_toks": 256}
            own = self.get("generation_kwargs")
            self["generation_kwargs"] = {"until": [self.fewshot_delimiter], **(usual if own is None else own)}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.get(name)
        return _DEFAULTS.get(name) if value is None else value

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class Task:
    """The base class of authors' tasks."""

    VERSION: Any = None
    DATASET_PATH: str | None = None
    DATASET_NAME: str | None = None
    OUTPUT_TYPE: str | None = None
    CONFIG: Mapping[str, Any] | None = None

    def __init__(
        self, data_dir: Any = None, cache_dir: Any = None, download_mode: Any = None, config: Any = None
    ) -> None:
        self._config = TaskConfig({**(self.CONFIG or {}), **(config or {})})
        self._config.pop("class", None)
        metadata = self._config.metadata
        if isinstance(metadata, Mapping) and "version" in metadata:
            self.VERSION = metadata["version"]
        self.DATASET_PATH = self._config.dataset_path or self.DATASET_PATH
        self.DATASET_NAME = self._config.dataset_name or self.DATASET_NAME
        self.OUTPUT_TYPE = self._config.get("output_type") or self.OUTPUT_TYPE
        self.dataset: Any = None
        self.download(self._config.dataset_kwargs)

    @property
    def config(self) -> TaskConfig:
        """Return the keys of the task."""
        return self._config

    def download(self, dataset_kwargs: Any = None, **_: Any) -> None:
        """Load the data."""
        self.dataset = _load.get()(self.DATASET_PATH, self.DATASET_NAME, dataset_kwargs or {})

    def has_training_docs(self) -> bool:
        """Return whether there is a training split."""
        return self._config.training_split is not None

    def has_validation_docs(self) -> bool:
        """Return whether there is a validation split."""
        return self._config.validation_split is not None

    def has_test_docs(self) -> bool:
        """Return whether there is a test split."""
        return self._config.test_split is not None

    def training_docs(self) -> Any:
        """Return the training documents."""
        return self._read_split("training")

    def validation_docs(self) -> Any:
        """Return the validation documents."""
        return self._read_split("validation")

    def test_docs(self) -> Any:
        """Return the test documents."""
        return self._read_split("test")

    def fewshot_docs(self) -> Any:
        """Return the documents that examples are drawn from."""
        if self.has_training_docs():
            return self.training_docs()
        return self.validation_docs() if self.has_validation_docs() else self.test_docs()

    @property
    def eval_docs(self) -> Any:
        """Return the documents to evaluate."""
        return self.test_docs() if self.has_test_docs() else self.validation_docs()

    def doc_to_text(self, doc: Document, doc_to_text: Any = None) -> Any:
        """Return the question."""
        return self._reader().read_text(doc, doc_to_text or self._config.doc_to_text)

    def doc_to_target(self, doc: Document, doc_to_target: Any = None) -> Any:
        """Return the answer."""
        return self._reader().read_target(doc, doc_to_target or self._config.doc_to_target)

    def doc_to_choice(self, doc: Document, doc_to_choice: Any = None) -> Any:
        """Return the options."""
        return self._reader().read_choices(doc, doc_to_choice or self._config.doc_to_choice)

    def construct_requests(self, doc: Document, ctx: Any, **kwargs: Any) -> Any:
        """Return the requests for a document."""
        raise NotImplementedError("the class has neither output_type nor construct_requests")

    def fewshot_context(self, doc: Document, num_fewshot: int, **kwargs: Any) -> Any:
        """Return the prompt."""
        raise NotImplementedError

    def process_results(self, doc: Document, results: Any) -> Any:
        """Return the values of a document."""
        raise NotImplementedError

    def aggregation(self) -> Any:
        """Return the function of each metric."""
        raise NotImplementedError

    def higher_is_better(self) -> Any:
        """Return whether higher is better, for each metric."""
        raise NotImplementedError

    def _read_split(self, kind: str) -> Any:
        split = self._config.get(f"{kind}_split")
        if split is None:
            return None
        rows = self.dataset[split]
        return rows if self._config.process_docs is None else self._config.process_docs(rows)

    def _reader(self) -> DocumentReader:
        first = next(iter(self.eval_docs))
        has_choices = self._config.doc_to_choice is not None
        return DocumentReader(list(first), Origin(type(self).__name__), has_choices=has_choices)


class ConfigurableTask(Task):
    """The base class of authors' tasks with the keys of a task file."""

    VERSION: Any = "Yaml"


class MultipleChoiceTask(Task):
    """The base class of authors' tasks whose documents have `choices` and the number `gold`."""

    OUTPUT_TYPE = "loglikelihood"

    def doc_to_target(self, doc: Document, doc_to_target: Any = None) -> Any:
        """Return the right option, as it follows the question."""
        return f" {doc['choices'][doc['gold']]}"

    def construct_requests(self, doc: Document, ctx: Any, **kwargs: Any) -> Any:
        """Return a request for the likelihood of each option."""
        metadata = kwargs["metadata"]
        return [
            Instance("loglikelihood", doc, (ctx, f" {choice}"), number, metadata)
            for number, choice in enumerate(doc["choices"])
        ]

    def process_results(self, doc: Document, results: Any) -> Any:
        """Return whether the right option is the most likely one: as a whole, and for each character."""
        sums = [likelihood for likelihood, _ in results]
        means = [one / len(choice) for one, choice in zip(sums, doc["choices"], strict=True)]
        names = {"acc": sums, "acc_norm": means}
        return {name: float(values.index(max(values)) == doc["gold"]) for name, values in names.items()}

    def aggregation(self) -> Any:
        """Return the function of each metric, by its name."""
        return {"acc": "mean", "acc_norm": "mean"}

    def higher_is_better(self) -> Any:
        """Return whether higher is better, for each metric."""
        return {"acc": True, "acc_norm": True}


class PerplexityTask(Task):
    """The base class of authors' tasks whose documents are texts."""

    OUTPUT_TYPE = "loglikelihood_rolling"

    def has_training_docs(self) -> bool:
        """Return whether there is a training split."""
        return False

    def fewshot_context(self, doc: Document, num_fewshot: int, **kwargs: Any) -> Any:
        """Return the empty prompt of a text."""
        if num_fewshot:
            raise ValueError("a task whose documents are texts has no examples")
        return ""

    def doc_to_text(self, doc: Document, doc_to_text: Any = None) -> Any:
        """Return the empty question."""
        return ""

    def doc_to_target(self, doc: Document, doc_to_target: Any = None) -> Any:
        """Return the text."""
        return doc

    def construct_requests(self, doc: Document, ctx: Any, **kwargs: Any) -> Any:
        """Return the request for the likelihood of the text."""
        return Instance(self.OUTPUT_TYPE or "", doc, (self.doc_to_target(doc),), 0, kwargs["metadata"])

    def process_results(self, doc: Document, results: Any) -> Any:
        """Return the likelihood of the text with its numbers of words and bytes."""
        text, (likelihood,) = self.doc_to_target(doc), results
        by_byte = (likelihood, self.count_bytes(text))
        return {
            "word_perplexity": (likelihood, self.count_words(text)),
            "byte_perplexity": by_byte,
            "bits_per_byte": by_byte,
        }

    def aggregation(self) -> Any:
        """Return the function of each metric, by its name."""
        weighted = "weighted_perplexity"
        return {"word_perplexity": weighted, "byte_perplexity": weighted, "bits_per_byte": "bits_per_byte"}

    def higher_is_better(self) -> Any:
        """Return whether higher is better, for each metric."""
        return dict.fromkeys(("word_perplexity", "byte_perplexity", "bits_per_byte"), False)

    @classmethod
    def count_bytes(cls, doc: str) -> int:
        """Return the number of bytes in a text."""
        return len(doc.encode())

    @classmethod
    def count_words(cls, doc: str) -> int:
        """Return the number of words in a text."""
        return len(re.split(r"\s+", doc))


@contextmanager
def loading_with(load: Load) -> Iterator[None]:
    """Give the classes that are created inside the context a way to load data."""
    token = _load.set(load)
    try:
        yield
    finally:
        _load.reset(token)


def create_task(cls: Any, config: Mapping[str, Any]) -> Any:
    """Return an object of an author's class, as the original creates it."""
    takes_config = "config" in inspect.signature(cls.__init__).parameters
    made = cls(config=dict(config)) if takes_config else cls()
    if isinstance(getattr(made, "config", None), TaskConfig):
        made.config.task = config["task"]
    return made


def overrides(task: Any, method: str) -> bool:
    """Return whether an author's class has its own version of a method."""
    return getattr(type(task), method, None) is not getattr(Task, method, None)


def read_class_config(task: Any, name: str) -> dict[str, Any]:
    """Return the keys of a task file that a class stands for."""
    known = {key: value for key, value in task.config.items() if value is not None}
    config: dict[str, Any] = {**known, "task": name, "dataset_path": task.DATASET_PATH or type(task).__name__}
    if task.DATASET_NAME:
        config["dataset_name"] = str(task.DATASET_NAME)
    for kind, split in _SPLITS.items():
        key = f"{kind}_split"
        if getattr(task, f"has_{kind}_docs")():
            config.setdefault(key, split)
        else:
            config.pop(key, None)
    for method in ("doc_to_text", "doc_to_target", "doc_to_choice", "process_results"):
        if overrides(task, method):
            config[method] = getattr(task, method)
    if overrides(task, "construct_requests"):
        # The requests are the class's own, and so is what it does with the replies.
        config.setdefault("doc_to_text", "")
        config.setdefault("doc_to_target", "")
        config["output_type"] = "generate_until"
    if overrides(task, "aggregation"):
        better = task.higher_is_better() if overrides(task, "higher_is_better") else {}
        config["metric_list"] = [
            {"metric": metric, "aggregation": function, "higher_is_better": better.get(metric)}
            for metric, function in task.aggregation().items()
        ]
    metadata = known.get("metadata")
    if task.VERSION is not None and not (isinstance(metadata, Mapping) and "version" in metadata):
        config["metadata"] = {"version": task.VERSION}
    return config


def list_instances(task: Any, name: str, doc: Document, number: int, context: Any) -> Sequence[Any]:
    """Return the requests of a class for a document, in the order in which it gets the replies."""
    made = task.construct_requests(
        doc=doc, ctx=context, metadata=(name, number, 1), apply_chat_template=False, chat_template=None
    )
    several = made if isinstance(made, list) else [made]
    return sorted(several, key=lambda instance: instance.idx)
