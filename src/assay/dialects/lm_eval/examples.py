"""The solved examples before a question: which documents, drawn how.

By default a draw depends on seed, task and document alone. The original uses one generator for all documents
of a task, one after the other; a faithful run does the same.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Protocol

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.ids import make_random
from assay.core.origin import Origin
from assay.dialects.lm_eval.config import CODE
from assay.dialects.lm_eval.rendering import Document

ORIGINAL_SEED = 1234
SAMPLERS = ("default", "first_n")


class ExamplePool(Protocol):
    """Draws the examples of each document."""

    def draw(self, number: int, doc: Document, sample_id: str) -> Sequence[Document]:
        """Return the examples of a document; documents are drawn for in order, each once."""


class FirstExamples:
    """The first documents of the pool."""

    def __init__(self, docs: Sequence[Document], n: int, *, excludes: bool) -> None:
        self._docs = docs
        self._n = n
        self._excludes = excludes

    def draw(self, number: int, doc: Document, sample_id: str) -> Sequence[Document]:
        """Return the first documents; without the evaluated one if the pool contains it."""
        if not self._excludes:
            return self._docs[: self._n]
        chosen: list[Document] = []
        for one in self._docs:
            if len(chosen) == self._n:
                break
            if one != doc:
                chosen.append(one)
        return chosen


class SeededExamples:
    """Documents drawn by seed, task and document; never the document itself."""

    def __init__(self, docs: Sequence[Document], n: int, *, seed: int, task: str) -> None:
        self._docs = docs
        self._n = n
        self._seed = seed
        self._task = task

    def draw(self, number: int, doc: Document, sample_id: str) -> Sequence[Document]:
        """Return a document's examples."""
        generator = make_random(self._seed, self._task, sample_id, "shots")
        order = generator.sample(range(len(self._docs)), len(self._docs))
        chosen: list[Document] = []
        for at in order:
            if len(chosen) == self._n:
                break
            if self._docs[at] != doc:
                chosen.append(self._docs[at])
        return chosen


class OriginalExamples:
    """Documents drawn as the original does, with one generator for all documents in order."""

    def __init__(self, docs: Sequence[Document], n: int, *, seed: int, excludes: bool) -> None:
        self._docs = list(docs)
        self._n = n
        self._excludes = excludes
        self._random = random.Random(seed)

    def draw(self, number: int, doc: Document, sample_id: str) -> Sequence[Document]:
        """Return a document's examples."""
        if not self._excludes:
            return self._random.sample(self._docs, self._n)
        drawn = [one for one in self._random.sample(self._docs, self._n + 1) if one != doc][: self._n]
        if len(drawn) < self._n:
            # Several copies of the document were drawn.
            drawn = self._random.sample([one for one in self._docs if one != doc], self._n)
        return drawn


class AuthorExamples:
    """Documents drawn by a sampler class of the author."""

    def __init__(self, sampler: Any, n: int, *, excludes: bool) -> None:
        self._sampler = sampler
        self._n = n
        self._excludes = excludes

    def draw(self, number: int, doc: Document, sample_id: str) -> Sequence[Document]:
        """Return what the author's sampler draws."""
        return list(self._sampler.sample(self._n, eval_doc=doc if self._excludes else None))


def build_pool(
    sampler: Any,
    docs: Sequence[Document],
    n: int,
    *,
    excludes: bool,
    seed: int,
    is_faithful: bool,
    task: str,
    where: Origin,
) -> ExamplePool:
    """Return the pool for a task's `sampler`; raise if it has too few documents.

    `excludes`: whether examples come from the evaluated split, which contains the evaluated document.
    """
    needed = n + 1 if excludes else n
    if len(docs) < needed:
        what = (
            f"task {task!r} needs {n} examples, but only {max(len(docs) - excludes, 0)} documents can serve"
        )
        raise AuthorError(Problem(CODE, what, "use fewer: --shots N", where))
    if isinstance(sampler, type):
        made = sampler(list(docs), rnd=seed)
        return AuthorExamples(made, n, excludes=excludes)
    if sampler == "first_n":
        return FirstExamples(docs, n, excludes=excludes)
    if sampler != "default":
        near = suggest_name(str(sampler), SAMPLERS)
        what = f"task {task!r}: fewshot_config.sampler is {sampler!r}{near}"
        raise AuthorError(Problem(CODE, what, f"use one of {listing(SAMPLERS)}", where))
    if is_faithful:
        return OriginalExamples(docs, n, seed=seed, excludes=excludes)
    return SeededExamples(docs, n, seed=seed, task=task)
