"""The base classes that an author's dataset extends, with the original's names and order of calls.

An object represents one dataset, one subset and one evaluation method. Creating it calls the author's
`init_arguments` and `load_raw_dataset`. The rows are formatted later (see formatting.py), because that needs
all of them. Everything the author may read or set is public here under the original's name.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from assay.dialects.llmbox.instruction import build_environment
from assay.dialects.llmbox.library.conversation import Conversation

RANKING_TYPES = ("ppl_no_option", "ppl", "prob", "generation")
MODEL_TYPES = ("base", "chat")
METHOD_OF = {"ppl_no_option": "get_ppl", "ppl": "get_ppl", "prob": "get_prob", "generation": "generation"}
HOOKS = (
    "init_arguments",
    "load_raw_dataset",
    "format_instance",
    "references",
    "construct_examples",
    "post_processing",
    "calculate_metric",
)
"""What an author defines besides attributes."""
SET_BY_HOOKS = (
    "evaluation_data",
    "example_data",
    "cot",
    "max_num_shots",
    "max_example_tokens",
    "ranking_type",
    "ranking_with_options",
    "sample_num",
    "prefix_caching",
    "jinja2_env",
)
"""What an author's hooks may set on the object."""
NO_LIMIT = 1 << 40
"""More tokens than any prompt has."""
Rows = list[dict[str, Any]]


@dataclass
class DatasetArguments:
    """The user's arguments for a dataset, under the original's names."""

    dataset_path: str | None = None
    evaluation_set: str | None = None
    example_set: str | None = None
    instruction: str | None = None
    num_shots: int = 0
    max_example_tokens: int = NO_LIMIT
    ranking_type: str = "ppl_no_option"
    sample_num: int = 1
    pass_at_k: int | None = None
    cot: str | None = None
    kate: bool = False
    globale: bool = False
    ape: bool = False
    default_metrics: Sequence[Any] = ()
    """Used if a class defines none."""
    load_rows: Callable[..., Rows] | None = None
    """Loads rows: (dataset, path, subset, split) to rows."""
    check: Callable[[Dataset], None] = lambda dataset: None
    """Raises if `init_arguments` set an attribute to a value of the wrong type."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user about how the dataset was created."""


@dataclass
class ModelView:
    """The part of the model that an author can access."""

    name: str
    type: str
    """`base` or `chat`."""
    encode: Callable[[str], list[int]]
    decode: Callable[[Sequence[int]], str]
    support_cache: bool = False
    pieces: Callable[[str], Sequence[tuple[int, str]]] | None = None
    """The tokens of a text with their texts; None if the model does not stop at tokens."""


