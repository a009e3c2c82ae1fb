"""The summarizer of a config: the rows of its table, and the groups of datasets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast, get_args

from assay.core.arithmetic import ALLOWED, NotArithmetic, compile_arithmetic
from assay.core.errors import Problem, Problems, listing, suggest_name
from assay.core.origin import Origin
from assay.core.summary_group import Joining, Subset, SummaryGroup
from assay.dialects.openicl.authored.code import get_short_name
from assay.dialects.openicl.config.lists import read_summarizer
from assay.dialects.openicl.config.loading import LoadedConfig

SUMMARY_CODE = "OPENICL-041"
GROUPS_SUFFIX = "_summary_groups"
_KEYS = ("type", "attr", "dataset_abbrs", "summary_groups", "prompt_db")
_GROUP_KEYS = (*("name", "subsets", "weights", "metric", "std", "sum", "harmonic_mean", "transforms"),)
_FLAGS: Mapping[str, Joining] = {
    "std": "standard_deviation",
    "sum": "sum",
    "weights": "weighted_average",
    "harmonic_mean": "harmonic_mean",
}
"""The ways to aggregate a group's values, in order of precedence."""
_SUPPORTED_SUMMARIZERS = ("DefaultSummarizer",)


class ConfigSummary(NamedTuple):
    """The summary settings of a config."""

    rows: tuple[Subset, ...] | None = None
    """The rows of the table in order, including headings; None: every dataset and every group."""
    groups: tuple[SummaryGroup, ...] = ()
    notes: tuple[str, ...] = ()


def read_summary(config: LoadedConfig, key: str | None = None) -> ConfigSummary:
    """Return the summary settings of a config; raise all problems together.

    `key`: the variable of the summarizer. If the summarizer has no groups, the variables that end with
    `_summary_groups` define them.
    """
    where = Origin(str(config.path))
    problems = Problems()
    if key is not None and not isinstance(config.values.get(key), dict):
        known = [name for name, value in config.values.items() if isinstance(value, dict)]
        what = f"there is no summarizer {key!r}{suggest_name(key, known)}; it has {listing(known) or 'none'}"
        problems.add(Problem(SUMMARY_CODE, what, "choose one of these", where))
        problems.raise_if_any()
    given: Mapping[str, Any] = (config.values[key] if key is not None else read_summarizer(config)) or {}
    notes = []
    kind = get_short_name(given["type"]) if given.get("type") else _SUPPORTED_SUMMARIZERS[0]
    if kind not in _SUPPORTED_SUMMARIZERS:
        notes.append(f"summarizer {kind}: its own table is not supported; using the default one")
    for name in given:
        if name not in _KEYS and kind in _SUPPORTED_SUMMARIZERS:
            what = f"summarizer has the unknown key {name!r}{suggest_name(str(name), _KEYS)}"
            problems.add(Problem(SUMMARY_CODE, what, f"supported: {listing(_KEYS)}", where))
    written = given.get("summary_groups")
    if written is None:
        named = [value for name, value in config.values.items() if name.endswith(GROUPS_SUFFIX)]
        written = [group for value in named if isinstance(value, list | tuple) for group in value]
    rows = given.get("dataset_abbrs")
    summary = ConfigSummary(
        None if rows is None else tuple(_rows(rows, where, problems)),
        tuple(read_groups(written, where, problems)),
        tuple(notes),
    )
    problems.raise_if_any()
    return summary


def _rows(given: Any, where: Origin, problems: Problems) -> Iterator[Subset]:
    if not isinstance(given, list | tuple):
        what = f"summarizer.dataset_abbrs is {given!r:.60}, expected a list"
        problems.add(Problem(SUMMARY_CODE, what, "write dataset_abbrs=['NAME', ('NAME', 'METRIC')]", where))
        return
    for one in given:
        subset = _subset(one)
        if subset is None:
            what = f"summarizer.dataset_abbrs has {one!r:.60}, expected a name or (name, metric)"
            problems.add(Problem(SUMMARY_CODE, what, "correct it", where))
        else:
            yield subset


def read_groups(given: Any, where: Origin, problems: Problems) -> Iterator[SummaryGroup]:
    """Yield checked groups; add problems to `problems`."""
    if not isinstance(given, list | tuple):
        what = f"summary_groups is {given!r:.60}, expected a list of dicts"
        problems.add(
            Problem(SUMMARY_CODE, what, "write summary_groups=[dict(name=..., subsets=[...])]", where)
        )
        return
    for index, group in enumerate(given):
        if not isinstance(group, Mapping):
            what = f"summary_groups[{index}] is {group!r:.60}, expected a dict"
            problems.add(Problem(SUMMARY_CODE, what, "write dict(name='NAME', subsets=[...])", where))
            continue
        found = _GroupReader(group, index, where, problems).group()
        if found is not None:
            yield found


