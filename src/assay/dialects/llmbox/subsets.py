"""Select the subsets of a dataset class to compile."""

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
    loaded: LoadedClass, selection: str, arguments: ClassArguments, raw_data: RawData, notes: list[str]
) -> Sequence[str | None]:
    """Return the selected subsets; [None] for a dataset without subsets.

    Adds notes about subsets that the class names but the data does not have.
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
        # The loader takes it from load_args. The original uses only the dataset's name for such a task.
        return [None]
    known = _list_subsets(loaded, load_args, arguments, raw_data)
    if known:
        _check_subset_names(loaded, categories or {}, banned, known, notes)
    selected = select_parts(
        selection,
        known,
        dataset=loaded.name,
        categories=categories,
        banned=banned,
        noun="subset",
        code="LLMBOX-008",
    )
    if categories and not selected:
        notes.append("categorized_subsets has no effect: the dataset has no subsets")
    return selected or [None]


def _check_subset_names(
    loaded: LoadedClass,
    categories: Mapping[str, Sequence[str]],
    banned: Sequence[str],
    known: Sequence[str],
    notes: list[str],
) -> None:
    """Reject a subset name that looks misspelled; add a note for one that the data does not have.

    A data folder can contain only some subsets of a large dataset, so a missing name is not an error.
    """
    named = {f"categorized_subsets[{name!r}]": members for name, members in categories.items()}
    everywhere = {subset for members in (*categories.values(), banned) for subset in members}
    unnamed = [subset for subset in known if subset not in everywhere]
    problems = Problems()
    for place, members in {**named, "banned_subsets": banned}.items():
        for subset in members:
            if subset in known:
                continue
            what = f"{place} contains {subset!r}, which is not a subset of the data"
            if (nearest := find_nearest_name(subset, unnamed)) is not None:
                what += f" (did you mean {nearest!r}?)"
                problems.add(loaded.author.problem("LLMBOX-011", what, f"write one of {listing(known)}"))
            elif place != "banned_subsets":
                notes.append(f"{what}: no mean is computed for the category")
    problems.raise_if_any()


def _list_subsets(
    loaded: LoadedClass, load_args: Any, arguments: ClassArguments, raw_data: RawData
) -> Sequence[str]:
    try:
        return raw_data.subsets(
            loaded.name, load_args, split=arguments.evaluation_set or loaded.cls.evaluation_set
        )
    except AuthorError:
        # A class that loads its own rows needs no dataset of that name.
        if loaded.cls.load_raw_dataset is Dataset.load_raw_dataset:
            raise
        return []


def find_categories(cls: type[Dataset]) -> Mapping[str, Sequence[str]] | None:
    """Return the subsets of each category, by either of the documentation's two spellings."""
    categories = getattr(cls, "categorized_subsets", None) or getattr(cls, "category_subsets", None)
    return categories if isinstance(categories, Mapping) else None
