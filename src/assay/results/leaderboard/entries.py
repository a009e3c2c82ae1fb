"""From runs to entries: the metric that is a model's value on a dataset, and its conditions.

A dataset with subsets is represented by the mean over its subsets. Values share a column only if their
conditions are the same: data, samples, shots, fidelity, windows, metric, judge.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.ids import digest
from assay.core.model import ModelIdentity
from assay.core.run import RunStatus
from assay.core.run_index import IndexedRun, IndexedTask
from assay.core.score import MACRO, NO_METRIC, Metric
from assay.scoring.statistics import normal_quantile

MIXED = "mixed"
_DISTINGUISHING_SETTINGS = ("limit", "limit_seed", "fidelity", "windows")
"""Settings that separate columns; differences in all others become notes."""

_WHICH = ("drawn", "first", "last")
"""How a limit selects samples."""


class BoardRun(NamedTuple):
    """A run with its metrics, and the key of its sample values."""

    key: Hashable
    run: IndexedRun
    metrics: Sequence[Metric]


class Conditions(NamedTuple):
    """The conditions that all values of a column share."""

    dataset: str
    part: str | None
    method: str
    metric: str
    data: str
    samples: str
    shots: str
    fidelity: str
    windows: str
    judge: str
    prompt: str = ""


class BoardEntry(NamedTuple):
    """One value of one run."""

    conditions: Conditions
    source: BoardRun
    metric: Metric
    tasks: tuple[IndexedTask, ...]
    """The task, or the subsets averaged."""
    row: str
    """What its row on the board is identified by: its label, else its model."""
    label: str | None
    """The row's name, if it is not the model's own."""

    @property
    def model(self) -> ModelIdentity:
        """Return the model of the run."""
        return self.source.run.model

    @property
    def model_title(self) -> str:
        """Return the name of the row."""
        return self.label or self.model.title

    @property
    def sample_metric(self) -> str:
        """Return the name of the metric on single samples: without the suffix of a mean over subsets."""
        return self.metric.metric.removesuffix(MACRO) if self.is_mean else self.metric.metric

    @property
    def is_mean(self) -> bool:
        """Whether it is a mean over subsets."""
        return self.metric.task not in {task.name for task in self.tasks}

    @property
    def stderr(self) -> float | None:
        """Return the standard error; derived from the interval's width if only that is known (bootstrap)."""
        metric = self.metric
        if metric.stderr is not None or metric.low is None or metric.high is None:
            return metric.stderr
        return (metric.high - metric.low) / (2 * normal_quantile())

    @property
    def n_samples(self) -> int:
        """Return the number of samples."""
        return sum(task.n_samples for task in self.tasks)


class BoardEntries(NamedTuple):
    """The entries of all runs, the latest of each model under each set of conditions."""

    entries: list[BoardEntry]
    n_earlier: Mapping[tuple[str, Conditions], int]
    """Number of earlier runs replaced by a later one, by the row and the conditions."""
    notes: list[str]


def collect_entries(
    runs: Iterable[BoardRun],
    headlines: Mapping[str, str],
    registered: Mapping[str, str] | None = None,
    model_names: Mapping[str, str] | None = None,
) -> BoardEntries:
    """Return each model's values on each dataset; `headlines` maps datasets to the metric to show.

    `registered` does the same for registered datasets, and takes precedence over the runs' own headlines.
    `model_names` maps models to registered names, the labels of runs that have none.
    """
    latest: dict[tuple[str, Conditions], BoardEntry] = {}
    earlier: dict[tuple[str, Conditions], int] = {}
    notes: list[str] = []
    choice = _MetricChoice(headlines, registered or {})
    distinct = _deduplicate_runs(runs)
    labels = label_rows([one.run for one in distinct], model_names or {})
    notes += _note_shared_labels(one.run for one in distinct)
    for one, label in zip(distinct, labels, strict=True):
        row = one.run.model.key if label is None else f"label {label}"
        if one.run.status is RunStatus.UNSCORED:
            notes.append(f"{one.run.name}: no sample could be scored")
            continue
        if one.run.status is not RunStatus.COMPLETE:
            notes.append(f"{one.run.name} has status {one.run.status}; the board shows only complete runs")
            continue
        for place in _iter_run_datasets(one):
            metric = choice.of(place)
            if metric is None:
                continue
            if metric.value is None:
                notes.append(f"{one.run.name}: no sample of {place.dataset} could be scored")
                continue
            entry = BoardEntry(_conditions(one.run, place, metric), one, metric, place.tasks, row, label)
            key = (row, entry.conditions)
            if key in latest:
                earlier[key] = earlier.get(key, 0) + 1
            latest[key] = entry
    choice.check()
    return BoardEntries(list(latest.values()), earlier, [*notes, *choice.notes()])


