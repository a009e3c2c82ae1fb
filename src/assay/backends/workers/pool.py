"""The `Backend` for a model in several workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from assay.backends.workers.dispatch import Dispatcher
from assay.backends.workers.messages import WorkerGroup, WorkerReady
from assay.backends.workers.model_check import (
    OpenedModel,
    VersionDifferences,
    describe_opened_model,
    find_model_difference,
)
from assay.core.errors import BackendError
from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.ports import Backend
from assay.core.request import Ask, Kind, Request
from assay.core.response import Response


class WorkersBackend:
    """Answers with workers that each load the model; everything known without weights is answered here."""

    def __init__(self, model: Backend, group: WorkerGroup, *, silence_s: float) -> None:
        """`model` provides identity, card and tokens, and never computes an answer."""
        self._model = model
        self._group = group
        self._dispatcher = Dispatcher(group, silence_s=silence_s, refusal=self._refusal)
        self._versions = VersionDifferences()

    @property
    def card(self) -> ModelCard:
        """Return the model's abilities."""
        return self._model.card

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the card, checked for these kinds of request."""
        return self._model.probe_card(kinds, is_chat=is_chat)

    def identity(self) -> ModelIdentity:
        """Return the model's identity: the number of workers changes no answer."""
        return self._model_of_run.identity

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Distribute requests to the workers and yield their answers."""
        return self._dispatcher.run(requests)

    @property
    def has_more_at_hand(self) -> bool:
        """Return whether the next response arrived together with the previous one."""
        return self._dispatcher.has_more_at_hand

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return the tokens of a request."""
        return self._model.tokens(ask)

    def n_tokens(self, ask: Ask) -> int | None:
        """Return how much of the context a request needs."""
        return self._model.n_tokens(ask)

    def stats(self) -> Mapping[str, float]:
        """Return the sum of the counters of all workers' models, and the number of workers.

        Called on any thread: workers come and go while the run waits for an answer.
        """
        dispatcher = self._dispatcher
        return {
            **dispatcher.stats,
            **self._group.stats(),
            "workers": float(dispatcher.n_up),
            "workers_awaited": float(dispatcher.n_awaited),
            "workers_lost": float(dispatcher.n_deaths),
            "requests_asked_again": float(dispatcher.n_requeued),
        }

    def notes(self) -> Sequence[str]:
        """Return the notes of the workers' models, and whether workers differ or were lost."""
        notes = (*self._dispatcher.notes, *self._versions.notes(self._model_of_run.versions))
        lost = self._dispatcher.n_deaths
        if not lost:
            return notes
        were = "1 worker was" if lost == 1 else f"{lost} workers were"
        again = self._dispatcher.n_requeued
        why = self._dispatcher.last_death
        note = f"{were} lost and replaced, and {again:,} requests were sent again; the last one failed: {why}"
        return (*notes, note)

    def close(self) -> None:
        """End the workers."""
        self._group.close()
        self._model.close()

    @cached_property
    def _model_of_run(self) -> OpenedModel:
        """Return the run's model, determined once: its files may change during the run."""
        return describe_opened_model(self._model)

    def _refusal(self, up: WorkerReady) -> BackendError | None:
        """Return the error of a worker whose model differs from the run's."""
        self._versions.take(up.node, up.model.versions)
        return find_model_difference(self._model_of_run, up.model, up.node)
