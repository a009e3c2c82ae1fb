"""Grouping entries into columns, choosing the column that represents a dataset, and naming columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.results.leaderboard.board import BoardColumn
from assay.results.leaderboard.entries import BoardEntry, Conditions, find_differing_settings
from assay.results.leaderboard.pairwise_tests import (
    PairwiseTests,
    RankVerdicts,
    ValuesOf,
    decide_ranks,
    run_pairwise_tests,
)

_SHORT = 6
"""Characters of a hash in a name."""


class ComputedColumn(NamedTuple):
    """A column with its entries and comparisons."""

    column: BoardColumn
    entries: dict[str, BoardEntry]
    """By the row of the board."""
    compared: PairwiseTests
    """By the places of the entries."""
    verdicts: RankVerdicts


def build_columns(entries: Sequence[BoardEntry], values_of: ValuesOf) -> list[ComputedColumn]:
    """Return the columns by dataset: first the one that counts, then other conditions; categories last."""
    by_conditions: dict[Conditions, dict[str, BoardEntry]] = {}
    for entry in entries:
        by_conditions.setdefault(entry.conditions, {})[entry.row] = entry
    by_dataset: dict[tuple[str, str | None], list[Conditions]] = {}
    for conditions in by_conditions:
        by_dataset.setdefault((conditions.dataset, conditions.part), []).append(conditions)
    n_by_method = Counter(entry.conditions.method for entry in entries)
    columns = []
    for _, variants in sorted(by_dataset.items(), key=lambda one: _order(*one[0])):
        variants.sort(key=lambda one: _weight(by_conditions[one], n_by_method), reverse=True)
        for place, conditions in enumerate(variants):
            apart = _describe_distinction(conditions, variants)
            columns.append(_column(by_conditions[conditions], apart, values_of, counts=place == 0))
    return columns


def _order(dataset: str, part: str | None) -> tuple[bool, str, str]:
    return (part is not None, dataset.casefold(), part or "")


def _weight(
    entries: Mapping[str, BoardEntry], n_by_method: Mapping[str, int]
) -> tuple[int, int, int, str, str]:
    """Return the sort key of the column that represents a dataset.

    Number of models, then samples, then the board's most common method, so that a mean mixes methods only if
    it must, then the latest run.
    """
    latest = max(entry.source.run.started for entry in entries.values())
    one = next(iter(entries.values()))
    method = one.conditions.method
    return (len(entries), one.n_samples, n_by_method[method], latest, method)


def _column(
    entries: dict[str, BoardEntry], apart: tuple[str, ...], values_of: ValuesOf, *, counts: bool
) -> ComputedColumn:
    members = list(entries.values())
    first = members[0]
    conditions, metric = first.conditions, first.metric
    name = conditions.dataset + ("" if conditions.part is None else f":[{conditions.part}]")
    label = f"{name} ({', '.join(apart)})" if apart else name
    compared = run_pairwise_tests(members, values_of)
    known = {pair: one.difference for pair, one in compared.items() if one.difference is not None}
    ways = [one.how for one in compared.values()]
    notes = []
    if differing := find_differing_settings(members):
        notes.append(f"runs with different settings: {', '.join(differing)}")
    if "untested" in ways:
        n = ways.count("untested")
        notes.append(
            f"{n} of {len(ways)} pairs of models cannot be compared: {conditions.metric} has no "
            "sample values and no standard error"
        )
    if "unpaired" in ways:
        n = ways.count("unpaired")
        notes.append(f"{n} of {len(ways)} pairs of models are compared by an unpaired test")
    about = dict.fromkeys(task.about for entry in members for task in entry.tasks if task.about)
    shown = BoardColumn(
        dataset=conditions.dataset,
        part=conditions.part,
        label=label,
        apart=apart,
        method=conditions.method,
        metric=conditions.metric,
        conditions=_format_conditions(conditions),
        about="; ".join(about),
        is_share=metric.is_share and not metric.metric.startswith("perplexity"),
        higher_is_better=metric.higher_is_better,
        counts=counts,
        n_models=len(members),
        n_paired=ways.count("paired"),
        n_unpaired=ways.count("unpaired"),
        n_untested=ways.count("untested"),
        notes=tuple(notes),
    )
    decided = decide_ranks(len(members), known, higher_is_better=metric.higher_is_better)
    return ComputedColumn(shown, entries, compared, decided)


def _format_conditions(conditions: Conditions) -> dict[str, str]:
    texts = {
        "shots": conditions.shots,
        "samples": conditions.samples,
        "data": conditions.data,
        "fidelity": conditions.fidelity,
        "windows": conditions.windows,
        "judge": conditions.judge,
        "prompt": conditions.prompt,
    }
    return {name: text for name, text in texts.items() if text}


def _describe_distinction(conditions: Conditions, variants: Sequence[Conditions]) -> tuple[str, ...]:
    """Return the conditions in which a column differs from the others of its dataset."""
    words = {
        "method": conditions.method,
        "metric": conditions.metric,
        "shots": f"{conditions.shots}-shot",
        "samples": conditions.samples,
        "fidelity": conditions.fidelity,
        "windows": conditions.windows,
        "judge": f"judge {conditions.judge}" if conditions.judge else "no judge",
        "prompt": f"prompt {conditions.prompt}" if conditions.prompt else "default prompt",
        "data": f"data {conditions.data[:_SHORT]}",
    }
    return tuple(
        text for field, text in words.items() if text and len({getattr(one, field) for one in variants}) > 1
    )