def label_rows(runs: Sequence[IndexedRun], model_names: Mapping[str, str]) -> list[str | None]:
    """Return the label of each run's row; None if the model itself identifies it, wherever it is served.

    A run without a label takes the registered name of its model, or the label that other runs give the
    same model at the same address, if that is one label.
    """
    own = [run.label or model_names.get(run.model.name) for run in runs]
    labels: dict[str, set[str]] = {}
    for run, label in zip(runs, own, strict=True):
        if label is not None:
            labels.setdefault(run.model.digest, set()).add(label)

    def find_label(run: IndexedRun, label: str | None) -> str | None:
        others = labels.get(run.model.digest, set())
        return min(others) if label is None and len(others) == 1 else label

    return [find_label(run, label) for run, label in zip(runs, own, strict=True)]


def _note_shared_labels(runs: Iterable[IndexedRun]) -> list[str]:
    """Return a note for each label that several models have."""
    models: dict[str, set[str]] = {}
    for run in runs:
        if run.label is not None:
            models.setdefault(run.label, set()).add(run.model.key)
    return [
        f"the label {label!r} names {len(keys)} different models; its row shows the latest run of any of them"
        for label, keys in models.items()
        if len(keys) > 1
    ]


def _deduplicate_runs(runs: Iterable[BoardRun]) -> list[BoardRun]:
    """Return the runs by end time; copies of one run, as on several machines, count once."""
    distinct = {(run.run.id, run.run.fingerprint, run.run.started, run.run.finished): run for run in runs}
    return sorted(distinct.values(), key=_build_time_key)


def _build_time_key(one: BoardRun) -> tuple[str, str, str, str]:
    run = one.run
    return (run.finished or run.started, run.host, run.root, run.name)


class _RunDataset(NamedTuple):
    """A dataset of one run, or a category of its subsets, by one method."""

    dataset: str
    part: str | None
    metrics: list[Metric]
    tasks: tuple[IndexedTask, ...]


def _iter_run_datasets(one: BoardRun) -> Iterator[_RunDataset]:
    """Yield the datasets of a run: single tasks, and subsets together if they have a mean.

    Separately registered datasets stay separate, even if one file defines several.
    """
    tasks = {task.name: task for task in one.run.tasks}
    registered = {task.family for task in one.run.tasks if task.is_registered}
    families: dict[str, list[IndexedTask]] = {}
    for task in one.run.tasks:
        if task.family is not None and task.family not in registered:
            families.setdefault(task.family, []).append(task)
    cells: dict[tuple[str, str, str | None], list[Metric]] = {}
    for metric in one.metrics:
        is_own = metric.task in tasks and metric.group is None
        is_family = metric.task not in tasks and metric.task in families
        if (is_own or is_family) and metric.metric != NO_METRIC:
            cells.setdefault((metric.task, metric.method, metric.group), []).append(metric)
    for (name, method, part), metrics in cells.items():
        if name not in tasks:
            members = tuple(task for task in families[name] if part is None or part in task.categories)
            # A category with a single subset is shown by that subset's own metric below.
            if part is None or len(members) > 1:
                yield _RunDataset(name, part, metrics, members)
            continue
        task = tasks[name]
        if task.family not in families or (task.family, method, None) not in cells:
            yield _RunDataset(name, None, metrics, (task,))
            continue
        for category in task.categories:
            if sum(category in other.categories for other in families[task.family]) == 1:
                yield _RunDataset(task.family, category, metrics, (task,))


