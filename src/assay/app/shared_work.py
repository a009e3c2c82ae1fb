"""What several runs of one command share: compiled tables, and one local model over several prompts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.app.open_model import open_model
from assay.app.run import compile_with_settings, task_settings
from assay.app.settings import RunSettings
from assay.backends.registry import LOCAL
from assay.core.compilation import CompiledDataset
from assay.core.ids import digest
from assay.core.model import ModelCard, ModelIdentity, Token
from assay.core.ports import Backend
from assay.core.request import Ask, Kind, Request
from assay.core.response import Response

_TABLE = "table"
"""The dialect whose tasks keep no state, and do not depend on the model beyond their settings."""


class SharedWork:
    """Opens the models and compiles the datasets of several runs, each of them once where that is possible.

    Runs are prepared one after the other, and all of them before the first one starts, so it needs no lock.
    """

    def __init__(self) -> None:
        self._compiled: dict[str, list[CompiledDataset]] = {}
        self._models: dict[str, _SharedModel] = {}

    def compile(
        self,
        datasets: tuple[str, ...],
        values: RunSettings,
        backend: Backend | None,
        benchmarks: Mapping[str, str] | None = None,
    ) -> list[CompiledDataset]:
        """Return compiled datasets; a table that was compiled in the same way is not read again."""
        settings = task_settings(values, backend.card if backend else None)
        given = (values.table, values.meta, values.data_root, values.split, values.dialect, values.stream)
        key = digest((datasets, settings, given, dict(benchmarks or {})))
        if key not in self._compiled:
            compiled = compile_with_settings(datasets, values, backend, benchmarks)
            if any(one.task.spec.dialect != _TABLE for one in compiled):
                return compiled
            self._compiled[key] = compiled
        return self._compiled[key]

    def open_model(self, values: RunSettings) -> Backend:
        """Return the model of a run. A local model stays loaded from one prompt to the next."""
        if values.model.partition(":")[0] not in LOCAL or values.workers is not None or values.on is not None:
            return open_model(values)
        given = (values.model, values.model_args, values.thinking, values.fidelity, values.concurrency)
        key = digest(given)
        shared = self._models.get(key)
        if shared is None or not shared.n_users:
            shared = self._models[key] = _SharedModel(open_model(values))
        shared.n_users += 1
        return _LentModel(shared)


class _SharedModel:
    """An open model, closed when the last run that uses it has ended."""

    def __init__(self, model: Backend) -> None:
        self.model = model
        self.n_users = 0

    def release(self) -> None:
        """End one use."""
        self.n_users -= 1
        if not self.n_users:
            self.model.close()


class _LentModel:
    """A model that several runs use one after the other: each counts only its own work."""

    def __init__(self, shared: _SharedModel) -> None:
        self._shared = shared
        self._model = shared.model
        self._before: Mapping[str, float] | None = None

    @property
    def card(self) -> ModelCard:
        """Return its capabilities."""
        return self._model.card

    def probe_card(self, kinds: frozenset[Kind], *, is_chat: bool) -> ModelCard:
        """Return the verified card."""
        return self._model.probe_card(kinds, is_chat=is_chat)

    def identity(self) -> ModelIdentity:
        """Return its identity."""
        return self._model.identity()

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer requests."""
        if self._before is None:
            self._before = dict(self._model.stats())
        return self._model.run(requests)

    @property
    def has_more_at_hand(self) -> bool:
        """Whether `run` can yield its next response without waiting."""
        return self._model.has_more_at_hand

    def tokens(self, ask: Ask) -> Sequence[Token]:
        """Return the tokens of an ask."""
        return self._model.tokens(ask)

    def n_tokens(self, ask: Ask) -> int | None:
        """Return how many tokens of context an ask needs."""
        return self._model.n_tokens(ask)

    def stats(self) -> Mapping[str, float]:
        """Return the counters since this run began; shares of the time are those of the whole model."""
        before = self._before or {}
        return {
            name: value if name.endswith("_share") else value - before.get(name, 0.0)
            for name, value in self._model.stats().items()
        }

    def notes(self) -> Sequence[str]:
        """Return notes about how it worked, in this run or an earlier one."""
        return self._model.notes()

    def close(self) -> None:
        """Close the model if no other run uses it."""
        self._shared.release()
