"""Record what is read from the hub while a dataset is compiled, for the run's manifest.

Authors' code calls `datasets.load_dataset` itself. Inside `noting_loads` those calls are recorded too, their
errors say how to fix them, and old names without an organization (`gsm8k`) are looked up, which the library
does not do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from assay.sources.datasets_library import quiet_datasets_library
from assay.sources.hub_name import HubName, parse_hub_name

_reads: ContextVar[dict[HubName, None] | None] = ContextVar("hub_reads", default=None)


@contextmanager
def noting_reads() -> Iterator[dict[HubName, None]]:
    """Collect the names read inside the block, each once, in order."""
    names: dict[HubName, None] = {}
    before = _reads.set(names)
    try:
        yield names
    finally:
        _reads.reset(before)


def note_read(name: HubName) -> None:
    """Record a name with its commit."""
    if (names := _reads.get()) is not None:
        names[name] = None


@contextmanager
def noting_loads() -> Iterator[None]:
    """Record what authors' code loads from the hub with `load_dataset`, if it imported the library."""
    module: Any = sys.modules.get("datasets.load")
    if module is None:
        yield
        return
    original = module.load_dataset_builder

    def load_dataset_builder(path: str, *args: Any, **settings: Any) -> Any:
        name = _find_hub_name(module, path)
        if name is None:
            return original(path, *args, **settings)
        return _load_builder(original, name, args, settings)

    module.load_dataset_builder = load_dataset_builder
    try:
        with quiet_datasets_library():
            yield
    finally:
        module.load_dataset_builder = original


def _find_hub_name(module: Any, path: str) -> HubName | None:
    """Return the name of a dataset on the hub; None for formats and for local files."""
    if path in module._PACKAGED_DATASETS_MODULES or os.path.exists(path):
        return None
    name = parse_hub_name(path if "/" in path else f"hf://{path}")
    return name if name is not None and name.config is None and name.split is None else None


def _load_builder(original: Any, name: HubName, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    # Imported here because they import the hub's client.
    from assay.hub.client import is_offline
    from assay.sources.hub_client import find_repository, translating_hub_errors

    name = name._replace(revision=settings.get("revision"))
    path = name.repository
    if not is_offline():
        # Look it up first: the library tries for half a minute to reach an unreachable hub.
        path, commit, _ = find_repository(name)
        settings = {**settings, "revision": commit}
    with translating_hub_errors(name):
        builder = original(path, *args, **settings)
    read = HubName(path, builder.config.name, builder.hash)
    if read.is_pinned:
        note_read(read)
    prepare = builder.download_and_prepare

    def download_and_prepare(*args: Any, **settings: Any) -> Any:
        with translating_hub_errors(name):
            return prepare(*args, **settings)

    builder.download_and_prepare = download_and_prepare
    return builder
