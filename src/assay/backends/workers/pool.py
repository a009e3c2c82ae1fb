"""A model in several workers, as one `Backend`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from assay.backends.workers.dispatch import Dispatcher
from assay.backends.workers.messages import WorkerReady
from assay.backends.workers.model_check import (
    OpenedModel,
    VersionDifferences,
    describe_opened_model,
    find_model_difference,
)
from assay.backends.workers.worker_group import WorkerGroup
from assay.core.errors import BackendError
from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.ports import Backend
from assay.core.request import Ask, Kind, Request
from assay.core.response import Response


class WorkersBackend:
    """Answers by workers that each have the model; what is known without weights is known here."""

    def __init__(self, model: Backend, crew: WorkerGroup, *, silence_s: float) -> None:
        """`model` is asked who it is and how it reads, and never for an answer."""
        self._model = model
        self._crew = crew
        self._dispatcher = Dispatcher(crew, silence_s=silence_s, refusal=self._refusal)
        self._versions = VersionDifferences()

    @property
    def card(self) -> ModelCard:
        """Return what the model can do."""
        return self._model.card

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card, sure of these kinds of ask."""
        return self._model.probe_card(kinds, is_chat=is_chat)

    def identity(self) -> ModelIdentity:
        """Return who the model is: how many answer for it changes no answer."""
        return self._opened.identity

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Deal requests out to the workers and yield what they answer."""
        return self._dispatcher.run(requests)

    @property
    def has_more_at_hand(self) -> bool:
        """Whether the next response came with the one before."""
        return self._dispatcher.has_more_at_hand

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return how the model reads an ask."""
        return self._model.tokens(ask)

    def n_tokens(self, ask: Ask) -> int | None:
        """Return how much of the context an ask needs."""
        return self._model.n_tokens(ask)

    def stats(self) -> Mapping[str, float]:
        """Return the counters of all workers' models together, and how many workers there are.

        On any thread: workers come and go while the run waits for an answer.
        """
        dispatcher = self._dispatcher
        return {
            **dispatcher.stats,
            **self._crew.stats(),
            "workers": float(dispatcher.n_up),
            "workers_awaited": float(dispatcher.n_awaited),
            "workers_lost": float(dispatcher.n_deaths),
            "requests_asked_again": float(dispatcher.n_requeued),
        }

    def notes(self) -> Sequence[str]:
        """Return what the workers' models had to say, and whether workers differ or were lost."""
        notes = (*self._dispatcher.notes, *self._versions.notes(self._opened.versions))
        lost = self._dispatcher.n_deaths
        if not lost:
            return notes
        were = "1 worker was" if lost == 1 else f"{lost} workers were"
        again = self._dispatcher.n_requeued
        why = self._dispatcher.last_death
        note = f"{were} lost and replaced, {again:,} requests were asked again; of the last: {why}"
        return (*notes, note)

    def close(self) -> None:
        """End the workers."""
        self._crew.close()
        self._model.close()

    @cached_property
    def _opened(self) -> OpenedModel:
        """What the run is of, once and for all: its files may change while it goes on."""
        return describe_opened_model(self._model)

    def _refusal(self, up: WorkerReady) -> BackendError | None:
        """Return why a worker has no place in this run, if it has another model."""
        self._versions.take(up.node, up.model.versions)
        return find_model_difference(self._opened, up.model, up.node)
