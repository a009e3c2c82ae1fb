"""Counts the kernels that Triton compiles or reads from its cache, and records how long it takes."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager

from assay.core.time_profile import measuring

_open = threading.local()
_n_compiled = 0


def count_compilations() -> int:
    """Return how many kernels this process has compiled or read from Triton's cache."""
    return _n_compiled


def watch_compilations() -> None:
    """Count and record all further compilations of this process."""
    try:
        from triton import knobs
    except ImportError:  # Older than Triton 3.4: there is nothing to watch.
        return
    if knobs.runtime.jit_cache_hook is None:
        knobs.runtime.jit_cache_hook = _begin
        knobs.runtime.jit_post_compile_hook = _end


def _begin(**_: object) -> None:
    global _n_compiled
    _n_compiled += 1
    _end()  # If the one before has failed.
    block: AbstractContextManager[None] = measuring("compile")
    block.__enter__()
    _open.block = block


def _end(**_: object) -> None:
    block = _open.__dict__.pop("block", None)
    if block is not None:
        block.__exit__(None, None, None)
