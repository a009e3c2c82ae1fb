"""What a server says about the model it serves: its entry in `GET /models`.

A server keeps its address when the model behind it is replaced. The name in a request does not show it
either: some servers answer to any name. Their lists of models do, as far as they go: vLLM's has the path of
the weights, llama.cpp's the number of parameters and the size of the file.
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
"""Not every server has such a list: one attempt, and no long wait."""
_UNREACHABLE = "MODEL-007"
_IDENTIFYING = ("root", "parent", "owned_by", "revision", "sha", "digest", "checksum", "quantization")
"""Fields that depend on the model alone. Others, such as vLLM's `created`, change from call to call."""
_IDENTIFYING_META = ("n_params", "size", "n_vocab", "n_embd")
"""The same, of llama.cpp's `meta`."""


def fetch_model_report(base_url: str, name: str, key: str | None = None) -> Report | None:
    """Return what the server at a base address says about a model; None where it says nothing.

    `name`: as requests name it; "" where they do not. A server that lists one model serves that one whatever
    it is called in requests: another name is then part of the report, as `id`. Raises MODEL-007 when no
    server answers.
    """
    return read_report(fetch_json(base_url, "/models", key), name)


def fetch_json(base_url: str, path: str, key: str | None = None) -> Any:
    """Return the document at a path; None where the server has none. Raises MODEL-007 without a server."""
    endpoint = Endpoint(base_url, _PATIENCE, key=key)

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
    """Return what a list of models says about one of them; None where that cannot be told."""
    data = listed.get("data") if isinstance(listed, dict) else None
    entries = [one for one in data if _is_entry(one)] if isinstance(data, list) else []
    found = [one for one in entries if one["id"] == name] or (entries if len(entries) == 1 else [])
    if not found:
        return None
    entry = found[0]
    report: Report = {} if entry["id"] == name else {"id": entry["id"]}
    report |= select_plain_fields(entry, _IDENTIFYING)
    meta = entry.get("meta")
    if isinstance(meta, dict):
        report |= select_plain_fields(meta, _IDENTIFYING_META)
    return report


def _is_entry(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("id"), str)


def select_plain_fields(fields: Mapping[str, Any], names: tuple[str, ...]) -> Report:
    """Return those of some fields that hold a plain value."""
    return {name: fields[name] for name in names if isinstance(fields.get(name), (str, int, float))}
