"""The base classes for authors: a dataset that loads on creation, and an evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class BaseDataset:
    """A dataset. `load` returns its rows: a `datasets.Dataset`, or a `DatasetDict` of splits."""

    def __init__(self, reader_cfg: Any = None, k: Any = 1, n: int = 1, **kwargs: Any) -> None:
        """Load the rows with all other arguments; `reader_cfg` is applied later."""
        self.abbr = kwargs.pop("abbr", "dataset")
        self.reader_cfg = reader_cfg or {}
        self.dataset = self.load(**kwargs)

    def load(self, *args: Any, **kwargs: Any) -> Any:
        """Return the rows. Authors override it with the arguments of their entries."""
        raise NotImplementedError(f"{type(self).__name__} must define load(...)")

    @property
    def train(self) -> Any:
        """Return the rows for examples."""
        return self._split("train_split", "train")

    @property
    def test(self) -> Any:
        """Return the rows to evaluate."""
        return self._split("test_split", "test")

    def _split(self, key: str, usual: str) -> Any:
        wanted = self.reader_cfg.get(key, usual)
        return self.dataset[wanted] if isinstance(self.dataset, dict) else self.dataset


class BaseEvaluator:
    """Scores answers: `score` returns numbers by name, and optionally `details` for each row."""

    def __init__(self, pred_postprocessor: Any = None) -> None:
        self.pred_postprocessor = pred_postprocessor
        self._out_dir = ""

    @property
    def output_dir(self) -> str:
        """Return the original's result folder, which Assay does not have."""
        return self._out_dir

    def score(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, Any]:
        """Return the scores by name."""
        raise NotImplementedError(f"{type(self).__name__} must define score(predictions, references)")
