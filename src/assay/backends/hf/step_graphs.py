"""Replays generation steps on a GPU: a step is recorded once for each shape, and then started as a whole.

Starting the hundreds of small kernels of a step one by one takes the host longer than the GPU needs for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from assay.backends.hf.batching import is_out_of_memory
from assay.backends.hf.slot_cache import StepShape


class StepRunner(Protocol):
    """Runs steps."""

    problem: str | None
    """Why steps are not run in the fastest way; None if they are."""

    def run(self, shape: StepShape, step: Callable[[], Any]) -> Any:
        """Run a step; return its result, which may be overwritten by the next step.

        Steps of the same shape must use the same memory.
        """

    def forget(self) -> None:
        """Begin with other steps, or with other memory."""


class DirectSteps:
    """Runs every step directly."""

    problem: str | None = None

    def run(self, shape: StepShape, step: Callable[[], Any]) -> Any:
        """Run a step."""
        return step()

    def forget(self) -> None:
        """Do nothing: a step that runs directly leaves nothing behind."""


class RecordedSteps:
    """Records steps on a GPU and replays them; runs them directly if they cannot be recorded."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self._seen: set[StepShape] = set()
        self._recorded: dict[StepShape, tuple[Any, Any]] = {}
        """For each shape, the recorded step and its result."""
        self._pool: Any = None

    def run(self, shape: StepShape, step: Callable[[], Any]) -> Any:
        """Run a step; from its second time on, replay it."""
        if shape not in self._recorded:
            # Libraries allocate their working memory when a shape is first computed: not while recording.
            if self.problem is not None or shape not in self._seen:
                self._seen.add(shape)
                return step()
            try:
                self._recorded[shape] = self._record(step)
            except RuntimeError as trouble:
                if is_out_of_memory(trouble):
                    raise
                # Nothing was computed yet. Some families wait for the device inside a step.
                self.forget()
                self.problem = f"{type(trouble).__name__}: {trouble}".splitlines()[0]
                return step()
        graph, result = self._recorded[shape]
        graph.replay()
        return result

    def forget(self) -> None:
        """Release all recorded steps; keep the problem, if there was one."""
        self._seen.clear()
        self._recorded.clear()
        self._pool = None  # Memory of graphs that no longer exist cannot be used for new ones.

    def _record(self, step: Callable[[], Any]) -> tuple[Any, Any]:
        """Return a recorded step and the memory of its result; computes nothing."""
        import torch

        if self._pool is None:
            # One pool for all: only one step runs at a time, and its result is read before the next.
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            result = step()
        return graph, result
