"""A hub of real datasets on the loopback, and the real clients led to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.hub_clients import lead_clients
from fakes.hub_datasets import add_real_datasets
from fakes.hub_server import HubServer, hub_on_loopback


@pytest.fixture(scope="module")
def real_hub(shared_data: Path) -> Iterator[HubServer]:
    with hub_on_loopback() as server:
        add_real_datasets(server, shared_data)
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hf_home")


@pytest.fixture
def hub(real_hub: HubServer, home: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    real_hub.log.clear()
    real_hub.faults.clear()
    lead_clients(monkeypatch, real_hub, home)
    return real_hub
