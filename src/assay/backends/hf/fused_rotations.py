"""Replaces the function that rotates queries and keys, which belongs to a family and not to a model.

Other models of the family may compute on other threads meanwhile, or be trained. So the replacement applies
only to the thread that asks for it, in inference mode.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

from assay.backends.hf.fused_kernels import rotate

ROTATION = "apply_rotary_pos_emb"
"""The name of the function, in the files of nearly all families."""

_lock = threading.Lock()
_replaced: dict[Any, tuple[Callable[..., Any], int]] = {}
"""By module of Python, its own function and how many blocks use the replacement."""
_in_use: ContextVar[frozenset[Any]] = ContextVar("in_use", default=frozenset())
"""The modules whose function is replaced for this thread."""


@contextmanager
def using_rotations(owners: frozenset[Any]) -> Iterator[None]:
    """Let modules of Python rotate by the kernel inside the block, on this thread."""
    token = _in_use.set(owners)
    begun: list[Any] = []
    try:
        for owner in owners:
            with _lock:
                own, n_blocks = _replaced.get(owner) or (getattr(owner, ROTATION), 0)
                _replaced[owner] = own, n_blocks + 1
                begun.append(owner)
                if not n_blocks:
                    setattr(owner, ROTATION, _choose(owner, own))
        yield
    finally:
        for owner in begun:
            with _lock:
                own, n_blocks = _replaced.pop(owner)
                if n_blocks > 1:
                    _replaced[owner] = own, n_blocks - 1
                else:
                    setattr(owner, ROTATION, own)
        _in_use.reset(token)


def _choose(owner: Any, own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rotation that uses the kernel where it fits, and otherwise the family's own function."""
    import torch

    @wraps(own)
    def rotate_fast(query: Any, key: Any, cos: Any, sin: Any, *more: Any, **options: Any) -> Any:
        is_in_use = owner in _in_use.get() and torch.is_inference_mode_enabled()
        fits = (
            is_in_use and not more and not options and query.dim() == 4 and cos.shape[1:] == query.shape[2:]
        )
        # Families that keep the angles in fp32 round elsewhere.
        fits = fits and len(cos) in (1, len(query)) and cos.dtype == query.dtype
        fits = fits and cos.stride() == sin.stride()
        if not fits or not all(part.stride(-1) == 1 for part in (query, key, cos)):
            return own(query, key, cos, sin, *more, **options)
        return rotate(query, key, cos, sin)

    return rotate_fast
