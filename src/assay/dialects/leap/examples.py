"""Solved examples, and the text they form with a question.

By default a document is never among its own examples, from whichever split they come, nor is another one with
the same text; examples dropped for this reason are replaced. Faithful mode follows the original: it draws the
needed number from the training documents, and one more from the others, in case that one is the document
itself.
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
    """There are fewer examples than requested."""

    def __init__(self, wanted: int, available: int, split: str) -> None:
        super().__init__(f"{wanted} examples were requested, but {split} has only {available} usable ones")


class NotTextError(Exception):
    """An author's method returned something other than a text."""

    def __init__(self, method: str, value: Any) -> None:
        super().__init__(f"{method} returned {type(value).__name__} ({value!r:.60}), expected a text")
        self.kind = method
        """Groups documents with the same problem."""


def choose_examples(task: Task, doc: Any, k: int, rnd: random.Random) -> list[Any]:
    """Return k examples for a document; draws nothing for 0."""
    if not k:
        return []
    faithful = task._environment.is_faithful
    answers = _AnswerCheck(task, doc)
    if not task.has_training_docs():
        pool, split = _other_docs(task)
        if not faithful:
            return _draw_examples(answers, pool, k, rnd, split)
        if len(pool) < k + 1:
            raise TooFewExamples(k + 1, len(pool), split)
        return [example for example in rnd.sample(pool, k + 1) if not is_same(example, doc)][:k]
    if faithful or has_own_examples(task):
        drawn = list(task.fewshot_examples(k=k, rnd=rnd))
        usable = drawn if faithful else [example for example in drawn if not answers(example)]
        if len(usable) == len(drawn):
            return drawn
        # The author's own selection may not be able to return more; then there is one example less.
        more = list(task.fewshot_examples(k=k + 1, rnd=rnd))
        return max(usable, [example for example in more if not answers(example)][:k], key=len)
    if task._training_docs is None:
        task._training_docs = list(task.training_docs())
    return _draw_examples(answers, task._training_docs, k, rnd, "training_docs()")


class _AnswerCheck:
    """Checks whether an example answers a document: it is the document, or has its question and answer.

    Equality is not enough: two loads of a row with NaN differ, and so do numbered copies.
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
        """Return question and answer; values that are not texts are reported when the context is built."""
        return self._task.doc_to_text(doc), self._task.doc_to_target(doc)


def render_context(task: Task, doc: Any, examples: Sequence[Any], description: str | None) -> str:
    """Return description, examples and question as one text; an example is a question and its answer."""
    lead = f"{description}{AFTER_PART}" if description else ""
    solved = "".join(f"{asked}{answered}{AFTER_PART}" for asked, answered in render_examples(task, examples))
    return f"{lead}{solved}{render_text(task, 'doc_to_text', doc)}"


def render_examples(task: Task, examples: Sequence[Any]) -> list[tuple[str, str]]:
    """Return the question and the answer of each example."""
    return [
        (render_text(task, "doc_to_text", example), render_text(task, "doc_to_target", example))
        for example in examples
    ]


def render_text(task: Task, method: str, doc: Any) -> str:
    """Return the result of an author's method for a document; it must be a text."""
    text = getattr(task, method)(doc)
    if not isinstance(text, str):
        raise NotTextError(method, text)
    return text


def is_same(doc: Any, other: Any) -> bool:
    """Return whether two documents are equal."""
    try:
        return bool(doc == other)
    except ValueError:  # arrays are compared element by element
        return bool(to_plain_data(doc) == to_plain_data(other))


def has_own_examples(task: Task) -> bool:
    """Return whether the author's own code selects the examples."""
    return getattr(type(task).fewshot_examples, "__module__", "") != "assay.dialects.leap.authoring"


def _other_docs(task: Task) -> tuple[list[Any], str]:
    """Return the documents for examples if there is no training split."""
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
        examples = [doc for doc in rnd.sample(pool, wanted) if not answers(doc)][:k]
        if len(examples) == k:
            return examples
        if wanted == len(pool):
            raise TooFewExamples(k, len(examples), split)
        wanted *= 2
