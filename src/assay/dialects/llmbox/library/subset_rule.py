"""Whether a dataset class takes a subset from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from logging import getLogger

_logger = getLogger(__name__)


def accepts_subset(
    load_args: Sequence[str] | None,
    overwrite_subset: bool = True,
    subset: str | None = "",
    disable_warning: bool = False,
) -> bool:
    """Return whether `subset` may be loaded by a class with these `load_args`.

    `(path,)` and `()` take any. `(path, own)` takes any when its own may be overwritten, which is logged, and
    else only its own. None takes none: the class brings its rows.
    """
    if load_args is None:
        return False
    if len(load_args) < 2 or load_args[1] == subset:
        return True
    if overwrite_subset and not disable_warning:
        _logger.warning("the subset %r takes the place of the class's own, %r", subset, load_args[1])
    return overwrite_subset
