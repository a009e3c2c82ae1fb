"""Run blocking work from a thread that may run an event loop, as in notebooks."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def run_off_loop(work: Callable[[], T], *, must_leave: bool) -> T:
    """Call `work` here, or on a new thread if this one runs an event loop or must not be sealed."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        if not must_leave:
            return work()
    context = contextvars.copy_context()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(context.run, work).result()
