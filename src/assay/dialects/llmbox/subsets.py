"""Which subsets of a dataset class are compiled: those selected, of those that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import AuthorError
from assay.dialects.llmbox.arguments import ClassArguments
from assay.dialects.llmbox.authoring import Dataset
from assay.dialects.llmbox.library.raw_data import RawData
from assay.dialects.llmbox.loading import LoadedClass
from assay.dialects.parts.selection import chosen_parts


def subsets_of(
    loaded: LoadedClass, selection: str, asked: ClassArguments, raw_data: RawData
) -> Sequence[str | None]:
    """Return the subsets that a selection means; [None] for a dataset that has none."""
    cls = loaded.cls
    load_args = getattr(cls, "load_args", None)
    categories = categories_of(cls)
    banned = getattr(cls, "banned_subsets", None) or ()
    banned = (banned,) if isinstance(banned, str) else tuple(banned)
    own = load_args[1] if load_args is not None and len(load_args) > 1 else None
    if own is not None and not selection:
        return [own]
    known = _known_subsets(loaded, load_args, asked, raw_data)
    meant = chosen_parts(
        selection,
        known,
        dataset=loaded.name,
        categories=categories,
        banned=banned,
        noun="subset",
        code="LLMBOX-008",
    )
    return meant or [None]


def _known_subsets(
    loaded: LoadedClass, load_args: Any, asked: ClassArguments, raw_data: RawData
) -> Sequence[str]:
    try:
        return raw_data.subsets(
            loaded.name, load_args, split=asked.evaluation_set or loaded.cls.evaluation_set
        )
    except AuthorError:
        # A class that loads its rows in its own way needs no dataset of that name.
        if loaded.cls.load_raw_dataset is Dataset.load_raw_dataset:
            raise
        return []


def categories_of(cls: type[Dataset]) -> Mapping[str, Sequence[str]] | None:
    """Return the subsets of each category, by either of the document's two spellings."""
    found = getattr(cls, "categorized_subsets", None) or getattr(cls, "category_subsets", None)
    return found if isinstance(found, Mapping) else None
