"""Percentages of predictions that equal, or start with, their references, without normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from assay.scoring.metrics.checks import Misfit, join_text, missing_requirement, score_rows
from assay.scoring.metrics.list_metric import ListMetric


class Accuracy(ListMetric):
    """The percentage of predictions that equal their references.

    Both must be of one kind: letters compared with indexes would always be 0 %, so that is an error. A
    prediction None is no answer and counts as wrong.
    """

    scale: ClassVar[float] = 100.0

    def __init__(self, tag: str | None = None) -> None:
        self.tag = tag
        """Appended to the name, as in `Accuracy:Norm`."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `Accuracy`, or `Accuracy:tag`."""
        name = "Accuracy" if self.tag is None else f"Accuracy:{self.tag}"
        return self._mean(name, score_rows(self, predictions, references, is_equal))


def is_equal(prediction: Any, reference: Any) -> float:
    """Return 1 for equal values, 0 for a prediction None; raise Misfit for values of two kinds."""
    seen, expected = _kind(prediction), _kind(reference)
    if prediction is not None and seen != expected:
        raise Misfit(
            f"the prediction is {prediction!r} ({seen}) but the reference is {reference!r} ({expected}); "
            "they can never be equal",
            "make `references` return the same kind as predictions: option indexes, or texts",
        )
    return float(_to_python(prediction) == _to_python(reference))


def _to_python(value: Any) -> Any:
    """Return numpy or torch values as Python values, and lists as tuples; rows may contain either."""
    if hasattr(value, "tolist"):
        return _to_python(value.tolist())
    if isinstance(value, list | tuple):
        return tuple(_to_python(part) for part in value)
    return value


def _kind(value: Any) -> str:
    plain = _to_python(value)
    if isinstance(plain, bool | int | float):
        return "a number"
    if isinstance(plain, str):
        return "a text"
    return "a list" if isinstance(plain, tuple) else f"of type {type(plain).__name__}"


class WordAccuracy(ListMetric):
    """The percentage of predictions that start with their reference: for the last word of a text.

    A prediction is cut to as many of the model's tokens as the reference has, then both are stripped and
    compared. The tokens come from `dataset.tokenizer`, which `setup_metric` reads.
    """

    scale: ClassVar[float] = 100.0

    def __init__(self) -> None:
        self.tokenizer: Any = None
        """A transformers tokenizer, or anything with `encode(text) -> ids` and `decode(ids) -> text`."""

    def setup_metric(
        self,
        model_args: Any = None,
        dataset_args: Any = None,
        evaluation_args: Any = None,
        dataset: Any = None,
    ) -> None:
        """Take the tokenizer of the dataset's model."""
        self.tokenizer = getattr(dataset, "tokenizer", None)

    def __call__(self, predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
        """Return `Accuracy`."""
        if self.tokenizer is None:
            raise missing_requirement(
                self,
                "the model's tokenizer, to cut predictions to the length of their references; "
                "setup_metric received a dataset without one",
                "use a model with a local tokenizer, such as hf:, or another metric",
            )
        return self._mean("Accuracy", score_rows(self, predictions, references, self._begins_alike))

    def _begins_alike(self, prediction: Any, reference: Any) -> float:
        target = join_text("reference", reference)
        ids = self._encode(join_text("prediction", prediction))
        cut = self._decode(ids[: len(self._encode(target))])
        return float(cut.strip() == target.strip())

    def _encode(self, text: str) -> list[int]:
        if callable(self.tokenizer):  # transformers; special tokens are not part of a word
            return list(self.tokenizer(text, add_special_tokens=False).input_ids)
        return list(self.tokenizer.encode(text))

    def _decode(self, ids: list[int]) -> str:
        if callable(self.tokenizer):
            return str(self.tokenizer.decode(ids, clean_up_tokenization_spaces=False))
        return str(self.tokenizer.decode(ids))
