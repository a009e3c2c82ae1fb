"""The data of the comparison page, as JSON."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import Request, Response, Router, get
from litestar.params import QueryParameter

from assay.app.viewed_runs import compare_folders, stamp_run
from assay.core.ids import digest
from assay.faces.web.answers import ResponseBody, build_response
from assay.faces.web.error_responses import malformed_request_error
from assay.faces.web.open_runs import RunCache

_AnyRequest = Request[Any, Any, Any]
_Runs = Annotated[list[str] | None, QueryParameter(name="run")]
_Methods = Annotated[str, QueryParameter(max_length=200)]
MOST_SIDES = 8
_MOST_KEPT = 4
"""Number of cached comparisons: a page requests two parts of one, and again after a reload."""

_encode = msgspec.json.Encoder().encode


def comparisons_router(cache: RunCache) -> Router:
    """Return the handlers under /data/compare."""
    comparisons = _ComparisonCache(cache)

    @get("/", sync_to_thread=True)
    def comparison(request: _AnyRequest, run: _Runs = None, methods: _Methods = "") -> Response[bytes]:
        """Compare runs, without their samples; `methods` as in `assay compare`."""
        return build_response(request, comparisons.of(run or (), methods).page)

    @get("/samples", sync_to_thread=True)
    def samples(request: _AnyRequest, run: _Runs = None, methods: _Methods = "") -> Response[bytes]:
        """List the samples of runs side by side, as columns."""
        return build_response(request, comparisons.of(run or (), methods).table)

    return Router("/data/compare", route_handlers=[comparison, samples])


class _ComparisonBodies(NamedTuple):
    """The bodies of a comparison."""

    page: ResponseBody
    table: ResponseBody


class _ComparisonCache:
    """Comparisons, cached until one of their runs changes. Thread-safe; built one at a time."""

    def __init__(self, cache: RunCache) -> None:
        self._cache = cache
        self._bodies: OrderedDict[str, _ComparisonBodies] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, names: Sequence[str], methods: str) -> _ComparisonBodies:
        """Return the comparison of some runs."""
        if not 1 <= len(names) <= MOST_SIDES:
            raise malformed_request_error(
                f"the address names {len(names)} runs: name two to {MOST_SIDES}, as ?run=A&run=B, "
                "or one with ?run=A&methods=M,N"
            )
        folders = [self._cache.folder(name) for name in names]
        tag = digest([list(names), methods, [stamp_run(folder) for folder in folders]])
        with self._lock:
            bodies = self._bodies.get(tag)
            if bodies is None:
                bodies = self._bodies[tag] = _build_bodies(folders, names, methods, tag)
            self._bodies.move_to_end(tag)
            while len(self._bodies) > _MOST_KEPT:
                self._bodies.popitem(last=False)
            return bodies


def _build_bodies(folders: Sequence[Path], names: Sequence[str], methods: str, tag: str) -> _ComparisonBodies:
    chosen = [method.strip() for method in methods.split(",") if method.strip()]
    view = compare_folders(folders, chosen, names)
    return _ComparisonBodies(
        ResponseBody(_encode(view.page()), f"{tag}.page"), ResponseBody(_encode(view.table), f"{tag}.table")
    )
