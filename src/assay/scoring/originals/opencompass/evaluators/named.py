"""Ways of reading a judge by the names that configs give: one error for a wrong name or argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from assay.core.errors import PlanError, Problem, listing, suggest_name

MadeT = TypeVar("MadeT")


def make_by_name(
    kind: str,
    makers: Mapping[str, Callable[..., MadeT]],
    name: str,
    arguments: Mapping[str, Any] | None,
    *,
    is_faithful: bool,
) -> MadeT:
    """Return what the maker of a name makes of a config's arguments."""
    maker = makers.get(name)
    if maker is None:
        seen = f"there is no {kind} {name!r}{suggest_name(name, makers)}"
        what = f"{seen}; expected one of {listing(makers, at_most=len(makers))}"
        raise PlanError(Problem("JUDGE-005", what, "correct the name"))
    known = {
        one.name: one.default
        for one in inspect.signature(maker).parameters.values()
        if one.name != "is_faithful"
    }
    for given, value in (arguments or {}).items():
        if given not in known:
            expected = f"expected {listing(known)}" if known else "it takes none"
            what = f"the {kind} {name!r} has no argument {given!r}{suggest_name(given, known)}; {expected}"
            raise PlanError(Problem("JUDGE-005", what, "remove the argument or correct its name"))
        if not isinstance(value, type(known[given])) or value == "":
            what = f"the {kind} {name!r} was given {given} = {value!r}; expected such as {known[given]!r}"
            raise PlanError(Problem("JUDGE-005", what, f"correct {given}"))
    return maker(**(arguments or {}), is_faithful=is_faithful)
