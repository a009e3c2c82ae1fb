"""The solved examples before a question: which documents, drawn how.

By default a draw depends on seed, task and document alone. The original uses one generator for all documents
of a task, one after the other; a faithful run does the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.ids import make_random
from assay.core.origin import Origin
from assay.dialects.lm_eval.config import CODE
from assay.dialects.lm_eval.rendering import Document

ORIGINAL_SEED = 1234


class ExamplePool(Protocol):
    """Draws the examples of each document."""

    def draw(self, number: int, doc: Document, sample_id: str) -> Sequence[Document]:
        """Return the examples of a document; documents are drawn for in order, each once."""


class ContextSampler:
    """lm-eval's default sampler, and the base class of authors' samplers."""

    def __init__(
        self,
        df: Sequence[Document] | None = None,
        *,
        rnd: int | None = None,
        fewshot_indices: Sequence[int] | None = None,
        **_: Any,
    ) -> None:
        self.rnd = random.Random(rnd)
        self.df = df or []
        self.fewshot_indices = fewshot_indices
        self._loaded = False

    def sample(
        self, n: int, eval_doc: Document | None = None, df: Any = None, **_: Any
    ) -> Sequence[Document]:
        """Return n documents, without the evaluated one if it is given."""
        if df:
            self.replace_df(df)
        if n == 0:
            return []
        if not eval_doc:
            return self.rnd.sample(self.fewshot_docs(), n)
        drawn = self.rm_eval_doc(eval_doc, self.rnd.sample(self.fewshot_docs(), n + 1), n)
        if len(drawn) < n:
            # Several copies of the document were drawn.
            drawn = self.rnd.sample(self.rm_eval_doc(eval_doc, self.fewshot_docs()), n)
        return drawn

    def set_rnd(self, rnd: int | None) -> ContextSampler:
        """Seed the draws."""
        self.rnd = random.Random(rnd)
        return self

    def replace_df(self, df: Sequence[Document]) -> ContextSampler:
        """Draw from other documents."""
        self.df, self._loaded = df, False
        return self

    def fewshot_docs(self) -> list[Document]:
        """Return the documents to draw from."""
        if self.fewshot_indices and not self._loaded:
            self.df = [self.df[at] for at in self.fewshot_indices]
        self._loaded = True
        return list(self.df)

    @staticmethod
    def rm_eval_doc(doc: Document, _iter: Iterable[Document], n: int | None = None) -> list[Document]:
        """Return at most n documents that differ from one."""
        return [one for one in _iter if one != doc][:n]


class FirstNSampler(ContextSampler):
    """The first documents, in order."""

    def sample(
        self, n: int, eval_doc: Document | None = None, df: Any = None, **_: Any
    ) -> Sequence[Document]:
        """Return the first n documents, without the evaluated one if it is given."""
        return self.df[:n] if eval_doc is None else self.rm_eval_doc(eval_doc, self.df, n)


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


class SamplerExamples:
    """Documents drawn by a sampler, with one generator for all documents in order."""

    def __init__(self, sampler: ContextSampler, n: int, *, excludes: bool) -> None:
        self._sampler = sampler
        self._n = n
        self._excludes = excludes

    def draw(self, number: int, doc: Document, sample_id: str) -> Sequence[Document]:
        """Return what the sampler draws."""
        return list(self._sampler.sample(self._n, eval_doc=doc if self._excludes else None))


SAMPLERS = {"default": ContextSampler, "first_n": FirstNSampler}
"""The samplers by the names that task files use."""


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
    cls = sampler if isinstance(sampler, type) else SAMPLERS.get(str(sampler))
    if cls is None:
        near = suggest_name(str(sampler), SAMPLERS)
        what = f"task {task!r}: fewshot_config.sampler is {sampler!r}{near}"
        raise AuthorError(Problem(CODE, what, f"use one of {listing(SAMPLERS)}", where))
    if cls is ContextSampler and not is_faithful:
        return SeededExamples(docs, n, seed=seed, task=task)
    return SamplerExamples(cls(list(docs), rnd=None).set_rnd(seed), n, excludes=excludes)
