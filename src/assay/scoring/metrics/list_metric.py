"""The interface of metrics that dataset authors name: a call over whole lists.

Metrics know nothing of samples, runs or models: they take predictions and references and return numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple


class MetricUnit(NamedTuple):
    """The unit of a value."""

    scale: float
    """The value of a perfect share; 100.0 for percent."""
    is_share: bool
    """Whether the value is a share."""


def get_unit(metric: Any, name: str) -> MetricUnit:
    """Return the unit of a metric's value; the metric may be any object that an author wrote."""
    own: Mapping[str, MetricUnit] = getattr(metric, "units", {})
    if name in own:
        return own[name]
    scale = float(getattr(metric, "scale", 1.0))
    return MetricUnit(scale, bool(getattr(metric, "is_share", scale != 1.0)))


class ListMetric:
    """A metric over all predictions of a dataset at once.

    A call returns its values by name; `last_score_lists` then contains the value of every sample.
    """

    scale: ClassVar[float] = 1.0
    """The value of a perfect share in a call's result: 100.0 for percent. Sample values are not scaled."""
    higher_is_better: ClassVar[bool] = True
    """Whether higher is better."""
    units: Mapping[str, MetricUnit] = {}
    """Units of the values that do not use `scale`."""
    corpus_values: ClassVar[Collection[str]] = ()
    """Values over all samples that are not means of sample values, even if they happen to be equal."""
    takes_samples: ClassVar[bool] = False
    """Whether a prediction is the list of all answers to a question, not their majority."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return the metric's values by name, and store the samples' values in `last_score_lists`."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(predictions, references)")

    @property
    def last_score_lists(self) -> dict[str, list[float]]:
        """The sample values of the latest call, by name, in the order of its predictions."""
        # Created on first use, not in __init__: an author's subclass may not call ours.
        lists: dict[str, list[float]] = self.__dict__.setdefault("_last_score_lists", {})
        return lists

    @last_score_lists.setter
    def last_score_lists(self, values: Mapping[str, Sequence[Any]]) -> None:
        self.__dict__["_last_score_lists"] = {
            name: [float(value) for value in scores] for name, scores in values.items()
        }

    @property
    def last_ratios(self) -> dict[str, list[tuple[float, float]]]:
        """For values that are a ratio of two sums over the samples: each sample's part of both sums."""
        ratios: dict[str, list[tuple[float, float]]] = self.__dict__.setdefault("_last_ratios", {})
        return ratios

    @property
    def last_intervals(self) -> dict[str, tuple[float, float]]:
        """The 95 % intervals that the metric computed in the latest call, on the scale of the values."""
        intervals: dict[str, tuple[float, float]] = self.__dict__.setdefault("_last_intervals", {})
        return intervals

    @property
    def last_counts(self) -> dict[str, list[float]]:
        """For values that are a sum over the samples: each sample's part."""
        counts: dict[str, list[float]] = self.__dict__.setdefault("_last_counts", {})
        return counts

    def setup_metric(self, *_: Any, **__: Any) -> None:
        """Take the run's context: model_args, dataset_args, evaluation_args, dataset. Does nothing here."""

    def check_plan(self, n_samples: int) -> None:
        """Raise if the metric cannot work with this number of answers per question. Called before a run."""

    def notes(self) -> Sequence[str]:
        """Return notes for the user about the latest call."""
        return ()

    def _mean(self, name: str, scores: Sequence[float]) -> dict[str, float]:
        """Store the sample values and return their mean, scaled."""
        self.last_score_lists = {name: scores}
        return {name: self.scale * sum(scores) / len(scores)}
