"""What a server of models shows of itself at /metrics, beside the address that models are asked at."""

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
    """Return the root of the server of a model that is named `openai:NAME@URL`."""
    parts = urlsplit(parse_address(model.partition(":")[2]).url)
    return f"{parts.scheme}://{parts.netloc}"


async def read_metrics(server: str) -> str:
    """Return a server's metrics as it writes them."""
    endpoint = Endpoint(server, _PATIENCE, fix="look whether the server has metrics")
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