class Dataset:
    """A dataset as an author writes it. Extend one of the three classes below."""

    instruction: str
    metrics: list[Any]
    evaluation_type: ClassVar[str]
    evaluation_set: str | None = None
    example_set: str | None = None
    load_args: tuple[str, ...] | None = None
    load_kwargs: dict[str, Any]
    extra_model_args: dict[str, Any]
    category_column: str | None = None
    categorized_subsets: dict[str, list[str]] | None = None
    banned_subsets: list[str] | None = None
    use_normalization: bool = False
    normalization_prompt: str
    supported_cot: list[str]
    multi_turn: bool = False

    def __init__(
        self,
        dataset_name: str,
        args: DatasetArguments,
        model: ModelView,
        subset_name: str | None = None,
        evaluation_data: Rows | None = None,
        example_data: Rows | None = None,
    ) -> None:
        self.args = args
        self.model = model
        self.dataset_name = dataset_name
        self.subset_name = subset_name
        self.model_type = model.type
        self.tokenizer = model
        self.tokenizer_encode = model.encode
        self.tokenizer_decode = model.decode
        self.prefix_caching = model.support_cache
        self.sample_num = args.sample_num
        self.max_num_shots = args.num_shots
        self.max_example_tokens = args.max_example_tokens
        self.ranking_type = args.ranking_type
        self.cot = _choose_cot(args.cot, self)
        # Each object gets its own copy. In the original they are shared, and a change affects other datasets.
        own = getattr(type(self), "metrics", None)
        self.metrics = [copy.copy(metric) for metric in (args.default_metrics if own is None else own)]
        self.extra_model_args = copy.deepcopy(getattr(self, "extra_model_args", {}))
        self.load_kwargs = dict(getattr(self, "load_kwargs", {}))
        if args.instruction is not None:
            self.instruction = args.instruction
        self.jinja2_env = build_environment()
        self.real_num_shots: int | None = None
        self.option_nums: list[int] = []
        self.init_arguments()
        args.check(self)
        self.evaluation_data: Rows = evaluation_data if evaluation_data is not None else []
        self.example_data: Rows = example_data if example_data is not None else []
        if evaluation_data is None:
            self.load_raw_dataset(
                args.dataset_path,
                subset_name,
                args.evaluation_set or self.evaluation_set,
                args.example_set or self.example_set,
            )
        if args.instruction is not None:
            # The command line takes precedence over what the hooks above chose.
            self.instruction = args.instruction

    # Implemented by an author.

    def init_arguments(self) -> None:
        """Set what depends on the model or the arguments; called before data is loaded."""

    def format_instance(self, instance: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that the instruction needs for one row."""
        raise NotImplementedError("the class must define format_instance(self, instance)")

    def load_raw_dataset(
        self,
        dataset_path: str | None,
        subset_name: str | None,
        evaluation_set: str | None,
        example_set: str | None,
    ) -> None:
        """Set `evaluation_data` and `example_data` from `load_args`; an author can override this."""
        load = self.args.load_rows
        if load is None:
            raise ValueError("no rows were given, and no loader is set")
        if evaluation_set is None and dataset_path is None:
            raise ValueError("the class does not set evaluation_set, which selects the rows to evaluate")
        self.evaluation_data = load(self, dataset_path, subset_name, evaluation_set)
        if example_set is not None:
            self.example_data = load(self, dataset_path, subset_name, example_set, is_example=True)

    def post_processing(self, predictions: Any) -> Any:
        """Return predictions in the form that the metrics compare with the references."""
        return predictions

    def construct_examples(self, instance: dict[str, Any] | None = None) -> Conversation:
        """Return the solved examples of a prompt; set when the rows are formatted."""
        examples: Conversation = self._examples(instance)
        return examples

    _examples: Callable[[dict[str, Any] | None], Conversation] = staticmethod(lambda _: Conversation())

    # Used by an author.

    @property
    def eval_data(self) -> Rows:
        """The rows to evaluate, under another name in the documentation."""
        return self.evaluation_data

    @property
    def display_name(self) -> str:
        """The dataset's name, with its subset."""
        return self.dataset_name if self.subset_name is None else f"{self.dataset_name}:{self.subset_name}"

    @property
    def model_evaluation_method(self) -> str:
        """`get_ppl`, `get_prob` or `generation`."""
        if self.evaluation_type == "generation":
            return "generation"
        if self.evaluation_type == "perplexity":
            return "get_ppl"
        return METHOD_OF[self.ranking_type]

    def prompt_token_nums(self, prompt: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.tokenizer_encode(prompt))

    def truncate_by_word(
        self, words: Sequence[str], max_tokens: int, side: Literal["left", "right"]
    ) -> tuple[str, int, int]:
        """Return as many whole words as fit, truncated at one side: the text, its tokens and its words."""

        def keep(n: int) -> str:
            return "".join(words[len(words) - n :] if side == "left" else words[:n])

        if (n_tokens := self.prompt_token_nums(keep(len(words)))) <= max_tokens:
            return keep(len(words)), n_tokens, len(words)
        low, high = 0, len(words) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.prompt_token_nums(keep(middle)) <= max_tokens:
                low = middle
            else:
                high = middle - 1
        return keep(low), self.prompt_token_nums(keep(low)), low

    def len(self, sample_num: bool = True, option_num: bool = True, normalization: bool = True) -> int:
        """Return the number of predictions, counted as requested."""
        n = sum(self.option_nums) if option_num and self.option_nums else len(self.evaluation_data)
        if normalization and self.use_normalization:
            n *= 2
        return n * (self.sample_num if sample_num else 1)

    def __len__(self) -> int:
        return self.len()

    @property
    def last_score_lists(self) -> dict[str, list[float]]:
        """The per-sample values of the metrics' last call."""
        values: dict[str, list[float]] = {}
        for metric in self.metrics:
            values.update(metric.last_score_lists)
        return values

    def calculate_metric(
        self, predictions: Sequence[Any]
    ) -> tuple[dict[str, dict[str, float]], dict[str, list[float]]]:
        """Return all metrics of post-processed predictions under the display name, and per-sample values."""
        results: dict[str, float] = {}
        for metric in self.metrics:
            results.update(metric(list(predictions), list(self.references)))
        return {self.display_name: results}, self.last_score_lists

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.display_name!r})"

    references: Any
    """The right answers, one per row of `evaluation_data`; a (cached) property of the author's class."""


