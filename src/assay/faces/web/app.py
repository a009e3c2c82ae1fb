"""The application that `assay view` and `assay serve` are made of: routers behind one gate."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from litestar import Litestar, MediaType, Request, Response
from litestar.datastructures import MutableScopeHeaders
from litestar.exceptions import HTTPException
from litestar.openapi.config import OpenAPIConfig
from litestar.serialization import decode_json
from litestar.types import ControllerRouterHandler, Message, Scope

from assay.core.errors import AssayError
from assay.core.roles import Role
from assay.faces.web.error_responses import Refusal, malformed, no_address, own_fault, refusal_of
from assay.faces.web.expected_values import expected_at
from assay.faces.web.security.access import needs
from assay.faces.web.security.gate import Bounds, Gate
from assay.faces.web.security.hosts import Hosts
from assay.faces.web.security.sessions import Sessions

_log = logging.getLogger("assay.web")
_NOT_BY_THIS_METHOD = 405
_NOT_FOUND = (404, _NOT_BY_THIS_METHOD)


class WebSettings(msgspec.Struct, frozen=True):
    """How a server lets itself be reached."""

    hosts: Hosts
    """The names under which it answers."""
    sessions: Sessions
    """Who is who."""
    without_token: Role | None = None
    """What a visitor without a token may do; None: nothing but open pages."""
    bounds: Bounds = Bounds()


def make_app(
    settings: WebSettings,
    routers: Sequence[ControllerRouterHandler],
    *,
    openapi: OpenAPIConfig | None = None,
    on_shutdown: Sequence[Callable[[], None]] = (),
) -> Gate:
    """Return the application. Every handler needs a reader at least, unless it is `PUBLIC`."""
    app = Litestar(
        list(routers),
        guards=[needs(Role.READER)],
        exception_handlers={
            Refusal: _refused,
            AssayError: _mistaken,
            HTTPException: _not_understood,
            RecursionError: _too_deep,
            Exception: failed,
        },
        openapi_config=openapi,
        # The gate bounds bodies, and knows who may send more.
        request_max_body_size=None,
        logging_config=None,
        before_send=[_allow_every_method],
        on_shutdown=list(on_shutdown),
    )
    return Gate(
        app, settings.hosts, settings.sessions, without_token=settings.without_token, bounds=settings.bounds
    )


def answered(refusal: Refusal) -> Response[bytes]:
    """Return a refusal as an answer."""
    headers = {"www-authenticate": "Bearer"} if refusal.status == 401 else None
    return Response(refusal.body(), status_code=refusal.status, media_type=MediaType.JSON, headers=headers)


def _refused(_: Request[Any, Any, Any], refusal: Refusal) -> Response[bytes]:
    return answered(refusal)


def _mistaken(_: Request[Any, Any, Any], error: AssayError) -> Response[bytes]:
    return answered(refusal_of(error))


def _not_understood(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Say what Litestar found wrong. Its own words repeat the address, which may be anything."""
    if error.status_code in _NOT_FOUND:
        return answered(no_address(error.status_code))
    if error.status_code >= 500:
        return answered(own_fault())
    extra = error.extra if isinstance(error.extra, list) else []
    found = [_described(request, one) for one in extra if isinstance(one, dict)]
    return answered(malformed("; ".join(found) or "the request cannot be read"))


def _too_deep(request: Request[Any, Any, Any], error: RecursionError) -> Response[bytes]:
    """Refuse a body of brackets within brackets. Litestar lets this error of its decoder out."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code is not decode_json.__code__:
        # Our own, and no word on the body.
        return failed(request, error)
    return answered(malformed("the body is nested too deeply: brackets within brackets, hundreds of them"))


def _described(request: Request[Any, Any, Any], fault: dict[str, Any]) -> str:
    """Return what is wrong at one place of a request, and what is expected there."""
    place, message = str(fault.get("key", "body")), str(fault.get("message", ""))
    parameters = request.route_handler.parsed_fn_signature.parameters
    name = place.partition("[")[0]
    annotation, inside = (parameters[name].annotation, "") if name in parameters else (None, place)
    if annotation is None and "data" in parameters:
        annotation = parameters["data"].annotation
    expected = "" if annotation is None else expected_at(annotation, inside, message)
    return f"{place}: {message}{expected}"


async def _allow_every_method(message: Message, scope: Scope) -> None:
    """Name all methods of an address: Litestar names those of the first handler that was registered."""
    if message["type"] != "http.response.start":
        return
    if scope.get("method") == "OPTIONS" or message["status"] == _NOT_BY_THIS_METHOD:
        path = scope["path"].rstrip("/") or "/"
        routes = scope["litestar_app"].routes
        # An address that is spelled out hides those with a part to be filled in.
        found = [route for route in routes if route.path == path] or [
            route for route in routes if re.fullmatch(re.sub(r"{[^}]+}", "[^/]+", route.path_format), path)
        ]
        methods = {method for route in found for method in route.methods}
        MutableScopeHeaders.from_message(message)["allow"] = ", ".join(sorted(methods))


def failed(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Log an error that nobody foresaw, and say no more than that there was one."""
    _log.error("%s %s", request.method, request.url.path, exc_info=error)
    return answered(own_fault())
