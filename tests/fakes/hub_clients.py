"""The real clients of the hub, led to a test hub inside the process of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.hub_server import HubServer


def lead_clients(
    patch: pytest.MonkeyPatch,
    hub: HubServer,
    home: Path,
    *,
    token: str | None = None,
    is_offline: bool = False,
) -> None:
    """Let `huggingface_hub` and `datasets` use a hub and a cache; they read variables only when imported."""
    import datasets.config
    import huggingface_hub.constants as constants

    for name, value in hub.environment(home).items():
        patch.setenv(name, value)
    for place in ("HF_TOKEN", "HF_HUB_OFFLINE"):
        patch.delenv(place, raising=False)
    if token is not None:
        patch.setenv("HF_TOKEN", token)
    patch.setattr(constants, "ENDPOINT", hub.endpoint)
    patch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    )
    for attribute, folder in (("HF_HOME", ""), ("HF_HUB_CACHE", "hub"), ("HF_ASSETS_CACHE", "assets")):
        patch.setattr(constants, attribute, str(home / folder))
    patch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
    patch.setattr(datasets.config, "HF_ENDPOINT", hub.endpoint)
    patch.setattr(datasets.config, "HF_DATASETS_CACHE", home / "datasets")
    for module in (constants, datasets.config):
        patch.setattr(module, "HF_HUB_OFFLINE", is_offline)
