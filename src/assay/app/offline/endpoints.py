"""The servers that a person named, and the addresses that their names stand for."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

_URL = re.compile(r"(?:^|[:@])(https?://.+)", re.DOTALL)
_PORTS = {"http": 80, "https": 443}


class Endpoint:
    """A host and a port. Learns the host's addresses as they are looked up."""

    def __init__(self, host: str, port: int) -> None:
        self._names = {_normalize_host(host), _encode_idna(host)}
        self._host, self._port = host, port
        self._addresses: set[str] = set()

    def __str__(self) -> str:
        return format_host_port(self._host, self._port)

    def is_host(self, host: str) -> bool:
        """Return whether this is the host's name, or an address of it."""
        return _normalize_host(host) in self._names | self._addresses

    def is_at(self, host: str, port: int) -> bool:
        """Return whether this is the server. For an unknown address the name is looked up once more."""
        if port != self._port:
            return False
        if not self.is_host(host):
            self._look_up()
        return self.is_host(host)

    def learn(self, found: Iterable[Any]) -> None:
        """Take what a look-up of the name returned."""
        self._addresses |= {_normalize_host(str(one[4][0])) for one in found}

    def _look_up(self) -> None:
        try:
            self.learn(socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM))
        except OSError:
            return


def parse_endpoint(model: str) -> Endpoint | None:
    """Return the server of a model as a person names it, such as `openai:qwen@http://127.0.0.1:8000/v1`."""
    found = _URL.search(model)
    if found is None:
        return None
    try:
        parts = urlsplit(found[1])
        port = parts.port or _PORTS[parts.scheme]
    except ValueError:
        return None  # No address at all, as the backend will say.
    return Endpoint(parts.hostname, port) if parts.hostname else None


def format_host_port(host: object, port: object) -> str:
    """Return a host and a port as they are written in addresses."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    name = f"[{name}]" if ":" in name else name
    return name if port in (None, 0, "") else f"{name}:{port}"


def _normalize_host(host: str) -> str:
    return host.lower().rstrip(".").partition("%")[0]


def _encode_idna(host: str) -> str:
    """Return a name as look-ups are given it."""
    try:
        return _normalize_host(host.encode("idna").decode())
    except UnicodeError:
        return _normalize_host(host)
