"""Aggregates over the scores and answers of a run: the scores and plots of its page."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence

from assay.core.run import RunManifest
from assay.core.score import Metric, Verdict
from assay.results.pages.data import Calibration, Distribution, Role, ScoreRow, ThinkingCurve
from assay.results.pages.sample_columns import OptionLine, ResponseLine, ScoreLine
from assay.results.rows import format_metric_interval, format_metric_method, format_metric_value
from assay.results.subset_families import group_by_family, is_subset_mean, map_task_families
from assay.scoring.ratios import RunningRatio
from assay.scoring.statistics import RunningMean


class RunFacts:
    """Aggregates that grow with the run."""

    def __init__(self) -> None:
        self._sure: dict[tuple[str, str], tuple[array[float], array[float]]] = {}
        """For each task and method: the model's confidence, and whether it was right."""
        self._numbers: dict[tuple[str, str, str], array[float]] = {}
        """Values by name, unit and method."""
        self._running: dict[tuple[str, str, str], _PartialScore] = {}

    def count(self, score: ScoreLine) -> None:
        """Add a score to the partial mean."""
        named = (score.task, score.track, score.metric)
        so_far = self._running.get(named)
        if so_far is None:
            so_far = self._running[named] = _PartialScore()
        so_far.add(score)

    def add_score(self, score: ScoreLine) -> None:
        """Add a score of a sample in the table."""
        confidence = _confidence(score)
        if confidence is not None and score.value is not None:
            sure, right = self._sure.setdefault((score.task, score.track), (array("d"), array("d")))
            sure.append(confidence)
            right.append(score.value)
        if score.margin is not None:
            self._take("margin", "", score.track, score.margin)

    def add_answer(self, track: str, response: ResponseLine, n_tokens: int) -> None:
        """Add the cost of one answer; `n_tokens` were scored or generated."""
        if response.outcome.n_prompt_tokens:
            self._take("prompt", "tokens", track, response.outcome.n_prompt_tokens)
        if n_tokens:
            self._take("answer", "tokens", track, n_tokens)
        if response.n_thinking_tokens:
            self._take("thinking", "tokens", track, response.n_thinking_tokens)
        if response.latency_s:
            self._take("latency", "s", track, response.latency_s)
        elif response.seconds:
            self._take("model time", "s", track, response.seconds)

    def _take(self, name: str, unit: str, track: str, number: float) -> None:
        numbers = self._numbers.get((name, unit, track))
        if numbers is None:
            numbers = self._numbers[name, unit, track] = array("d")
        numbers.append(number)

    def calibrations(self, manifest: RunManifest) -> tuple[Calibration, ...]:
        """Return confidence against accuracy, over all subsets of each dataset."""
        # Import numpy only when a page is built, not in every command.
        from assay.results.pages.spreads import compute_calibration

        owner = map_task_families(manifest)
        joined: dict[tuple[str, str], tuple[array[float], array[float]]] = {}
        for (task, track), (sure, right) in self._sure.items():
            all_sure, all_right = joined.setdefault((owner[task].name, track), (array("d"), array("d")))
            all_sure.extend(sure)
            all_right.extend(right)
        return tuple(
            compute_calibration(name, track, sure, right) for (name, track), (sure, right) in joined.items()
        )

    def distributions(self) -> tuple[Distribution, ...]:
        """Return the distributions of lengths, times and margins."""
        from assay.results.pages.spreads import compute_distribution

        return tuple(
            compute_distribution(name, unit, track, numbers)
            for (name, unit, track), numbers in self._numbers.items()
        )

    def build_partial_rows(self, manifest: RunManifest) -> tuple[ScoreRow, ...]:
        """Return the partial scores of an incomplete run."""
        planned = {task.name: task.n_samples for task in manifest.tasks}
        return tuple(
            so_far.row(task, track, metric, planned.get(task, 0))
            for (task, track, metric), so_far in self._running.items()
        )


def build_thinking_curves(
    samples: Iterable[tuple[str, str, int, float]], manifest: RunManifest
) -> tuple[ThinkingCurve, ...]:
    """Return accuracy by thinking tokens, over all subsets of each dataset."""
    owner = map_task_families(manifest)
    joined: dict[tuple[str, str], tuple[array[float], array[float]]] = {}
    for task, track, n, value in samples:
        tokens, right = joined.setdefault((owner[task].name, track), (array("d"), array("d")))
        tokens.append(n)
        right.append(value)
    if not joined:
        return ()
    from assay.results.pages.spreads import compute_thinking_curve

    return tuple(
        compute_thinking_curve(name, track, tokens, right)
        for (name, track), (tokens, right) in joined.items()
    )


