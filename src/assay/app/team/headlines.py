"""Whether a dataset has the metric that it is to be judged by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from assay.app.run import compile_with_settings
from assay.app.scorers import build_scorers
from assay.app.settings import RunSettings
from assay.core.errors import AuthorError, PlanError, Problem, listing, suggest_name
from assay.core.score import MACRO
from assay.dialects.shared.compilation import CompiledDataset
from assay.dialects.table.compile import CompiledTable
from assay.engine.plan import METHOD_BY_KIND
from assay.scoring.scorers.registry import DeclaresMetrics
from assay.scoring.scorers.response_outcomes import ACCURACY


def require_headline(datasets: tuple[str, ...], values: RunSettings, headline: str) -> None:
    """Raise where no way of asking about some tables gives a metric. They compile, as is known already."""
    known: dict[str, None] = {}
    for method in METHOD_BY_KIND.values():
        for name in _metrics(_compile_by_method(method, datasets, values)):
            if name == headline:
                return
            known[name] = None
    what = f"the 'headline' is {headline!r}{suggest_name(headline, known)}, which is no metric of the dataset"
    fix = f"name one of {listing(known, at_most=len(known))}, or leave it empty"
    raise AuthorError(Problem("TEAM-046", what, fix))


def _compile_by_method(
    method: str, datasets: tuple[str, ...], values: RunSettings
) -> Sequence[CompiledDataset]:
    try:
        return compile_with_settings(datasets, msgspec.structs.replace(values, method=(method,)), None)
    except (AuthorError, PlanError):
        # The method does not fit: texts are not asked for answers, and free answers have no options.
        return ()


def _metrics(compiled: Sequence[CompiledDataset]) -> Iterator[str]:
    for one in compiled:
        has_groups = isinstance(one, CompiledTable) and len(one.survey.group_counts) > 1
        for scorer in build_scorers(one.task):
            if isinstance(scorer, DeclaresMetrics):
                yield from scorer.gives
                if has_groups and scorer.gives[0] == ACCURACY:
                    yield f"{ACCURACY}{MACRO}"
