"""Addresses of models behind OpenAI-compatible servers: `MODEL@http://127.0.0.1:8000/v1`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from assay.backends.http.addresses import check_address
from assay.backends.http.exchange import ChunkConsumer, HttpReply
from assay.backends.http.post import CallTrouble, Endpoint
from assay.backends.openai.protocol import PATHS, read_model_ids
from assay.backends.problems import endpoint_error, unknown_model_error, unreachable_error

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient

EXAMPLE = "write openai:MODEL@http://127.0.0.1:8000/v1, or openai:@http://... for the server's first model"
_WHERE = re.compile(r"(?P<model>.*?)@(?P<url>https?://.*)", re.DOTALL)


class Address(NamedTuple):
    """A model's name on a server, and the server's address."""

    model: str
    """Empty: use the first model that the server lists."""
    url: str
    """Without a trailing slash."""
    fix: str
    """The fix to show if the server does not serve this address."""


def parse_address(
    where: str,
    backend: str = "openai",
    example: str = EXAMPLE,
    *,
    calls: Sequence[str] = tuple(PATHS.values()),
    fix: str = "",
) -> Address:
    """Return the address of a model, or raise MODEL-001; `calls`: the path suffixes of single endpoints."""
    if not where:
        raise unknown_model_error(f"{backend} needs a model and the address of its server", example)
    match = _WHERE.fullmatch(where)
    if match is None:
        raise unknown_model_error(
            f"{backend} needs an address that begins with http:// or https:// after an @", example
        )
    url = check_address(match["url"], example).rstrip("/")
    if "?" in url or "#" in url:
        raise unknown_model_error(
            "the address contains ? or #, and every run would store what follows it", example
        )
    if url.endswith(tuple(calls)):
        what = f"{url} is the address of one endpoint; the base address is needed"
        raise unknown_model_error(what, example)
    fix = fix or f"give the address up to /v1, and a model that {url}/models lists"
    return Address(match["model"], url, fix)


async def fetch_first_model(endpoint: Endpoint, client: HttpClient) -> str:
    """Return the first model that a server lists."""
    url = f"{endpoint.url}/models"
    try:
        names = await endpoint.get(client, _ModelListReader, path="/models")
    except CallTrouble as trouble:
        raise unreachable_error(f"{url} does not list the server's models: {trouble}") from None
    if not names:
        raise endpoint_error(f"{url} lists no models", EXAMPLE)
    return names[0]


class _ModelListReader:
    """Reads a list of models."""

    def taker(self, headers: Mapping[str, str]) -> ChunkConsumer | None:
        return None

    def read(self, reply: HttpReply) -> list[str]:
        return read_model_ids(reply.content)
