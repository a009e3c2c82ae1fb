"""What authors' classes extend: a dataset that is loaded when it is made, and an evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class BaseDataset:
    """A dataset. `load` returns its rows: a `datasets.Dataset`, or a `DatasetDict` of splits."""

    def __init__(self, reader_cfg: Any = None, k: Any = 1, n: int = 1, **kwargs: Any) -> None:
        """Load the rows with all arguments but the name; which columns and rows are read is seen to later."""
        self.abbr = kwargs.pop("abbr", "dataset")
        self.reader_cfg = reader_cfg or {}
        self.dataset = self.load(**kwargs)

    def load(self, *args: Any, **kwargs: Any) -> Any:
        """Return the rows; authors write it with the arguments that their entries give."""
        raise NotImplementedError(f"{type(self).__name__} must define load(...)")

    @property
    def train(self) -> Any:
        """Return the rows that examples are from."""
        return self._split("train_split", "train")

    @property
    def test(self) -> Any:
        """Return the rows that are asked."""
        return self._split("test_split", "test")

    def _split(self, key: str, usual: str) -> Any:
        wanted = self.reader_cfg.get(key, usual)
        return self.dataset[wanted] if isinstance(self.dataset, dict) else self.dataset


class BaseEvaluator:
    """Scores answers: `score` returns numbers by name, and may return `details` of each row."""

    def __init__(self, pred_postprocessor: Any = None) -> None:
        self.pred_postprocessor = pred_postprocessor
        self._out_dir = ""

    @property
    def output_dir(self) -> str:
        """Return where the original writes results: nowhere here."""
        return self._out_dir

    def score(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, Any]:
        """Return the numbers."""
        raise NotImplementedError(f"{type(self).__name__} must define score(predictions, references)")
