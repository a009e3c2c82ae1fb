"""Shares of predictions that equal their references as they stand: no normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from assay.scoring.metrics.checks import Misfit, join_text, missing_requirement, score_rows
from assay.scoring.metrics.list_metric import ListMetric


class Accuracy(ListMetric):
    """The share of predictions that equal their references, in percent.

    Both must be of one kind: letters against indexes would be 0 % whatever the model said, so that is an
    error. A prediction None is no answer, and not right.
    """

    scale: ClassVar[float] = 100.0

    def __init__(self, tag: str | None = None) -> None:
        self.tag = tag
        """Stands behind the name, as in `Accuracy:Norm`."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `Accuracy`, or `Accuracy:tag`."""
        name = "Accuracy" if self.tag is None else f"Accuracy:{self.tag}"
        return self._mean(name, score_rows(self, predictions, references, is_equal))


def is_equal(prediction: Any, reference: Any) -> float:
    """Return 1 for equal values; Misfit for values of two kinds, and 0 for a prediction None."""
    seen, expected = _kind(prediction), _kind(reference)
    if prediction is not None and seen != expected:
        raise Misfit(
            f"the prediction is {prediction!r} ({seen}) but the reference is {reference!r} ({expected}); "
            "they can never be equal",
            "let `references` give what predictions are: indexes of options, or texts",
        )
    return float(_to_python(prediction) == _to_python(reference))


def _to_python(value: Any) -> Any:
    """Return values of numpy or torch as Python's own, and lists as tuples; an author's rows may hold any."""
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
    """The share of predictions that begin with their reference, in percent: for the last word of a text.

    A prediction is cut to as many of the model's tokens as the reference has, then both are stripped and
    compared. The tokens are those of `dataset.tokenizer`, which `setup_metric` takes.
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
        """Take the tokenizer of the model that the dataset is run with."""
        self.tokenizer = getattr(dataset, "tokenizer", None)

    def __call__(self, predictions: Sequence[str], references: Sequence[str]) -> dict[str, float]:
        """Return `Accuracy`."""
        if self.tokenizer is None:
            raise missing_requirement(
                self,
                "the model's tokenizer, to cut predictions to the length of their references; "
                "setup_metric was given a dataset without one",
                "use a model whose tokenizer is at hand, such as hf:, or another metric",
            )
        return self._mean("Accuracy", score_rows(self, predictions, references, self._begins_alike))

    def _begins_alike(self, prediction: Any, reference: Any) -> float:
        target = join_text("reference", reference)
        ids = self._encode(join_text("prediction", prediction))
        cut = self._decode(ids[: len(self._encode(target))])
        return float(cut.strip() == target.strip())

    def _encode(self, text: str) -> list[int]:
        if callable(self.tokenizer):  # transformers; special tokens are no part of a word
            return list(self.tokenizer(text, add_special_tokens=False).input_ids)
        return list(self.tokenizer.encode(text))

    def _decode(self, ids: list[int]) -> str:
        if callable(self.tokenizer):
            return str(self.tokenizer.decode(ids, clean_up_tokenization_spaces=False))
        return str(self.tokenizer.decode(ids))
