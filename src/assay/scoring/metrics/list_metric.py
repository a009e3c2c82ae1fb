"""The interface of every metric that a dataset's author names: a call over whole lists.

Knows nothing of samples, runs or models: predictions and references come in, numbers go out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple


class MetricUnit(NamedTuple):
    """What a value is counted in."""

    scale: float
    """What a perfect share is; 100.0 for percent."""
    is_share: bool
    """Whether it is a share at all."""


def get_unit(metric: Any, name: str) -> MetricUnit:
    """Return what a value of a metric is counted in; the metric may be any object that an author wrote."""
    own: Mapping[str, MetricUnit] = getattr(metric, "units", {})
    if name in own:
        return own[name]
    scale = float(getattr(metric, "scale", 1.0))
    return MetricUnit(scale, bool(getattr(metric, "is_share", scale != 1.0)))


class ListMetric:
    """A metric over all predictions of a dataset at once.

    A call returns its values by name; `last_score_lists` then holds the value of every sample of that call.
    """

    scale: ClassVar[float] = 1.0
    """What a call returns for a perfect share: 100.0 for percent metrics. Samples' values are not scaled."""
    higher_is_better: ClassVar[bool] = True
    """Whether a larger value is the better one."""
    units: Mapping[str, MetricUnit] = {}
    """Of the values that are counted otherwise than `scale` says."""
    corpus_values: ClassVar[Collection[str]] = ()
    """Values over all samples that are no mean of the samples' own, even where they happen to equal it."""
    takes_samples: ClassVar[bool] = False
    """Whether a prediction is the list of all answers to a question, and not the one they agree on."""

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return the metric's values by name, and keep the samples' in `last_score_lists`."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(predictions, references)")

    @property
    def last_score_lists(self) -> dict[str, list[float]]:
        """The values of the samples in the latest call, by name, in the order of its predictions."""
        # Made on first use and not in __init__: an author's subclass may have one that does not call ours.
        lists: dict[str, list[float]] = self.__dict__.setdefault("_last_score_lists", {})
        return lists

    @last_score_lists.setter
    def last_score_lists(self, values: Mapping[str, Sequence[Any]]) -> None:
        self.__dict__["_last_score_lists"] = {
            name: [float(value) for value in scores] for name, scores in values.items()
        }

    @property
    def last_ratios(self) -> dict[str, list[tuple[float, float]]]:
        """For values that divide a sum over the samples by another: each sample's part of both sums."""
        ratios: dict[str, list[tuple[float, float]]] = self.__dict__.setdefault("_last_ratios", {})
        return ratios

    @property
    def last_intervals(self) -> dict[str, tuple[float, float]]:
        """The 95 % intervals of the latest call's values that the metric knows itself, scaled as they are."""
        intervals: dict[str, tuple[float, float]] = self.__dict__.setdefault("_last_intervals", {})
        return intervals

    @property
    def last_counts(self) -> dict[str, list[float]]:
        """For values that are a sum over the samples: each sample's part of it."""
        counts: dict[str, list[float]] = self.__dict__.setdefault("_last_counts", {})
        return counts

    def setup_metric(self, *_: Any, **__: Any) -> None:
        """Take what the run knows: model_args, dataset_args, evaluation_args, dataset. Does nothing here."""

    def check_plan(self, n_samples: int) -> None:
        """Raise when so many answers to each question are not what the metric needs. Called before a run."""

    def notes(self) -> Sequence[str]:
        """Return what a person should know about how the latest call worked."""
        return ()

    def _mean(self, name: str, scores: Sequence[float]) -> dict[str, float]:
        """Keep the samples' values and return their mean, scaled."""
        self.last_score_lists = {name: scores}
        return {name: self.scale * sum(scores) / len(scores)}
