"""Selection of the examples for each row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.dialects.openicl.config.entry import DatasetEntry
from assay.dialects.openicl.dataset_rows import COLUMN_CODE
from assay.dialects.openicl.entry_validation import TEMPLATE_CODE, EntryContext, EntryParts
from assay.dialects.openicl.multimodal_prompts import MULTIMODAL_TEMPLATE as MULTIMODAL
from assay.dialects.openicl.multimodal_prompts import MultimodalPrompts
from assay.dialects.openicl.retrievers.corpus import Corpus, build_corpus, build_text_joiner
from assay.dialects.shared.lazy_rows import LazyRows


def build_entry_corpus(
    entry: DatasetEntry,
    parts: EntryParts,
    labels: Sequence[tuple[Any, ...]],
    context: EntryContext,
    where: Origin,
) -> Corpus | None:
    """Return the corpus for selecting examples; None if no examples are used."""
    retriever, test, train = parts.retriever, parts.data.test, parts.data.train
    if not retriever.count:
        return None
    if isinstance(parts.templates, MultimodalPrompts):
        what = f"{type(retriever).__name__} selects examples, but {MULTIMODAL} does not support them"
        raise AuthorError(Problem(TEMPLATE_CODE, what, "write retriever=dict(type=ZeroRetriever)", where))
    if parts.data.lacks_train is not None:
        what = f"{type(retriever).__name__} selects examples, but {parts.data.lacks_train}"
        raise AuthorError(Problem(COLUMN_CODE, what, "correct reader_cfg.train_split", where))
    encoder = _encoder(parts, context)
    rows = list_selected_rows(parts, context)
    return build_corpus(
        train.rows,
        LazyRows(rows, test.rows.__getitem__),
        text=build_text_joiner(entry.reader_cfg.input_columns),
        question=build_text_joiner(_list_question_columns(entry, parts)),
        output_column=entry.reader_cfg.output_column,
        sample_ids=LazyRows(rows, test.ids.__getitem__),
        task=entry.name,
        seed=context.settings.seed,
        places=LazyRows(rows, test.numbers.__getitem__),
        labels=labels[0],
        train_split=train.name or entry.reader_cfg.train_split,
        where=where,
        embedder=context.tools.open_embedder(encoder) if retriever.needs_embedder else None,
    )


def _list_question_columns(entry: DatasetEntry, parts: EntryParts) -> list[str]:
    """Return the columns that distinguish rows: the input, and the template's columns except the answer."""
    known = parts.data.test.columns
    shown = {*entry.reader_cfg.input_columns, *parts.templates.columns} - {entry.reader_cfg.output_column}
    return [name for name in known if name in shown and name in parts.data.train.columns]


def list_selected_rows(parts: EntryParts, context: EntryContext) -> Sequence[int]:
    """Return the rows that need examples: those within the limit.

    The originals draw over all rows in sequence, so a faithful run needs all rows.
    """
    ids, limit = parts.data.test.ids, context.settings.limit
    if limit is None or (context.settings.is_faithful and not parts.retriever.needs_model):
        return range(len(ids))
    chosen = limit.chosen(ids, context.settings.seed)
    return [at for at, row_id in enumerate(ids) if row_id in chosen]


def pick_examples(
    parts: EntryParts, corpus: Corpus | None, context: EntryContext
) -> Sequence[tuple[int, ...]]:
    """Return the examples of each row. Examples chosen by the model are selected later, before the run."""
    is_faithful = context.settings.is_faithful
    every: list[tuple[int, ...]] = [()] * len(parts.data.test)
    if corpus is None:
        return every
    if parts.retriever.needs_model:
        parts.retriever.check(corpus, is_faithful=is_faithful)
        return every
    found = parts.retriever.pick(corpus, is_faithful=is_faithful)
    for row, shots in zip(list_selected_rows(parts, context), found, strict=True):
        every[row] = shots
    return every


def _encoder(parts: EntryParts, context: EntryContext) -> str | None:
    """Return the folder of the encoder, from the arguments or from the config."""
    named = parts.retriever.encoder
    return context.arguments.embedder or (named if named and Path(named).is_dir() else None)
