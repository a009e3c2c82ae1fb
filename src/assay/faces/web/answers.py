"""Bodies of responses: compressed if worthwhile, and not sent again to clients that have them."""

from __future__ import annotations

import gzip
import ipaddress
from functools import cached_property
from typing import Any

import msgspec
from litestar import MediaType, Request, Response

from assay.core.ids import digest

_WORTH = 16 << 10
"""Shorter bodies are not compressed."""
_QUICK = 3


class ResponseBody:
    """Bytes with a tag that changes with the content."""

    def __init__(self, content: bytes, tag: str, media_type: str = MediaType.JSON) -> None:
        self.content = content
        self.tag = tag
        self.media_type = media_type

    @cached_property
    def compressed(self) -> bytes:
        """Return the content as gzip."""
        return gzip.compress(self.content, _QUICK, mtime=0)


def build_json_response(request: Request[Any, Any, Any], value: object) -> Response[bytes]:
    """Return the response with a value as JSON."""
    content = msgspec.json.encode(value)
    return build_response(request, ResponseBody(content, digest(content.decode())))


def build_response(
    request: Request[Any, Any, Any], body: ResponseBody, *, keep: str = "private, no-cache"
) -> Response[bytes]:
    """Return the response with a body; `no-cache` makes the browser revalidate it."""
    tag = f'"{body.tag}"'
    headers = {"etag": tag, "cache-control": keep, "vary": "accept-encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers)
    content = body.content
    if len(content) > _WORTH and _can_compress_for(request):
        content = body.compressed
        headers["content-encoding"] = "gzip"
    return Response(content, media_type=body.media_type, headers=headers)


def _can_compress_for(request: Request[Any, Any, Any]) -> bool:
    """Whether to compress: not for clients on this machine, where it only costs time."""
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return False
    try:
        return request.client is None or not ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return True
