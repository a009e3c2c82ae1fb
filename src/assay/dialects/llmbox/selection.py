"""Which subsets of a dataset are meant: `name:sub1,sub2`, `name:[category]`, globs and `!exclusions`."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from assay.core.errors import Problem, UsageError, listing, nearest


def chosen_subsets(
    selection: str,
    known: Sequence[str],
    *,
    dataset: str,
    categories: Mapping[str, Sequence[str]] | None,
    banned: Sequence[str] = (),
) -> list[str]:
    """Return the subsets that a selection means, in their own order; nothing selected means all.

    `known` is empty when nobody knows which subsets there are: plain names are then taken as they are.
    """
    allowed = [name for name in known if name not in banned]
    parts = [part.strip() for part in selection.split(",") if part.strip()]
    wanted = [part for part in parts if not part.startswith("!")]
    unwanted = [part[1:] for part in parts if part.startswith("!")]
    found: dict[str, None] = {} if wanted else dict.fromkeys(allowed)
    for part in wanted:
        found.update(dict.fromkeys(_meant(part, allowed, dataset, categories)))
    for part in unwanted:
        for name in _meant(part, allowed, dataset, categories):
            found.pop(name, None)
    if parts and not found:
        raise _unknown(f"the selection {selection!r} leaves nothing over", dataset, allowed, "")
    order = {name: at for at, name in enumerate(allowed)}
    return sorted(found, key=lambda name: order.get(name, len(order)))


def _meant(
    part: str, known: Sequence[str], dataset: str, categories: Mapping[str, Sequence[str]] | None
) -> list[str]:
    if part.startswith("[") and part.endswith("]"):
        name = part[1:-1].strip()
        matching = [category for category in categories or {} if category.casefold() == name.casefold()]
        if not matching:
            raise _unknown(f"there is no category {name!r}", dataset, list(categories or {}), name)
        members = (categories or {})[matching[0]]
        return [member for member in members if member in known] if known else list(members)
    if any(char in part for char in "*?["):
        matches = fnmatch.filter(known, part)
        if not matches:
            raise _unknown(f"no subset is like {part!r}", dataset, known, "")
        return matches
    if known and part not in known:
        raise _unknown(f"there is no subset {part!r}", dataset, known, part)
    return [part]


def _unknown(what: str, dataset: str, known: Sequence[str], name: str) -> UsageError:
    return UsageError(
        Problem(
            "LLMBOX-008",
            f"{dataset}: {what}{nearest(name, known)}",
            f"choose from {listing(known, at_most=20)}" if known else "leave the selection away",
        )
    )
