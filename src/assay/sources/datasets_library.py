"""The library `datasets`, offline and quiet: the one place that imports it.

Must not know what is loaded, nor for whom.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_OFFLINE = (("huggingface_hub.constants", "HF_HUB_OFFLINE"), ("datasets.config", "HF_HUB_OFFLINE"))
"""Where the hub's libraries keep the switch, once they are imported."""
_TRUE = ("1", "ON", "YES", "TRUE")


@contextmanager
def library() -> Iterator[Any]:
    """Yield the library; ModuleNotFoundError when it is not installed."""
    with offline():
        import datasets

        bars, level = datasets.are_progress_bars_disabled(), datasets.logging.get_verbosity()
        datasets.disable_progress_bars()
        # What it would log is raised as well, and reported with the place.
        datasets.logging.set_verbosity(datasets.logging.CRITICAL)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield datasets
        finally:
            datasets.logging.set_verbosity(level)
            if not bars:
                datasets.enable_progress_bars()


@contextmanager
def offline() -> Iterator[None]:
    """Keep the hub's libraries offline, also where an author's code imports them inside."""
    known = os.environ.get("HF_HUB_OFFLINE")
    before = {place: _switch(*place) for place in _OFFLINE}
    os.environ["HF_HUB_OFFLINE"] = "1"
    _set_switches(dict.fromkeys(_OFFLINE, True))
    try:
        yield
    finally:
        os.environ.pop("HF_HUB_OFFLINE")
        if known is not None:
            os.environ["HF_HUB_OFFLINE"] = known
        # One that was imported inside took the switch for the person's own wish.
        asked = (known or "").upper() in _TRUE
        _set_switches({place: asked if was is None else was for place, was in before.items()})


def _switch(module: str, name: str) -> bool | None:
    return getattr(sys.modules.get(module), name, None)


def _set_switches(values: Mapping[tuple[str, str], bool]) -> None:
    for (module, name), value in values.items():
        if module in sys.modules:
            setattr(sys.modules[module], name, value)
