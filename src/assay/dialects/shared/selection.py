"""Which parts of a dataset are meant: `name:one,two`, `name:[category]`, globs and `!exclusions`."""

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
    """Return the parts that a selection means, in their own order; nothing selected means all.

    `known` is empty when nobody knows which parts there are: plain names are then taken as they are. `noun`:
    what a part is called. `code`: of the problem raised for a part that is not there.
    """
    known = [name for name in known if name not in banned]
    parts = _Parts(dataset, known, categories or {}, noun, code)
    written = [part.strip() for part in selection.split(",") if part.strip()]
    wanted = [part for part in written if not part.startswith("!")]
    unwanted = [part[1:] for part in written if part.startswith("!")]
    found: dict[str, None] = {} if wanted else dict.fromkeys(known)
    for part in wanted:
        found.update(dict.fromkeys(parts.meant(part)))
    for part in unwanted:
        for name in parts.meant(part):
            found.pop(name, None)
    if written and not found:
        raise parts.unknown(f"the selection {selection!r} leaves nothing over", known, "")
    order = {name: at for at, name in enumerate(known)}
    return sorted(found, key=lambda name: order.get(name, len(order)))


class _Parts(NamedTuple):
    """The parts of one dataset."""

    dataset: str
    known: Sequence[str]
    categories: Mapping[str, Sequence[str]]
    noun: str
    code: str

    def meant(self, part: str) -> list[str]:
        """Return the parts that one piece of a selection names."""
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
                raise self.unknown(f"no {self.noun} is like {part!r}", known, "")
            return matches
        if known and part not in known:
            raise self.unknown(f"there is no {self.noun} {part!r}", known, part)
        return [part]

    def unknown(self, what: str, known: Sequence[str], name: str) -> UsageError:
        """Return the error for a part that is not there."""
        return UsageError(
            Problem(
                self.code,
                f"{self.dataset}: {what}{suggest_name(name, known)}",
                f"choose from {listing(known, at_most=20)}" if known else "leave the selection away",
            )
        )
