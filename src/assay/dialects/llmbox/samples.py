"""The samples made from an author's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import AuthorError, listing, suggest_name
from assay.core.names import compose_name
from assay.core.origin import Origin
from assay.core.sample import Sample
from assay.dialects.llmbox.formatted_dataset import FormattedDataset
from assay.dialects.llmbox.formatting import letters


def build_samples(
    prepared: FormattedDataset, rows: Sequence[dict[str, Any]], references: Sequence[Any]
) -> list[Sample]:
    """Return a sample for each row; `rows` are plain rows as they were before formatting."""
    dataset = prepared.dataset
    samples = []
    for number, (sample_id, fields) in enumerate(zip(prepared.index, rows, strict=True)):
        row = prepared.instances[number]
        reference = references[number]
        options = row.choices if dataset.evaluation_type == "ranking" else ()
        # Only an option's index says which option is right; other references are left to the metric.
        gold = (int(reference),) if options and is_index(reference) and 0 <= reference < len(options) else ()
        samples.append(
            Sample(
                sample_id,
                fields,
                Origin(str(prepared.author.path), row=prepared.numbers[number] + 1),
                choices=options,
                labels=letters(len(options)),
                gold=gold,
                targets=() if options else _texts(reference),
                group=_group(prepared, {**dataset.evaluation_data[number], **fields}),
            )
        )
    return samples


def _group(prepared: FormattedDataset, fields: Mapping[str, Any]) -> str | None:
    column = prepared.dataset.category_column
    if column is None:
        return None
    if column not in fields:
        raise AuthorError(
            prepared.author.problem(
                "LLMBOX-011",
                f"category_column is {column!r}, but the rows lack it{suggest_name(column, fields)}",
                f"use one of {listing(fields)}",
            )
        )
    return compose_name(str(fields[column]))


def is_index(value: Any) -> bool:
    """Return whether a reference is an integer, of any library."""
    return isinstance(value.item() if hasattr(value, "item") else value, int)


def _texts(reference: Any) -> tuple[str, ...]:
    if isinstance(reference, str):
        return (reference,)
    if isinstance(reference, (list, tuple)) and all(isinstance(text, str) for text in reference):
        return tuple(reference)
    return ()
