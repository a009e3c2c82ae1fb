"""What a server reports about its model: the model's entry in `GET /models`.

A server keeps its address if the model behind it is replaced. The name in a request does not show the
change either, because some servers accept any name. The list of models shows it in part: vLLM's contains the
path of the weights, llama.cpp's the number of parameters and the size of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay.backends.http.concurrency import FixedLevel
from assay.backends.http.post import CallTrouble, Endpoint, RetryPolicy, WholeJson
from assay.backends.http.pull import run_concurrently
from assay.core.errors import BackendError

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient

Report = dict[str, str | int | float | bool]

_PATIENCE = RetryPolicy(timeout_s=10.0, retries=0, wait_s=0.0)
"""Not every server has this list: one attempt, with a short timeout."""
_UNREACHABLE = "MODEL-007"
_IDENTIFYING = ("root", "parent", "owned_by", "revision", "sha", "digest", "checksum", "quantization")
"""Fields that depend only on the model. Others, such as vLLM's `created`, change from call to call."""
_IDENTIFYING_META = ("n_params", "size", "n_vocab", "n_embd")
"""The same for llama.cpp's `meta`."""


def fetch_model_report(base_url: str, name: str, key: str | None = None) -> Report | None:
    """Return what the server at a base address reports about a model; None if it reports nothing.

    `name`: the name in requests; "" if they have none. A server that lists one model uses it for every
    request, whatever its name there: a different name is then part of the report, as `id`. Raises MODEL-007
    if no server answers.
    """
    return read_report(fetch_json(base_url, "/models", key), name)


def fetch_json(base_url: str, path: str, key: str | None = None, *, headers: str | None = None) -> Any:
    """Return the document at a path; None if the server has none. Raises MODEL-007 if no server answers."""
    endpoint = Endpoint(base_url, _PATIENCE, key=key, headers=headers)

    async def ask(client: HttpClient, _: None) -> Any:
        try:
            return await endpoint.get(client, WholeJson, path=path)
        except CallTrouble:
            return None
        except BackendError as error:
            if error.problems[0].code == _UNREACHABLE:
                raise
            return None

    [document] = run_concurrently([None], ask, url=base_url, level=FixedLevel(1))
    return document


def read_report(listed: Any, name: str) -> Report | None:
    """Return what a list of models reports about one of them; None if the list does not identify it."""
    data = listed.get("data") if isinstance(listed, dict) else None
    entries = [entry for entry in data if _is_entry(entry)] if isinstance(data, list) else []
    matches = [entry for entry in entries if entry["id"] == name] or (entries if len(entries) == 1 else [])
    if not matches:
        return None
    entry = matches[0]
    report: Report = {} if entry["id"] == name else {"id": entry["id"]}
    report |= select_plain_fields(entry, _IDENTIFYING)
    meta = entry.get("meta")
    if isinstance(meta, dict):
        report |= select_plain_fields(meta, _IDENTIFYING_META)
    return report


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("id"), str)


def select_plain_fields(fields: Mapping[str, Any], names: tuple[str, ...]) -> Report:
    """Return those of the named fields that have a plain value."""
    return {name: fields[name] for name in names if isinstance(fields.get(name), (str, int, float))}
