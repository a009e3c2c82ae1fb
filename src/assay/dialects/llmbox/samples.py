"""The samples that an author's rows become."""

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
    one: FormattedDataset, rows: Sequence[dict[str, Any]], references: Sequence[Any]
) -> list[Sample]:
    """Return a sample for each row; `rows` are those of `plain_row`, as they were before formatting."""
    dataset = one.dataset
    made = []
    for number, (sample_id, fields) in enumerate(zip(one.index, rows, strict=True)):
        row = one.instances[number]
        reference = references[number]
        options = row.choices if dataset.evaluation_type == "ranking" else ()
        # Beside the index of an option, which options are right is the metric's to say.
        gold = (int(reference),) if options and is_index(reference) and 0 <= reference < len(options) else ()
        made.append(
            Sample(
                sample_id,
                fields,
                Origin(str(one.author.path), row=one.numbers[number] + 1),
                choices=options,
                labels=letters(len(options)),
                gold=gold,
                targets=() if options else _texts(reference),
                group=_group(one, {**dataset.evaluation_data[number], **fields}),
            )
        )
    return made


def _group(one: FormattedDataset, fields: Mapping[str, Any]) -> str | None:
    column = one.dataset.category_column
    if column is None:
        return None
    if column not in fields:
        raise AuthorError(
            one.author.problem(
                "LLMBOX-011",
                f"category_column is {column!r}, which the rows do not have{suggest_name(column, fields)}",
                f"name one of {listing(fields)}",
            )
        )
    return compose_name(str(fields[column]))


def is_index(value: Any) -> bool:
    """Whether a reference is a whole number, of any library."""
    return isinstance(value.item() if hasattr(value, "item") else value, int)


def _texts(reference: Any) -> tuple[str, ...]:
    if isinstance(reference, str):
        return (reference,)
    if isinstance(reference, (list, tuple)) and all(isinstance(one, str) for one in reference):
        return tuple(reference)
    return ()