class _MetricChoice:
    """Chooses the metric of a dataset: the requested one, the registered one, or the first headline."""

    def __init__(self, requested: Mapping[str, str], registered: Mapping[str, str]) -> None:
        self._requested = requested
        self._registered = registered
        self._names: set[str] = set()
        self._known: dict[str, set[str]] = {}
        self._headlines: dict[str, str] = {}
        """The registered metrics of datasets."""

    def of(self, place: _RunDataset) -> Metric | None:
        """Return the metric; None if the place does not have it."""
        self._known.setdefault(place.dataset, set()).update(one.metric for one in place.metrics)
        requested = self._requested.get(place.dataset)
        if requested is not None:
            chosen = _find_metric(requested, place.metrics)
            if chosen is not None:
                self._names.add(place.dataset)
            return chosen
        registered = self._registered.get(place.dataset, place.tasks[0].headline)
        if registered is not None:
            self._headlines[place.dataset] = registered
        named = None if registered is None else _find_metric(registered, place.metrics)
        return named or next((one for one in place.metrics if one.is_headline), None)

    def notes(self) -> list[str]:
        """Return a note for each dataset whose registered metric no run has."""
        return [
            f"{dataset} is registered with the metric {headline!r}, which none of its runs has; the default "
            f"metric of each method is shown{suggest_name(headline, self._known[dataset])}"
            for dataset, headline in self._headlines.items()
            if self._known[dataset].isdisjoint((headline, f"{headline}{MACRO}"))
        ]

    def check(self) -> None:
        """Raise UsageError for a requested dataset or metric that no run has."""
        for dataset in self._requested.keys() - self._names:
            metric, names = self._requested[dataset], sorted(self._known.get(dataset, ()))
            if names:
                what = f"{dataset!r} has no metric {metric!r}{suggest_name(metric, names)}"
                fix = f"its metrics are {listing(names)}"
            else:
                what = f"no run has the dataset {dataset!r}{suggest_name(dataset, self._known)}"
                fix = f"the datasets are {listing(sorted(self._known))}"
            raise UsageError(Problem("BOARD-003", f"--metric: {what}", fix))


def _find_metric(name: str, metrics: Sequence[Metric]) -> Metric | None:
    """Return the metric with a name; a mean over subsets also matches the name of the averaged metric."""
    return next((one for one in metrics if one.metric in (name, f"{name}{MACRO}")), None)


def _conditions(run: IndexedRun, place: _RunDataset, metric: Metric) -> Conditions:
    tasks = place.tasks

    def shared(values: Iterable[str]) -> str:
        different = set(values)
        return different.pop() if len(different) == 1 else MIXED

    hashes = sorted((task.name, task.data_hash) for task in tasks)
    return Conditions(
        dataset=place.dataset,
        part=place.part,
        method=metric.method,
        metric=metric.metric,
        data=tasks[0].data_hash if len(tasks) == 1 else digest(hashes, size=16),
        samples=_samples(tasks),
        shots=shared(task.shots.get(metric.method, "0") for task in tasks),
        fidelity=shared(_unquote_setting(task.settings.get("fidelity", "")) for task in tasks),
        windows=shared(_unquote_setting(task.settings.get("windows", "")) for task in tasks),
        judge="" if run.judge is None else f"{run.judge.title} {run.judge.key[:6]}",
        prompt=run.prompt or "",
    )


def _unquote_setting(text: str) -> str:
    return "" if text == "null" else text.strip('"')


def _samples(tasks: Sequence[IndexedTask]) -> str:
    """Describe which of the dataset's rows were evaluated."""
    n, of = sum(task.n_samples for task in tasks), sum(task.n_rows for task in tasks)
    limits = {task.settings.get("limit", "null") for task in tasks}
    if n == of:
        return f"all {n:,}"
    if limits == {"null"}:
        return f"{n:,} of {of:,}"
    which = next((name for name in _WHICH if all(f'"{name}"' in limit for limit in limits)), MIXED)
    seeds = {task.settings.get("limit_seed", task.settings.get("seed", "0")) for task in tasks}
    seed = f" with seed {MIXED if len(seeds) > 1 else seeds.pop()}" if which == "drawn" else ""
    return f"{n:,} of {of:,} {which}{seed}"


def _get_scorer(entry: BoardEntry) -> str:
    """Return the scorer of an entry's method; rescoring may have changed it."""
    return entry.tasks[0].scorers.get(entry.conditions.method, "the dataset's own code")


def find_differing_settings(entries: Sequence[BoardEntry]) -> list[str]:
    """Describe the settings that differ between runs of one column and do not separate columns."""
    # The subsets of a dataset have the same settings, so the first one is enough.
    settings = [{**entry.tasks[0].settings, "scorer": _get_scorer(entry)} for entry in entries]
    found = []
    for name in dict.fromkeys(name for one in settings for name in one):
        values = list(dict.fromkeys(one.get(name, "null") for one in settings))
        if name not in _DISTINGUISHING_SETTINGS and len(values) > 1:
            is_short = not any(text.startswith("#") for text in values)
            found.append(f"{name} ({', '.join(values)})" if is_short else name)
    return found
