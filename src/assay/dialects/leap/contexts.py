"""The context of a document: description, examples and question.

By default, the drawn examples depend only on seed, task and document. In faithful mode one generator serves
all documents in order, so its draws are stored.
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
    """The text passed to `construct_requests`, as a base model reads it."""
    messages: tuple[Message, ...] | None
    """The messages for a chat model; None for a base model."""
    n_shots: int
    n_left_out: int


class ExampleDraw(NamedTuple):
    """How examples are drawn, and how many."""

    task_name: str
    n_shots: int
    seed: int
    shared: random.Random | None = None
    """The shared generator of faithful mode."""


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
        """Whether the author's own code builds contexts."""
        self._build_view: list[Any] = []
        """What the shared generator of faithful mode gave to the documents so far: examples, or texts."""

    def of(self, number: int, doc: Any, shots: int | None = None) -> Context:
        """Return a document's context with at most `shots` examples: those nearest to the question.

        `doc`: the document, which the author's code may change.
        """
        n_requested = self._drawing.n_shots
        wanted = n_requested if shots is None else min(shots, n_requested)
        is_shared = self._drawing.shared is not None
        if self.is_own:
            is_drawn = is_shared and wanted == n_requested
            text = self._draw_shared(number) if is_drawn else self._build_own_context(number, doc, wanted)
            turns = (Message("user", text),) if self._is_chat and text else None
            return Context(text, turns, wanted, n_requested - wanted)
        chosen = self._draw_shared(number) if is_shared else self._draw_examples(number, doc, n_requested)
        examples = chosen[max(0, len(chosen) - wanted) :]
        text = render_context(self._task, doc, examples, self.description)
        messages = self._messages(doc, examples) if self._is_chat else None
        return Context(text, messages, len(examples), len(chosen) - len(examples))

    def _draw_shared(self, number: int) -> Any:
        """Return the shared generator's draw for a document; earlier documents are drawn first."""
        draw_next = self._build_own_context if self.is_own else self._draw_examples
        while len(self._build_view) <= number:
            at = len(self._build_view)
            # Reserve its place even if the author's code raises: the error belongs to this document only.
            self._build_view.append(None)
            doc = copy_data(self._docs[at])
            self._build_view[at] = draw_next(at, doc, self._drawing.n_shots, self._drawing.shared)
        return self._build_view[number]

    def _messages(self, doc: Any, examples: Sequence[Any]) -> tuple[Message, ...] | None:
        solved = [(asked, answered.strip()) for asked, answered in render_examples(self._task, examples)]
        question = render_text(self._task, "doc_to_text", doc)
        return build_chat_messages(solved, question, lead=self.description or "") or None

    def _draw_examples(self, number: int, _: Any, n: int, rnd: random.Random | None = None) -> list[Any]:
        return choose_examples(self._task, self._docs[number], n, rnd or self._generator(number))

    def _build_own_context(self, number: int, doc: Any, n: int, rnd: random.Random | None = None) -> str:
        """Return the context built by the author's own code."""
        own: Any = self._task.fewshot_context
        more = {"description": self.description} if has_parameter(own, "description") else {}
        text = own(doc=doc, num_fewshot=n, rnd=rnd or self._generator(number), **more)
        if not isinstance(text, str):
            raise NotTextError("fewshot_context", text)
        return text

    def _generator(self, number: int) -> random.Random:
        return make_random(self._drawing.seed, self._drawing.task_name, self._ids[number], "shots")
