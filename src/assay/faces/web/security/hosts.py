"""The host names that a server accepts.

Another site may point its own name at this machine (DNS rebinding); the browser then treats our responses as
that site's. The `Host` header reveals it: it contains the name that the browser requested. IP addresses need
no name server, so nobody can redirect them.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable

_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9](?:[a-z0-9._-]{0,252}))(?::([0-9]{1,5}))?")
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_EVERYWHERE = ("0.0.0.0", "::")
_HTTP_PORT = 80


class Hosts:
    """The accepted `Host` headers."""

    def __init__(self, host: str, port: int, also: Iterable[str] = ()) -> None:
        """Accept the listening address, and the host names in `also`, such as those of proxies."""
        own = {*_LOOPBACK_NAMES, _bracket_ipv6(host)}
        self._takes_numbers = host in _EVERYWHERE
        if self._takes_numbers:
            own |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        self._names = frozenset(name.lower() for name in own)
        self._port = port
        self._also = frozenset(name.lower() for name in also)

    def allows(self, header: str) -> bool:
        """Whether to answer a request with this `Host` header."""
        found = _HOST.fullmatch(header.lower())
        if found is None:
            return False
        name, port = found[1].rstrip("."), int(found[2] or _HTTP_PORT)
        if name in self._also or header.lower() in self._also:
            return True
        is_ours = name in self._names or (self._takes_numbers and _is_ip_address(name))
        return is_ours and port == self._port


def is_loopback(host: str) -> bool:
    """Whether an address is only reachable from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
