"""Workers as actors on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.backends.workers.crew import Word
from assay.backends.workers.messages import Batch
from assay.core.ports import Backend


class RayCrew:
    """Actors that each have the model."""

    def __init__(
        self,
        address: str | None,
        setup: bytes,
        open_model: Callable[[bytes], Backend],
        *,
        n: int | None,
        num_gpus: float | None,
        num_cpus: float | None,
    ) -> None:
        raise NotImplementedError

    @property
    def n_wanted(self) -> int:
        raise NotImplementedError

    def start(self, worker: int) -> None:
        raise NotImplementedError

    def send(self, worker: int, batch: Batch) -> None:
        raise NotImplementedError

    def listen(self, timeout_s: float) -> Sequence[Word]:
        raise NotImplementedError

    def end(self, worker: int) -> None:
        raise NotImplementedError

    def stats(self) -> Mapping[str, float]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError
