"""Counts the kernels that Triton compiles or reads from its cache, and records how long it takes."""

from __future__ import annotations

from contextlib import AbstractContextManager

from assay.core.time_profile import measuring

_open: list[AbstractContextManager[None]] = []
_n_compiled = 0


def count_compilations() -> int:
    """Return how many kernels this process has compiled or read from Triton's cache."""
    return _n_compiled


def watch_compilations() -> None:
    """Count and record all further compilations of this process."""
    from triton import knobs  # Of Triton 3.4 and newer.

    if knobs.runtime.jit_cache_hook is None:
        knobs.runtime.jit_cache_hook = _begin
        knobs.runtime.jit_post_compile_hook = _end


def _begin(**_: object) -> None:
    global _n_compiled
    _n_compiled += 1
    _end()  # If the one before has failed.
    _open.append(measuring("compile"))
    _open[-1].__enter__()


def _end(**_: object) -> None:
    while _open:
        _open.pop().__exit__(None, None, None)
