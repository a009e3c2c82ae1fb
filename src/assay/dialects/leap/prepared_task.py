"""A task with its documents, all checked before any request is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from assay.core.errors import RAISED_BY_AUTHORS, reraise_interrupt
from assay.core.origin import Origin
from assay.core.sample import Sample
from assay.dialects.leap.authoring import Task
from assay.dialects.leap.calling import TaskAuthor, Troubles
from assay.dialects.leap.contexts import Context, Contexts, ExampleDraw
from assay.dialects.leap.documents import Documents
from assay.dialects.leap.examples import is_same
from assay.dialects.leap.model_requests import DocumentRequests, read_requests
from assay.dialects.leap.original_window import OriginalWindow
from assay.dialects.shared.author_draws import seeded_draws as author_drawing
from assay.dialects.shared.choices import build_labels
from assay.dialects.shared.plain_rows import copy_data


class PreparedDocument(NamedTuple):
    """The requests for one document, and what is shown of it."""

    wishes: DocumentRequests
    """Without the contexts."""
    options: tuple[str, ...]
    target: str | None


class PreparedTask:
    """A task's object, its documents, and the requests for each."""

    def __init__(
        self, task: Task, author: TaskAuthor, documents: Documents, drawing: ExampleDraw, *, is_chat: bool
    ) -> None:
        self.task = task
        self.author = author
        self.documents = documents
        self._drawing = drawing
        self.number = {sample_id: at for at, sample_id in enumerate(documents.ids)}
        """The position of each sample."""
        with author.convert_errors("description"):
            self.contexts = Contexts(task, documents.docs, documents.ids, drawing, is_chat=is_chat)
        self._changed: set[int] = set()
        """The documents that the author's code changes while it creates requests, for its scoring."""
        self.prepared = self._prepare_documents()
        self.types = set[str]().union(*(wishes.types for wishes in {doc.wishes for doc in self.prepared}))
        """The types of request over all documents."""
        self.window: OriginalWindow | None = None
        """The tokens that count in faithful mode."""

    def wishes(self, number: int, shots: int | None = None) -> tuple[DocumentRequests, Context]:
        """Return the requests for a document with at most `shots` examples."""
        return self._build_requests(number, copy_data(self.documents.docs[number]), shots)

    def doc_for_results(self, number: int) -> Any:
        """Return a document as the author's code left it after creating the requests."""
        doc = copy_data(self.documents.docs[number])
        if number in self._changed:
            self._build_requests(number, doc)
        return doc

    def _build_requests(
        self, number: int, doc: Any, shots: int | None = None
    ) -> tuple[DocumentRequests, Context]:
        with self._seed_documents() as seed_for:
            seed_for(number)
            context = self.contexts.of(number, doc, shots)
            return read_requests(self.task.construct_requests(doc, context.text)), context

    def samples(self) -> list[Sample]:
        """Return a sample for each document."""
        docs = self.documents
        return [
            _sample(sample_id, fields, Origin(str(self.author.path), row=row), asked)
            for sample_id, fields, row, asked in zip(
                docs.ids, docs.fields, docs.rows, self.prepared, strict=True
            )
        ]

    def _prepare_documents(self) -> list[PreparedDocument]:
        """Call the author's methods on every document; raise for all problems."""
        troubles = Troubles(self.author)
        prepared: list[PreparedDocument] = []
        known: dict[DocumentRequests, DocumentRequests] = {}
        with self._seed_documents() as seed_for:
            for number, doc in enumerate(self.documents.docs):
                hook = "doc_to_target"
                try:
                    seed_for(number)
                    target = self.task.doc_to_target(own := copy_data(doc))
                    hook = "doc_to_text"
                    seed_for(number)
                    self.task.doc_to_text(own)
                    hook = "fewshot_context"
                    seed_for(number)
                    context = self.contexts.of(number, own := copy_data(doc))
                    hook = "construct_requests"
                    wishes = read_requests(self.task.construct_requests(own, context.text))
                    if not is_same(own, doc):
                        self._changed.add(number)
                except RAISED_BY_AUTHORS as error:
                    reraise_interrupt(error)
                    troubles.add(error, hook, self.documents.rows[number], doc)
                    continue
                bare = wishes.without_contexts()
                prepared.append(
                    PreparedDocument(
                        known.setdefault(bare, bare),
                        wishes.options,
                        target if isinstance(target, str) else None,
                    )
                )
        troubles.raise_if_any()
        return prepared

    @contextmanager
    def _seed_documents(self) -> Iterator[Callable[[int], None]]:
        """Let the author's code draw random numbers inside; yields a function that seeds a document."""
        if not self.author.draws:
            yield lambda number: None
            return
        drawing = self._drawing
        with author_drawing(drawing.seed, drawing.task_name) as seed_for:
            yield lambda number: seed_for(self.documents.ids[number])


def _sample(sample_id: str, fields: dict[str, Any], origin: Origin, document: PreparedDocument) -> Sample:
    target = document.target
    right = _find_right_option(document.options, target)
    return Sample(
        sample_id,
        fields,
        origin,
        choices=tuple(option.strip() for option in document.options),
        labels=build_labels(len(document.options)),
        gold=right,
        targets=() if right or target is None or not target.strip() else (target.strip(),),
    )


def _find_right_option(options: Sequence[str], target: str | None) -> tuple[int, ...]:
    """Return the option that is the right answer, compared exactly or else without surrounding spaces."""
    if target is None:
        return ()
    exact = [at for at, option in enumerate(options) if option == target]
    matches = exact or [at for at, option in enumerate(options) if option.strip() == target.strip()]
    return (matches[0],) if len(matches) == 1 else ()
