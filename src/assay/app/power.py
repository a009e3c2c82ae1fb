"""What a comparison of two runs could show, before there is a run."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.compilation import CompiledDataset
from assay.core.rounding import format_percent
from assay.core.task import Task
from assay.results.subset_families import group_by_family
from assay.scoring.statistics import POWER, find_smallest_share_difference

EXPECTED_DISCORDANCE = 0.1
"""The share of samples that one of two runs has right and the other wrong. Two versions of a model or of a
prompt often differ on fewer, different models on more."""
_DATASETS_SHOWN = 4


def describe_detectable_differences(compiled: Sequence[CompiledDataset], tasks: Sequence[Task]) -> list[str]:
    """Return one line for each dataset that has right answers: which differences two runs could show."""
    kinds = {one.task.spec.name: one.kind for one in compiled}
    families = [
        family
        for family in group_by_family([task.spec for task in tasks])
        if all(
            kinds[task.name] != "text" and not task.settings.get("said", {}).get("no_answers")
            for task in family.tasks
        )
    ]
    return [
        (f"{family.name}: " if len(families) > 1 else "")
        + describe_detectable_difference([task.n_samples for task in family.tasks])
        for family in families[:_DATASETS_SHOWN]
    ]


def describe_detectable_difference(sizes: Sequence[int]) -> str:
    """Return the smallest difference that two runs on samples of these subsets could show."""
    n = sum(sizes)
    rows = "1 row" if n == 1 else f"{n:,} rows"
    # In a mean over subsets, each subset has the same weight, whatever its size.
    n_effective = len(sizes) ** 2 / sum(1 / size for size in sizes) if all(sizes) else 0
    smallest = find_smallest_share_difference(EXPECTED_DISCORDANCE, n_effective)
    if smallest is None:
        return f"with {rows}, no difference between two runs is detectable"
    points, power = format_percent(smallest), f"{100 * POWER:.0f} % power"
    if smallest > EXPECTED_DISCORDANCE:
        # Two runs that differ by more than they were expected to disagree disagree only in one direction.
        return f"with {rows}, only differences of {points} points or more are detectable ({power})"
    discordance = f"if two runs disagree on {100 * EXPECTED_DISCORDANCE:.0f} % of the rows"
    return f"with {rows}, differences of {points} points or more are detectable ({power}, {discordance})"
