"""Retrievers by their config names, created from checked arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problem, explain_type_error, listing, suggest_name
from assay.core.origin import Origin
from assay.dialects.openicl.retrievers.bm25 import BM25Retriever
from assay.dialects.openicl.retrievers.dpp import DPPRetriever
from assay.dialects.openicl.retrievers.drawn import RandomRetriever
from assay.dialects.openicl.retrievers.mdl import MDLRetriever
from assay.dialects.openicl.retrievers.nearest import TopkRetriever
from assay.dialects.openicl.retrievers.retriever import (
    FixKRetriever,
    Retriever,
    SlidingWindowRetriever,
    ZeroRetriever,
)
from assay.dialects.openicl.retrievers.votek import VotekRetriever

_CLASSES: tuple[type[Retriever], ...] = (
    ZeroRetriever,
    FixKRetriever,
    RandomRetriever,
    BM25Retriever,
    TopkRetriever,
    MDLRetriever,
    DPPRetriever,
    VotekRetriever,
    SlidingWindowRetriever,
)
RETRIEVERS: Mapping[str, type[Retriever]] = {one.__name__: one for one in _CLASSES}


def make_retriever(name: str, arguments: Mapping[str, Any], *, where: Origin | None = None) -> Retriever:
    """Return a retriever, or raise all problems of its name and arguments.

    `where`: the entry of the config.
    """
    kind = RETRIEVERS.get(name)
    if kind is None:
        what = f"there is no retriever {name!r}{suggest_name(name, RETRIEVERS)}"
        raise AuthorError(Problem("OPENICL-009", what, f"use one of {listing(RETRIEVERS)}", where))
    given = {key: list(value) if isinstance(value, range) else value for key, value in arguments.items()}
    faults = _faults(kind, given)
    if not faults:
        try:
            return msgspec.convert(given, kind)
        except msgspec.ValidationError as error:
            # Each value is valid, but not the combination.
            faults = [(explain_type_error(error), "correct one of them")]
    raise AuthorError([Problem("OPENICL-009", f"{name}: {what}", fix, where) for what, fix in faults])


def _faults(kind: type[Retriever], given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the problems of single arguments, with fixes."""
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    faults = [
        (f"there is no argument {name!r}{suggest_name(str(name), fields)}", f"supported: {listing(fields)}")
        for name in given
        if name not in fields
    ]
    for name, field in fields.items():
        if name not in given:
            if field.required:
                faults.append((f"the argument {name!r} is missing", f"write {name}=..."))
            continue
        try:
            msgspec.convert(given[name], field.type)
        except msgspec.ValidationError as error:
            faults.append(
                (f"{name} is {given[name]!r:.60}: {explain_type_error(error)}", "correct the value")
            )
    return faults