class _PartialScore:
    """A score over the samples so far."""

    def __init__(self) -> None:
        self.values = RunningMean()
        self.ratio: RunningRatio | None = None
        """For a metric that is a ratio of sums, such as a perplexity."""
        self.n_unanswered = self.n_truncated = self.n_failed = 0
        self.is_share = True

    def add(self, score: ScoreLine) -> None:
        self.n_truncated += score.is_truncated
        if score.verdict is Verdict.FAILED:
            self.n_failed += 1
        elif score.verdict is Verdict.UNANSWERED:
            self.n_unanswered += 1
            self.values.add(0.0, score.cluster)
        elif score.value is not None and score.verdict is Verdict.SCORED:
            ratio = score.ratios.get(score.metric)
            if ratio is None:
                self.is_share = self.is_share and 0 <= score.value <= 1
                self.values.add(score.value, score.cluster)
                return
            self.is_share = False
            if self.ratio is None:
                self.ratio = RunningRatio(is_exponential=ratio.is_exponential)
            self.ratio.add(ratio.numerator, ratio.denominator, score.cluster)

    def row(self, task: str, track: str, metric: str, n: int) -> ScoreRow:
        estimate = self.values.estimate() if self.ratio is None else self.ratio.estimate()
        n_counted = self.values.n + (0 if self.ratio is None else self.ratio.n)
        known = Metric(
            task=task,
            method=track,
            metric=metric,
            group=None,
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            n=n,
            n_scored=n_counted - self.n_unanswered,
            n_unanswered=self.n_unanswered,
            n_truncated=self.n_truncated,
            n_failed=self.n_failed,
            is_headline=True,
            is_share=self.is_share,
        )
        return _row(known, task, "task")


def build_score_rows(metrics: Sequence[Metric], manifest: RunManifest) -> tuple[ScoreRow, ...]:
    """Return all metrics of a complete run with label and role."""
    known = {family.name: family for family in group_by_family(manifest.tasks)}
    rows = []
    for metric in metrics:
        if not is_subset_mean(metric, manifest):
            is_whole = metric.group is None
            rows.append(
                _row(metric, metric.task if is_whole else str(metric.group), "task" if is_whole else "group")
            )
        elif metric.task in known:
            n = len(known[metric.task].members(metric.group))
            part = "" if metric.group is None else f":[{metric.group}]"
            rows.append(_row(metric, f"{metric.task}{part}, mean of {n}", "mean"))
        else:
            n = len(manifest.groups.get(metric.task, ()))
            rows.append(_row(metric, f"{metric.task}, group of {n}", "mean"))
    return tuple(rows)


def _row(metric: Metric, label: str, role: Role) -> ScoreRow:
    return ScoreRow(
        label=label,
        task=metric.task,
        method=format_metric_method(metric),
        metric=metric.metric,
        group=metric.group,
        role=role,
        value=metric.value,
        low=metric.low,
        high=metric.high,
        shown=format_metric_value(metric),
        interval=format_metric_interval(metric),
        n=metric.n,
        n_counted=metric.n_counted,
        n_scored=metric.n_scored,
        n_unanswered=metric.n_unanswered,
        n_truncated=metric.n_truncated,
        n_failed=metric.n_failed,
        is_share=metric.is_share,
        higher_is_better=metric.higher_is_better,
        is_headline=metric.is_headline,
        is_listed=metric.is_listed,
        why=metric.why,
    )


def _confidence(score: ScoreLine) -> float | None:
    """Return the answer's share of the probability of all options; None if unknown."""
    if score.verdict is not Verdict.SCORED or not score.options or score.value not in (0.0, 1.0):
        return None
    place = next((nth for nth, option in enumerate(score.options) if option.label == score.answer), None)
    if place is None:
        return None
    if all(option.prob is not None and option.prob_at_most is None for option in score.options):
        return score.options[place].prob
    return _compute_option_share(place, score.options)


def _compute_option_share(place: int, options: Sequence[OptionLine]) -> float | None:
    sums = [option.sum_logprob for option in options]
    known = [one for one in sums if one is not None and math.isfinite(one)]
    if len(known) < len(sums):
        return None
    greatest = max(known)
    return math.exp(known[place] - greatest) / math.fsum(math.exp(one - greatest) for one in known)
