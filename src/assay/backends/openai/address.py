"""Where a model behind an OpenAI-compatible address is: `MODEL@http://127.0.0.1:8000/v1`."""

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
    """Empty: the first one that the server lists."""
    url: str
    """Without a slash at its end."""
    fix: str
    """What to do about an address that the server does not serve."""


def parse_address(
    where: str,
    backend: str = "openai",
    example: str = EXAMPLE,
    *,
    calls: Sequence[str] = tuple(PATHS.values()),
    fix: str = "",
) -> Address:
    """Return where a model is, or raise MODEL-001; `calls`: how the addresses of single calls end."""
    if not where:
        raise unknown_model_error(f"{backend} needs a model and the address of its server", example)
    found = _WHERE.fullmatch(where)
    if found is None:
        raise unknown_model_error(
            f"{backend} needs an address that begins with http:// or https:// after an @", example
        )
    url = check_address(found["url"], example).rstrip("/")
    if "?" in url or "#" in url:
        raise unknown_model_error(
            "the address holds a ? or a #, and all after it would be written into every run", example
        )
    if url.endswith(tuple(calls)):
        raise unknown_model_error(f"{url} is the address of one call: the base is needed", example)
    fix = fix or f"give the address up to /v1, and a model that {url}/models lists"
    return Address(found["model"], url, fix)


async def fetch_first_model(endpoint: Endpoint, client: HttpClient) -> str:
    """Return the first model that a server lists."""
    url = f"{endpoint.url}/models"
    try:
        names = await endpoint.get(client, _ModelListReader, path="/models")
    except CallTrouble as trouble:
        raise unreachable_error(f"{url} does not say which models there are: {trouble}") from None
    if not names:
        raise endpoint_error(f"{url} lists no model", EXAMPLE)
    return names[0]


class _ModelListReader:
    """Reads a list of models."""

    def taker(self, headers: Mapping[str, str]) -> ChunkConsumer | None:
        return None

    def read(self, reply: HttpReply) -> list[str]:
        return read_model_ids(reply.content)
