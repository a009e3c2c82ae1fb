"""Which subsets of a dataset class are compiled: those selected, of those that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import AuthorError, Problems, listing
from assay.dialects.llmbox.arguments import ClassArguments
from assay.dialects.llmbox.authoring import Dataset
from assay.dialects.llmbox.library.raw_data import RawData
from assay.dialects.llmbox.loading import LoadedClass
from assay.dialects.shared.misspelt_names import find_nearest_name
from assay.dialects.shared.selection import select_parts


def select_subsets(
    loaded: LoadedClass, selection: str, asked: ClassArguments, raw_data: RawData, notes: list[str]
) -> Sequence[str | None]:
    """Return the subsets that a selection means; [None] for a dataset that has none.

    Adds to the notes which subsets the class names although the data does not have them.
    """
    cls = loaded.cls
    load_args = getattr(cls, "load_args", None)
    categories = find_categories(cls)
    banned = getattr(cls, "banned_subsets", None) or ()
    banned = (banned,) if isinstance(banned, str) else tuple(banned)
    own = load_args[1] if load_args is not None and len(load_args) > 1 else None
    if own is not None and not selection:
        if categories:
            notes.append(f"categorized_subsets has no effect: load_args names one subset, {own!r}")
        # The loader takes it from load_args. The original calls such a task by the dataset's name alone.
        return [None]
    known = _known_subsets(loaded, load_args, asked, raw_data)
    if known:
        _check_subset_names(loaded, categories or {}, banned, known, notes)
    meant = select_parts(
        selection,
        known,
        dataset=loaded.name,
        categories=categories,
        banned=banned,
        noun="subset",
        code="LLMBOX-008",
    )
    if categories and not meant:
        notes.append("categorized_subsets has no effect: the dataset has no subsets")
    return meant or [None]


def _check_subset_names(
    loaded: LoadedClass,
    categories: Mapping[str, Sequence[str]],
    banned: Sequence[str],
    known: Sequence[str],
    notes: list[str],
) -> None:
    """Reject a subset's name that looks misspelt; note one that the data simply lacks.

    A data folder may hold some subsets of a large dataset only, so a name alone is no mistake.
    """
    named = {f"categorized_subsets[{name!r}]": members for name, members in categories.items()}
    everywhere = {subset for members in (*categories.values(), banned) for subset in members}
    unnamed = [subset for subset in known if subset not in everywhere]
    problems = Problems()
    for place, members in {**named, "banned_subsets": banned}.items():
        for subset in members:
            if subset in known:
                continue
            what = f"{place} names {subset!r}, which is not among the subsets of the data"
            if (meant := find_nearest_name(subset, unnamed)) is not None:
                what += f" (did you mean {meant!r}?)"
                problems.add(loaded.author.problem("LLMBOX-011", what, f"write one of {listing(known)}"))
            elif place != "banned_subsets":
                notes.append(f"{what}: the category gets no mean")
    problems.raise_if_any()


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


def find_categories(cls: type[Dataset]) -> Mapping[str, Sequence[str]] | None:
    """Return the subsets of each category, by either of the document's two spellings."""
    found = getattr(cls, "categorized_subsets", None) or getattr(cls, "category_subsets", None)
    return found if isinstance(found, Mapping) else None
