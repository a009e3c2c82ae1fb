"""Measures how long a device computes: by its own clock on a GPU, which may still be computing."""

from __future__ import annotations

import time
from typing import Any


class DeviceSpan:
    """A stretch of a device's work; begins when it is created."""

    def __init__(self, device: Any) -> None:
        self._seconds = 0.0
        self._began = time.perf_counter()
        self._events: Any = None
        if device.type == "cuda":
            import torch

            self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            self._events[0].record()

    def end(self) -> None:
        """End the stretch after the work that the device has been given so far."""
        if self._events is not None:
            self._events[1].record()
        else:
            self._seconds = time.perf_counter() - self._began

    def wait(self) -> float:
        """Wait for the end; return how many seconds the device worked."""
        if self._events is not None:
            begun, ended = self._events
            ended.synchronize()
            self._seconds = begun.elapsed_time(ended) / 1000
        return self._seconds