class GenerationDataset(Dataset):
    """Questions that the model answers in its own words."""

    evaluation_type = "generation"


class ValidationPerplexityDataset(Dataset):
    """Texts whose perplexity is measured."""

    evaluation_type = "perplexity"
    instruction = "{{ text if text }}"

    def post_processing(self, predictions: Any) -> Any:
        """Return the negative log-likelihood per token of each text; infinity for a text without tokens."""
        return [nll / n if n > 0 else float("inf") for nll, n in predictions]

    @cached_property
    def references(self) -> list[None]:
        """Return None for every row: there is nothing to compare with."""
        return [None] * len(self.evaluation_data)


class MultipleChoiceDataset(Dataset):
    """Questions with options, ranked by likelihood or label probability, or answered with a letter."""

    evaluation_type = "ranking"

    @staticmethod
    def shuffle_options(*values: list[Any]) -> list[int]:
        """Shuffle lists in the same way, in place; return the old index at each position."""
        if any(len(value) != len(values[0]) for value in values):
            raise ValueError("the lists to shuffle have different lengths")
        order = list(range(len(values[0])))
        # Authors draw from the global generator, which is seeded for each row while their code runs.
        random.shuffle(order)  # noqa: TID251
        for value in values:
            value[:] = [value[index] for index in order]
        return order

    @property
    def ranking_with_options(self) -> bool:
        """Whether the prompt shows the options."""
        return not self.ranking_type.endswith("no_option")

    @ranking_with_options.setter
    def ranking_with_options(self, value: bool) -> None:
        if value and self.ranking_type == "ppl_no_option":
            self.ranking_type = "ppl"
        elif not value:
            self.ranking_type = "ppl_no_option"

    def post_processing(self, predictions: Any) -> Any:
        """Return the index of the chosen option for each row, -1 for none, by the method's own formula."""
        method = self.model_evaluation_method
        if method == "get_prob":
            return [
                int(np.argmax(shares)) % n if n > 0 and shares is not None else -1
                for shares, n in zip(predictions, self.option_nums, strict=True)
            ]
        if method == "generation":
            # All rows come once per sample.
            sizes = self.option_nums * self.sample_num
            return [_find_last_letter(text, n) for text, n in zip(predictions, sizes, strict=True)]
        if self.use_normalization:
            half = len(predictions) // 2
            pairs = zip(predictions[:half], predictions[half:], strict=True)
            costs = [given - alone for (given, _), (alone, _) in pairs]
        else:
            costs = [nll / n if n > 0 else float("inf") for nll, n in predictions]
        chosen, begin = [], 0
        for n in self.option_nums:
            own = costs[begin : begin + n]
            chosen.append(min(range(n), key=own.__getitem__) if n else -1)
            begin += n
        return chosen


def _choose_cot(cot: str | None, dataset: Dataset) -> str | None:
    """Return the requested chain of thought, or else the first that the dataset supports, with a note."""
    known = getattr(dataset, "supported_cot", None) or []
    known = [known] if isinstance(known, str) else list(known)
    if cot is None or cot in known:
        return cot
    instead = known[0] if known else None
    dataset.args.notes.append(
        f"{type(dataset).__name__} does not support cot {cot!r}; "
        + (f"{instead!r} is used instead" if instead else "no chain of thought is used")
    )
    return instead


_LETTER = "(?<![A-Za-z0-9_])([A-{last}])(?![A-Za-z0-9_])"
"""A single capital letter; adjacent Chinese and Japanese characters do not make it part of a word."""


def _find_last_letter(text: str, n_options: int) -> int:
    if n_options <= 0:
        return -1
    matches = re.findall(_LETTER.format(last=chr(ord("A") + n_options - 1)), text)
    return ord(matches[-1]) - ord("A") if matches else -1
