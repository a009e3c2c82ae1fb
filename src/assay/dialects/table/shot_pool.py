"""The pool of solved examples of a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from assay.core.errors import PlanError, Problem
from assay.core.origin import Origin
from assay.core.python_objects import is_python_name
from assay.core.sample import Sample
from assay.core.task import TaskSettings
from assay.dialects.shared.choices import ANSWER_FORMS
from assay.dialects.shared.fewshot import ShotPolicy, ShotPool
from assay.dialects.shared.sample_store import StoredSamples
from assay.dialects.table.answer_columns import AnswerColumnsSource
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.rows import TableRows
from assay.dialects.table.survey import Survey, survey_table
from assay.dialects.table.table_file import open_table, report_bad_rows
from assay.dialects.table.task import join_options
from assay.sources.file_names import find_on_disk
from assay.sources.files import select_settings
from assay.sources.hub_name import is_address
from assay.sources.source import Source


def build_shot_pool(
    source: Source,
    meta: TableMeta,
    survey: Survey,
    settings: TaskSettings,
    name: str,
    question: Callable[[Sample], str],
    find_split: Callable[[str, str], str] | None,
) -> tuple[ShotPool | None, Source | None, Survey | None]:
    """Return the pool of solved examples, and the source and survey of their file if it is another file."""
    if not settings.shots:
        return None, None, None
    other: Source | None = None
    pool_survey: Survey | None = None
    layout, n_rows = survey.layout, survey.n_rows
    if settings.shots_from is None:
        samples = TableRows(source, layout, survey.twins).samples()
    else:
        given = settings.shots_from
        if not is_address(given) and not is_python_name(given):
            given = str(find_on_disk(Path(given)))
        is_found = Path(given).exists() or is_python_name(given)
        file = given if is_found or find_split is None else find_split(source.path, given)
        other = open_table(file, select_settings(file, meta.file_settings), settings)
        if isinstance(source, AnswerColumnsSource):
            other = source.read_other(other)
        # Read the examples like the dataset, so that answers have the same form.
        form = layout.answer_form if layout.answer_form in ANSWER_FORMS else survey.meta.answer_is
        pool_meta = msgspec.structs.replace(survey.meta, id_column=None, answer_is=form)
        with report_bad_rows(other):
            pool_survey = survey_table(other, pool_meta, seed=settings.seed)
        n_rows = pool_survey.n_rows
        pool_layout = msgspec.structs.replace(
            pool_survey.layout,
            has_decimal_comma=other.has_decimal_comma,
            # Examples need the fields that the dataset's prompt uses.
            joins_question=layout.joins_question,
        )
        samples = TableRows(other, pool_layout, pool_survey.twins).samples()
    policy: ShotPolicy = "first" if other is not None else "random"
    if settings.shot_policy is not None:
        policy = "first" if settings.shot_policy == "first" else "random"
    pool = ShotPool(
        samples,
        settings.shots,
        policy=policy,
        seed=settings.seed,
        task=name,
        question=question,
        options=join_options,
        keep=StoredSamples,
    )
    # The row with the most duplicates decides: no row may silently get fewer examples than the others.
    if other is None:
        spare = pool.count_fewest_left()
    else:
        spare = min(
            (pool.n_left(sample) for sample in TableRows(source, layout).samples()), default=len(pool)
        )
    if spare < settings.shots:
        raise PlanError(
            Problem(
                "TABLE-013",
                f"{settings.shots} shots requested, but only {spare:,} of {n_rows:,} rows can be examples "
                f"for every row: {_explain_left_out(pool, spare, n_rows, is_own=other is None)}",
                "reduce --shots, or name a larger file with --shots-from",
                Origin((other or source).path),
            )
        )
    return pool, other, pool_survey


def _explain_left_out(pool: ShotPool, spare: int, n_rows: int, *, is_own: bool) -> str:
    """Return why the other rows cannot be examples for the row with the fewest examples."""
    n_same = len(pool) - spare
    reasons = []
    if n_unanswered := n_rows - len(pool):
        reasons.append(f"{n_unanswered:,} have no answer")
    if is_own and n_same == 1:
        reasons.append("a row is never its own example")
    elif n_same:
        reasons.append(f"{n_same:,} have the same prompt as the row to be answered")
    return " and ".join(reasons) or "there are no more rows"
