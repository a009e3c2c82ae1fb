"""The servers that a person named, and the addresses of their hosts."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

_URL = re.compile(r"(?:^|[:@])(https?://.+)", re.DOTALL)
_PORTS = {"http": 80, "https": 443}


class Endpoint:
    """A host and a port. Learns the host's addresses from name lookups."""

    def __init__(self, host: str, port: int) -> None:
        self._names = {_normalize_host(host), _encode_idna(host)}
        self._host, self._port = host, port
        self._addresses: set[str] = set()

    def __str__(self) -> str:
        return format_host_port(self._host, self._port)

    def is_host(self, host: str) -> bool:
        """Return whether this is the host's name or one of its addresses."""
        return _normalize_host(host) in self._names | self._addresses

    def is_at(self, host: str, port: int) -> bool:
        """Return whether this is the server. Looks the name up once more for an unknown address."""
        if port != self._port:
            return False
        if not self.is_host(host):
            self._look_up()
        return self.is_host(host)

    def learn(self, addresses: Iterable[Any]) -> None:
        """Record the addresses that a lookup of the name returned."""
        self._addresses |= {_normalize_host(str(address[4][0])) for address in addresses}

    def _look_up(self) -> None:
        try:
            self.learn(socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM))
        except OSError:
            return


def parse_endpoint(model: str) -> Endpoint | None:
    """Return the server of a model on the command line, such as `openai:qwen@http://127.0.0.1:8000/v1`."""
    url = _URL.search(model)
    if url is None:
        return None
    try:
        parts = urlsplit(url[1])
        port = parts.port or _PORTS[parts.scheme]
    except ValueError:
        return None  # Not an address; the backend reports the error.
    return Endpoint(parts.hostname, port) if parts.hostname else None


def format_host_port(host: object, port: object) -> str:
    """Return a host and a port as in an address."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    name = f"[{name}]" if ":" in name else name
    return name if port in (None, 0, "") else f"{name}:{port}"


def _normalize_host(host: str) -> str:
    return host.lower().rstrip(".").partition("%")[0]


def _encode_idna(host: str) -> str:
    """Return a name as lookups receive it."""
    try:
        return _normalize_host(host.encode("idna").decode())
    except UnicodeError:
        return _normalize_host(host)
