"""The hub's own client without its console output; its settings define address, token and cache folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from assay.core.secrets import mask_user_info

_BARS_VARIABLE = "HF_HUB_DISABLE_PROGRESS_BARS"
"""If the user has set it, the client does not allow to override it."""


def hub_client() -> Any:
    """Return the package huggingface_hub; raise ModuleNotFoundError if it is not installed."""
    client = import_module("huggingface_hub")
    # Submodules become attributes once they are imported.
    for part in ("constants", "errors", "utils"):
        import_module(f"huggingface_hub.{part}")
    return client


def is_offline() -> bool:
    """Return whether HF_HUB_OFFLINE, or an offline run, forbids requests to the hub."""
    return bool(hub_client().constants.HF_HUB_OFFLINE)


def endpoint() -> str:
    """Return the hub's address, as set by HF_ENDPOINT, without a password."""
    return mask_user_info(str(hub_client().constants.ENDPOINT))


def cache_folder() -> Path:
    """Return the folder of the hub's cache, as set by HF_HUB_CACHE and HF_HOME."""
    return Path(hub_client().constants.HF_HUB_CACHE).expanduser()


def has_token() -> bool:
    """Return whether a token is sent: HF_TOKEN, or one stored by `hf auth login`."""
    return bool(hub_client().get_token())


@contextmanager
def quiet_client(*, shows_bars: bool = False) -> Iterator[Any]:
    """Yield the client without its warnings, which it raises as well, and without its progress bars."""
    client = hub_client()
    tools = client.utils
    level, hid_bars = tools.logging.get_verbosity(), tools.are_progress_bars_disabled()
    tools.logging.set_verbosity(tools.logging.CRITICAL)
    _switch_bars(tools, on=shows_bars)
    try:
        yield client
    finally:
        tools.logging.set_verbosity(level)
        _switch_bars(tools, on=not hid_bars)


def _switch_bars(tools: Any, *, on: bool) -> None:
    if _BARS_VARIABLE not in os.environ:
        (tools.enable_progress_bars if on else tools.disable_progress_bars)()
