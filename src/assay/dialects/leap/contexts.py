"""What stands before the answer to a document: description, examples and question.

By default a draw of examples depends on seed, task and document alone. In the faithful way one generator
serves all documents, in their order, so what it gave to each is kept.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from assay.core.ids import make_random
from assay.core.prompt import Message
from assay.dialects.leap.authoring import BUILTIN_CONTEXTS, Task
from assay.dialects.leap.calling import has_parameter
from assay.dialects.leap.examples import (
    NotTextError,
    choose_examples,
    render_context,
    render_examples,
    render_text,
)
from assay.dialects.shared.conversation import build_chat_messages
from assay.dialects.shared.plain_rows import copy_data


class Context(NamedTuple):
    """A document's prompt up to the answer."""

    text: str
    """As `construct_requests` is given it, and as a base model reads it."""
    messages: tuple[Message, ...] | None
    """As a model that chats is given it; None for one that reads text."""
    n_shots: int
    n_left_out: int


class ExampleDraw(NamedTuple):
    """Where examples are drawn from, and how many."""

    task_name: str
    n_shots: int
    seed: int
    shared: random.Random | None = None
    """The one generator of the faithful way."""


class Contexts:
    """The contexts of a task's documents."""

    def __init__(
        self, task: Task, docs: Sequence[Any], ids: Sequence[str], drawing: ExampleDraw, *, is_chat: bool
    ) -> None:
        self._task = task
        self._docs = docs
        self._ids = ids
        self._drawing = drawing
        self._is_chat = is_chat
        self.description: str | None = task.description()
        if self.description is not None and not isinstance(self.description, str):
            raise NotTextError("description", self.description)
        self.is_own = type(task).fewshot_context not in BUILTIN_CONTEXTS
        """Whether the author's own code puts contexts together."""
        self._drawn: list[Any] = []
        """What the one generator of the faithful way gave to the documents so far: examples, or texts."""

    def of(self, number: int, doc: Any, shots: int | None = None) -> Context:
        """Return a document's context, with at most so many examples: those nearest to the question.

        `doc`: the document, as the author's code may change it.
        """
        asked = self._drawing.n_shots
        wanted = asked if shots is None else min(shots, asked)
        is_shared = self._drawing.shared is not None
        if self.is_own:
            is_drawn = is_shared and wanted == asked
            text = self._shared(number) if is_drawn else self._written(number, doc, wanted)
            said = (Message("user", text),) if self._is_chat and text else None
            return Context(text, said, wanted, asked - wanted)
        chosen = self._shared(number) if is_shared else self._chosen(number, doc, asked)
        shown = chosen[max(0, len(chosen) - wanted) :]
        text = render_context(self._task, doc, shown, self.description)
        messages = self._messages(doc, shown) if self._is_chat else None
        return Context(text, messages, len(shown), len(chosen) - len(shown))

    def _shared(self, number: int) -> Any:
        """Return what the one generator gives to a document: all before it are given theirs first."""
        draw_next = self._written if self.is_own else self._chosen
        while len(self._drawn) <= number:
            at = len(self._drawn)
            # Its place is kept where the author's code raises too: that is told of this document alone.
            self._drawn.append(None)
            doc = copy_data(self._docs[at])
            self._drawn[at] = draw_next(at, doc, self._drawing.n_shots, self._drawing.shared)
        return self._drawn[number]

    def _messages(self, doc: Any, shown: Sequence[Any]) -> tuple[Message, ...] | None:
        solved = [(asked, answered.strip()) for asked, answered in render_examples(self._task, shown)]
        question = render_text(self._task, "doc_to_text", doc)
        return build_chat_messages(solved, question, lead=self.description or "") or None

    def _chosen(self, number: int, _: Any, n: int, rnd: random.Random | None = None) -> list[Any]:
        return choose_examples(self._task, self._docs[number], n, rnd or self._generator(number))

    def _written(self, number: int, doc: Any, n: int, rnd: random.Random | None = None) -> str:
        """Return what the author's own code puts together."""
        own: Any = self._task.fewshot_context
        more = {"description": self.description} if has_parameter(own, "description") else {}
        text = own(doc=doc, num_fewshot=n, rnd=rnd or self._generator(number), **more)
        if not isinstance(text, str):
            raise NotTextError("fewshot_context", text)
        return text

    def _generator(self, number: int) -> random.Random:
        return make_random(self._drawing.seed, self._drawing.task_name, self._ids[number], "shots")
