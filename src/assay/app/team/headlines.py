"""Whether a dataset has the metric that it is to be judged by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from assay.app.run import compile_asked
from assay.app.scorers import scorers_of
from assay.app.settings import RunSettings
from assay.core.errors import AuthorError, PlanError, Problem, listing, nearest
from assay.core.score import MACRO
from assay.dialects.shared.compilation import Compiled
from assay.dialects.table.compile import CompiledTable
from assay.engine.plan import METHOD_OF
from assay.scoring.scorers.registry import Foretold
from assay.scoring.scorers.response_outcomes import ACCURACY


def require_headline(datasets: tuple[str, ...], values: RunSettings, headline: str) -> None:
    """Raise where no way of asking about some tables gives a metric. They compile, as is known already."""
    known: dict[str, None] = {}
    for method in METHOD_OF.values():
        for name in _metrics(_asked_by(method, datasets, values)):
            if name == headline:
                return
            known[name] = None
    what = f"the 'headline' is {headline!r}{nearest(headline, known)}, which is no metric of the dataset"
    fix = f"name one of {listing(known, at_most=len(known))}, or leave it empty"
    raise AuthorError(Problem("TEAM-046", what, fix))


def _asked_by(method: str, datasets: tuple[str, ...], values: RunSettings) -> Sequence[Compiled]:
    try:
        return compile_asked(datasets, msgspec.structs.replace(values, method=(method,)), None)
    except (AuthorError, PlanError):
        # The method does not fit: texts are not asked for answers, and free answers have no options.
        return ()


def _metrics(compiled: Sequence[Compiled]) -> Iterator[str]:
    for one in compiled:
        has_groups = isinstance(one, CompiledTable) and len(one.survey.group_counts) > 1
        for scorer in scorers_of(one.task):
            if isinstance(scorer, Foretold):
                yield from scorer.gives
                if has_groups and scorer.gives[0] == ACCURACY:
                    yield f"{ACCURACY}{MACRO}"
