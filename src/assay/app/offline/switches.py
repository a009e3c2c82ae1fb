"""The environment in which libraries ask no server: set while a run is kept offline, as before afterwards.

A library reads its switch when it is imported. Of those that may be there already, the hub's are told.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_EVALUATE_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    # The hub's native downloader opens sockets that Python does not hear of.
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "WANDB_MODE": "offline",
}
_IMPORTED_SWITCHES = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
"""Where libraries keep a switch once they are imported."""


@contextmanager
def offline_switches() -> Iterator[None]:
    """Keep libraries from asking servers."""
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    kept = {
        place: getattr(sys.modules[place[0]], place[1]) for place in _IMPORTED_SWITCHES if _has_switch(*place)
    }
    os.environ.update(_ENVIRONMENT)
    _set(dict.fromkeys(kept, True))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        # One that was imported meanwhile took the switch for the person's own wish.
        _set(
            {
                place: kept.get(place, before["HF_HUB_OFFLINE"] == "1")
                for place in _IMPORTED_SWITCHES
                if _has_switch(*place)
            }
        )


def _has_switch(module: str, name: str) -> bool:
    return hasattr(sys.modules.get(module), name)


def _set(values: dict[tuple[str, str], object]) -> None:
    for (module, name), value in values.items():
        setattr(sys.modules[module], name, value)
