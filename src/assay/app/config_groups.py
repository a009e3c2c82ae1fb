"""Groups that configs of datasets describe, so that a run of theirs tells them without being asked."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from assay.app.languages import language_of
from assay.app.settings import RunSettings
from assay.core.summary_group import SummaryGroup


def groups_in(
    datasets: Sequence[str], values: RunSettings, tasks: Collection[str]
) -> tuple[SummaryGroup, ...]:
    """Return the groups of configs among some datasets, those of which every subset is evaluated."""
    groups: dict[str, SummaryGroup] = {}
    for name in datasets:
        if language_of(name, values.dialect, values.dataset_args) != "openicl":
            continue
        # Imported when used, as the languages themselves are.
        from assay.dialects.openicl.arguments import config_arguments
        from assay.dialects.openicl.config.loading import ConfigFiles
        from assay.dialects.openicl.detect import ConfigName
        from assay.dialects.openicl.summary import read_summary

        path = ConfigName.of(name).path
        root = config_arguments(values.dataset_args, path).root
        for group in read_summary(ConfigFiles(root).load(path)).groups:
            if all(subset.name in tasks or subset.name in groups for subset in group.subsets):
                groups[group.name] = group
    return tuple(groups.values())
