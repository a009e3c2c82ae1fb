"""Which arguments of OpenAI-compatible models a provider with its own protocol accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.backends.openai.address import Address, parse_address
from assay.backends.openai.arguments import OpenAISettings, read_openai_settings
from assay.backends.problems import argument_error, unknown_model_error

_OPENAI_ONLY = (
    *("api", "n_per_call", "max_tokens_name", "thinking_budget_name", "thoughts"),
    *("decoding", "scoring_fields", "min_p", "repetition_penalty"),
)


def read_provider_settings(
    backend: str, args: Mapping[str, str], others: Iterable[str] = ()
) -> OpenAISettings:
    """Return the arguments; raise MODEL-002 for those that the provider's API does not have."""
    for name in (*_OPENAI_ONLY, *others):
        if name in args:
            what = f"{backend} argument {name}: the provider's API has no such parameter"
            raise argument_error(what, f"remove {name}")
    return read_openai_settings(args, backend)


def read_provider_address(where: str, backend: str, url: str, example: str) -> Address:
    """Return the address of a model, by default at the provider's own URL; raise MODEL-001 if it is wrong."""
    if "@" not in where:
        where = f"{where}@{url}"
    address = parse_address(where, backend, example, calls=(), fix="check the name of the model")
    if not address.model:
        raise unknown_model_error(f"{backend} needs the name of a model", example)
    return address


def keep_fields(fields: Mapping[str, Any], settings: OpenAISettings) -> dict[str, Any]:
    """Return the fields of a body without those that the argument `omit` names."""
    return {name: value for name, value in fields.items() if name not in settings.omitted}
