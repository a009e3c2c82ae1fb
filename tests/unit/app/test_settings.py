"""The recorded settings of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.settings import resolve_settings


@pytest.mark.parametrize(
    ("name", "is_hidden"),
    [
        ("api_key", True),
        ("key", True),
        ("HF_TOKEN", True),
        ("db.password", True),
        ("client-secret", True),
        ("apiKey", True),
        ("extra.Authorization", True),
        ("key_env", False),
        ("batch_tokens", False),
        ("max_tokens_name", False),
        ("extra.monkey", False),
    ],
)
def test_secrets_are_hidden_and_nothing_else(tmp_path: Path, name: str, is_hidden: bool) -> None:
    """What is hidden cannot be given back to the model: `explain` opens it with what was written down."""
    settings = resolve_settings({"model_args": {name: "7"}}, {}, tmp_path)
    assert settings.to_manifest()["model_args"].value == {name: "(hidden)" if is_hidden else "7"}
