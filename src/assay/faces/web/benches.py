"""Serving benchmarks, as JSON."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, get
from litestar.params import FromPath

from assay.app.viewed_benches import ViewedBenches
from assay.faces.web.answers import build_json_response
from assay.faces.web.error_responses import not_found_error

_AnyRequest = Request[Any, Any, Any]


def benches_router(benches: ViewedBenches) -> Router:
    """Return the handlers under /data/benches."""

    @get("/", sync_to_thread=True)
    def list_benches(request: _AnyRequest) -> Response[bytes]:
        """List the serving benchmarks."""
        return build_json_response(request, benches.list_benches())

    @get("/{name:str}", sync_to_thread=True)
    def bench(request: _AnyRequest, name: FromPath[str]) -> Response[bytes]:
        """Show a serving benchmark."""
        page = benches.read_page(name)
        if page is None:
            raise not_found_error("benchmark")
        return build_json_response(request, page)

    return Router("/data/benches", route_handlers=[list_benches, bench])
