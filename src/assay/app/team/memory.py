"""How much memory this process may take."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

from assay.core.errors import AuthorError, Problem

_MB = 1_000_000


@contextmanager
def bounded_memory(at_most_mb: int) -> Iterator[None]:
    """Bound what this process may write to, from now on; raise TEAM-047 where what is done here needs more.

    A few thousand bytes of a packed table can stand for billions: the size of a file bounds nothing.
    """
    # Libraries for arrays set memory aside for each core, and a check does no such arithmetic.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = at_most_mb * _MB
    resource.setrlimit(
        resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
    )
    try:
        yield
    except MemoryError as error:
        what = f"more than {at_most_mb:,} MB of memory are needed to read it"
        fix = "upload a part of it, with shorter texts, or have the owner set check_mb higher"
        raise AuthorError(Problem("TEAM-047", what, fix)) from error
