"""Commands and backends of the test process with a hub on the loopback as theirs, until a block ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes.hub_clients import lead_clients
from fakes.hub_server import HubServer


@contextmanager
def hub_here(hub: HubServer, home: Path) -> Iterator[pytest.MonkeyPatch]:
    """Lead the clients of this process to a hub, with a cache of their own; yield what may change more."""
    import huggingface_hub
    from huggingface_hub import constants

    with pytest.MonkeyPatch.context() as patch:
        lead_clients(patch, hub, home)
        patch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
        try:
            yield patch
        finally:
            huggingface_hub.close_session()
