"""The recorded settings of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.settings import resolve_settings
from assay.core.errors import UsageError


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


@pytest.mark.parametrize(
    ("written", "expected"),
    [("thinking = true", "on"), ("thinking = 512", "512"), ('thinking = "Low"', "low")],
)
def test_thinking_in_the_file_may_be_a_boolean_or_a_number(
    written: str, expected: str, tmp_path: Path
) -> None:
    (tmp_path / "assay.toml").write_text(written)
    assert resolve_settings({}, {}, tmp_path).values.thinking == expected


@pytest.mark.parametrize("value", ["maybe", "0", "-5", "1.5"])
def test_other_values_of_thinking_are_errors(value: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"USAGE-001.*on, off, minimal, low, medium, high"):
        resolve_settings({"thinking": value}, {}, tmp_path)
