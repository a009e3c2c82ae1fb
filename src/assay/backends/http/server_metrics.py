"""What a server of models shows of itself at /metrics, beside the address that models are asked at."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from assay.backends.http.client import HttpClient
from assay.backends.http.exchange import Reply, Taker
from assay.backends.http.post import CallTrouble, Endpoint, Patience
from assay.backends.openai.address import address_of
from assay.backends.problems import unreachable

_PATIENCE = Patience(10.0, retries=0, wait_s=0.0)


def server_of(model: str) -> str:
    """Return the root of the server of a model that is named `openai:NAME@URL`."""
    parts = urlsplit(address_of(model.partition(":")[2]).url)
    return f"{parts.scheme}://{parts.netloc}"


async def read_metrics(server: str) -> str:
    """Return a server's metrics as it writes them."""
    endpoint = Endpoint(server, _PATIENCE, fix="look whether the server has metrics")
    async with HttpClient(server) as client:
        try:
            return await endpoint.get(client, _Text, path="/metrics")
        except CallTrouble as trouble:
            raise unreachable(f"{server}/metrics does not answer: {trouble}") from None


class _Text:
    """Reads a reply as text."""

    def taker(self, headers: Mapping[str, str]) -> Taker | None:
        return None

    def read(self, reply: Reply) -> str:
        return reply.content.decode("utf-8", errors="replace")
