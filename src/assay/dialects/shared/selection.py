"""Selection of parts of a dataset: `name:one,two`, `name:[category]`, globs and `!exclusions`."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.core.errors import Problem, UsageError, listing, suggest_name


def select_parts(
    selection: str,
    known: Sequence[str],
    *,
    dataset: str,
    noun: str,
    code: str,
    categories: Mapping[str, Sequence[str]] | None = None,
    banned: Sequence[str] = (),
) -> list[str]:
    """Return the selected parts in dataset order; an empty selection means all parts.

    `known` is empty if the parts are unknown; plain names are then returned unchanged. `noun`: the word for a
    part. `code`: the error code for an unknown part.
    """
    known = [name for name in known if name not in banned]
    parts = _Parts(dataset, known, categories or {}, noun, code)
    written = [part.strip() for part in selection.split(",") if part.strip()]
    wanted = [part for part in written if not part.startswith("!")]
    unwanted = [part[1:] for part in written if part.startswith("!")]
    found: dict[str, None] = {} if wanted else dict.fromkeys(known)
    for part in wanted:
        found.update(dict.fromkeys(parts.resolve_item(part)))
    for part in unwanted:
        for name in parts.resolve_item(part):
            found.pop(name, None)
    if written and not found:
        raise parts.unknown(f"the selection {selection!r} excludes everything", known, "")
    order = {name: at for at, name in enumerate(known)}
    return sorted(found, key=lambda name: order.get(name, len(order)))


class _Parts(NamedTuple):
    """The parts of one dataset."""

    dataset: str
    known: Sequence[str]
    categories: Mapping[str, Sequence[str]]
    noun: str
    code: str

    def resolve_item(self, part: str) -> list[str]:
        """Return the parts that one item of a selection names."""
        known = self.known
        if part.startswith("[") and part.endswith("]"):
            name = part[1:-1].strip()
            matching = [category for category in self.categories if category.casefold() == name.casefold()]
            if not matching:
                raise self.unknown(f"there is no category {name!r}", list(self.categories), name)
            members = self.categories[matching[0]]
            return [member for member in members if member in known] if known else list(members)
        if any(char in part for char in "*?["):
            matches = fnmatch.filter(known, part)
            if not matches:
                raise self.unknown(f"no {self.noun} matches {part!r}", known, "")
            return matches
        if known and part not in known:
            raise self.unknown(f"there is no {self.noun} {part!r}", known, part)
        return [part]

    def unknown(self, what: str, known: Sequence[str], name: str) -> UsageError:
        """Return the error for an unknown part."""
        return UsageError(
            Problem(
                self.code,
                f"{self.dataset}: {what}{suggest_name(name, known)}",
                f"choose from {listing(known, at_most=20)}" if known else "omit the selection",
            )
        )
