"""Reads the /metrics page of a model server."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from assay.backends.http.client import HttpClient
from assay.backends.http.exchange import ChunkConsumer, HttpReply
from assay.backends.http.post import CallTrouble, Endpoint, RetryPolicy
from assay.backends.openai.address import parse_address
from assay.backends.problems import unreachable_error

_PATIENCE = RetryPolicy(10.0, retries=0, wait_s=0.0)


def find_server_root(model: str) -> str:
    """Return the root address of the server of a model `openai:NAME@URL`."""
    parts = urlsplit(parse_address(model.partition(":")[2]).url)
    return f"{parts.scheme}://{parts.netloc}"


async def read_metrics(server: str) -> str:
    """Return a server's metrics as text."""
    endpoint = Endpoint(server, _PATIENCE, fix="check that the server offers /metrics")
    async with HttpClient(server) as client:
        try:
            return await endpoint.get(client, _TextReader, path="/metrics")
        except CallTrouble as trouble:
            raise unreachable_error(f"{server}/metrics does not answer: {trouble}") from None


class _TextReader:
    """Reads a reply as text."""

    def taker(self, headers: Mapping[str, str]) -> ChunkConsumer | None:
        return None

    def read(self, reply: HttpReply) -> str:
        return reply.content.decode("utf-8", errors="replace")
