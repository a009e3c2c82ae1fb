"""Solved examples and the text they make with a question.

By default a document never stands among its own examples, whichever split they come from, nor does another
that reads the same; examples that are dropped for it are replaced. The faithful way is the original's: as
many as are needed are drawn from the training documents, and one more from the others, in case that one is
the document itself.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.dialects.shared.plain_rows import copy_data, to_plain_data

if TYPE_CHECKING:
    from assay.dialects.leap.authoring import Task

AFTER_PART = "\n\n"


class TooFewExamples(Exception):
    """There are not as many examples as were asked for."""

    def __init__(self, wanted: int, there: int, split: str) -> None:
        super().__init__(f"{wanted} examples were asked for; {split} has {there} that can be shown")


class NotTextError(Exception):
    """An author's method gives something else than a text."""

    def __init__(self, method: str, made: Any) -> None:
        super().__init__(f"{method} returned {type(made).__name__} ({made!r:.60}), expected a text")
        self.kind = method
        """What documents have in common that are told of together."""


def choose_examples(task: Task, doc: Any, k: int, rnd: random.Random) -> list[Any]:
    """Return k examples for a document; nothing is drawn for none."""
    if not k:
        return []
    faithful = task._around.is_faithful
    answers = _AnswerCheck(task, doc)
    if not task.has_training_docs():
        pool, split = _other_docs(task)
        if not faithful:
            return _draw_examples(answers, pool, k, rnd, split)
        if len(pool) < k + 1:
            raise TooFewExamples(k + 1, len(pool), split)
        return [one for one in rnd.sample(pool, k + 1) if not is_same(one, doc)][:k]
    if faithful or has_own_examples(task):
        drawn = list(task.fewshot_examples(k=k, rnd=rnd))
        kept = drawn if faithful else [one for one in drawn if not answers(one)]
        if len(kept) == len(drawn):
            return drawn
        # The author's own choice may not be able to give more: then there is one less.
        more = list(task.fewshot_examples(k=k + 1, rnd=rnd))
        return max(kept, [one for one in more if not answers(one)][:k], key=len)
    if task._training_docs is None:
        task._training_docs = list(task.training_docs())
    return _draw_examples(answers, task._training_docs, k, rnd, "training_docs()")


class _AnswerCheck:
    """Whether an example answers a document: is the document itself, or has its question and answer.

    Equality alone is not enough: two loadings of a row with NaN in it differ, and so do numbered copies.
    """

    def __init__(self, task: Task, doc: Any) -> None:
        self._task = task
        self._doc = doc
        self._own: tuple[Any, Any] | None = None

    def __call__(self, example: Any) -> bool:
        if is_same(example, self._doc):
            return True
        if self._own is None:
            self._own = self._read(copy_data(self._doc))
        return self._read(example) == self._own

    def _read(self, doc: Any) -> tuple[Any, Any]:
        """Return what a person would read; what is no text is told where the context is put together."""
        return self._task.doc_to_text(doc), self._task.doc_to_target(doc)


def render_context(task: Task, doc: Any, examples: Sequence[Any], description: str | None) -> str:
    """Return description, examples and question as one text; an example is a question and its answer."""
    lead = f"{description}{AFTER_PART}" if description else ""
    solved = "".join(f"{asked}{answered}{AFTER_PART}" for asked, answered in render_examples(task, examples))
    return f"{lead}{solved}{render_text(task, 'doc_to_text', doc)}"


def render_examples(task: Task, examples: Sequence[Any]) -> list[tuple[str, str]]:
    """Return the question and the answer of each example."""
    return [
        (render_text(task, "doc_to_text", one), render_text(task, "doc_to_target", one)) for one in examples
    ]


def render_text(task: Task, method: str, doc: Any) -> str:
    """Return what a method of the author's makes of a document, which must be a text."""
    made = getattr(task, method)(doc)
    if not isinstance(made, str):
        raise NotTextError(method, made)
    return made


def is_same(one: Any, other: Any) -> bool:
    """Whether two documents are equal."""
    try:
        return bool(one == other)
    except ValueError:  # arrays are compared element by element
        return bool(to_plain_data(one) == to_plain_data(other))


def has_own_examples(task: Task) -> bool:
    """Whether the author's own code chooses the examples."""
    return getattr(type(task).fewshot_examples, "__module__", "") != "assay.dialects.leap.authoring"


def _other_docs(task: Task) -> tuple[list[Any], str]:
    """Return the documents that examples come from where there is no training split."""
    name = "validation_docs" if task.has_validation_docs() else "test_docs"
    if task._fewshot_docs is None:
        task._fewshot_docs = list(getattr(task, name)())
    return task._fewshot_docs, f"{name}()"


def _draw_examples(
    answers: _AnswerCheck, pool: Sequence[Any], k: int, rnd: random.Random, split: str
) -> list[Any]:
    """Draw k documents that do not answer the one they are drawn for."""
    wanted = k + 1
    while True:
        wanted = min(wanted, len(pool))
        found = [one for one in rnd.sample(pool, wanted) if not answers(one)][:k]
        if len(found) == k:
            return found
        if wanted == len(pool):
            raise TooFewExamples(k, len(found), split)
        wanted *= 2