class _GroupReader:
    """Reads one group."""

    def __init__(self, given: Mapping[str, Any], index: int, where: Origin, problems: Problems) -> None:
        self._given = given
        self._of = f"summary_groups[{index}]" + (f" {given['name']!r}" if "name" in given else "")
        self._where = where
        self._problems = problems

    def group(self) -> SummaryGroup | None:
        before = self._problems.total
        given = self._given
        for key in given:
            if key not in _GROUP_KEYS:
                self._problem(
                    f"has the unknown key {key!r}{suggest_name(str(key), _GROUP_KEYS)}", _GROUP_KEYS
                )
        if not isinstance(given.get("name"), str):
            self._problem("has no name", ("name",))
        subsets = self._subsets()
        metric = given.get("metric") or ""
        if not isinstance(metric, str):
            self._problem(f"metric is {metric!r:.60}, expected a name", ("metric",))
            metric = ""
        weights = self._weights(subsets)
        transforms = self._transforms(subsets)
        if self._problems.total > before:
            return None
        return SummaryGroup(given["name"], subsets, self._read_joining(metric), metric, weights, transforms)

    def _read_joining(self, metric: str) -> Joining:
        # The original uses only the metric's name if there is one; here a flag also counts.
        if metric in get_args(Joining):
            return cast(Joining, metric)
        return next((joining for flag, joining in _FLAGS.items() if self._given.get(flag)), "naive_average")

    def _subsets(self) -> tuple[Subset, ...]:
        given = self._given.get("subsets")
        if not isinstance(given, list | tuple) or not given:
            self._problem(f"subsets is {given!r:.60}, expected a list of names", ("subsets",))
            return ()
        found = []
        for one in given:
            subset = _subset(one)
            if subset is None:
                self._problem(f"subsets has {one!r:.60}, expected a name or (name, metric)", ("subsets",))
            else:
                found.append(subset)
        return tuple(found)

    def _weights(self, subsets: Sequence[Subset]) -> dict[str, float]:
        given = self._given.get("weights") or {}
        if not isinstance(given, Mapping):
            self._problem(f"weights is {given!r:.60}, expected a dict from names to numbers", ("weights",))
            return {}
        names = {one.name for one in subsets}
        for name, weight in given.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
                self._problem(
                    f"the weight of {name!r} is {weight!r:.60}, expected a number of at least 0", ("weights",)
                )
            elif str(name).partition("@")[0] not in names and name not in names:
                self._problem(
                    f"weights names {name!r}, which is not a subset{suggest_name(str(name), names)}",
                    ("weights",),
                )
        if given and not sum(one for one in given.values() if isinstance(one, int | float)):
            self._problem("the weights are all 0", ("weights",))
        return {str(name): float(weight) for name, weight in given.items() if isinstance(weight, int | float)}

    def _transforms(self, subsets: Sequence[Subset]) -> dict[str, str]:
        given = self._given.get("transforms") or {}
        if not isinstance(given, Mapping):
            self._problem(
                f"transforms is {given!r:.60}, expected a dict from names to texts", ("transforms",)
            )
            return {}
        for name, text in given.items():
            try:
                compile_arithmetic(text if isinstance(text, str) else "")
            except NotArithmetic as error:
                what = f"{self._of}: the transform of {name!r}, {text!r:.60}, is not arithmetic in x: {error}"
                fix = f"use only {ALLOWED}; other Python is not run"
                self._problems.add(Problem(SUMMARY_CODE, what, fix, self._where))
        return {str(name): text for name, text in given.items() if isinstance(text, str)}

    def _problem(self, what: str, keys: Sequence[str]) -> None:
        fix = f"supported: {listing(keys)}" if len(keys) > 1 else f"correct {keys[0]!r}"
        self._problems.add(Problem(SUMMARY_CODE, f"{self._of} {what}", fix, self._where))


def _subset(given: Any) -> Subset | None:
    if isinstance(given, str):
        return Subset(given)
    is_pair = (
        isinstance(given, list | tuple) and len(given) == 2 and all(isinstance(one, str) for one in given)
    )
    return Subset(*given) if is_pair else None
