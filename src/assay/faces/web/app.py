"""The ASGI application of `assay view` and `assay serve`: routers behind one gate."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from litestar import Litestar, MediaType, Request, Response
from litestar.datastructures import MutableScopeHeaders
from litestar.exceptions import HTTPException
from litestar.openapi.config import OpenAPIConfig
from litestar.serialization import decode_json
from litestar.types import ControllerRouterHandler, Message, Scope
from msgspec import inspect as types

from assay.core.errors import AssayError, listing, suggest_name
from assay.core.roles import Role
from assay.faces.web.error_responses import (
    HttpError,
    internal_error,
    malformed_request_error,
    to_http_error,
    unknown_address_error,
)
from assay.faces.web.security.access import require_role
from assay.faces.web.security.gate import Bounds, Gate
from assay.faces.web.security.hosts import Hosts
from assay.faces.web.security.sessions import Sessions

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]*)`")
_WRONG = re.compile(r"Invalid enum value '?(?P<value>[^']*)'?")


def describe_expected(annotation: Any, place: str, message: str) -> str:
    """Return what is expected at a place of an annotated value; empty if the message already says it.

    `place` has the syntax of msgspec: `settings.method[0]`.
    """
    try:
        found = list(_find_types(types.type_info(annotation), _STEP.findall(place)))
    except (TypeError, msgspec.ValidationError):
        return ""
    if unknown := _UNKNOWN.search(message):
        names = [field.encode_name for one in found for field in getattr(one, "fields", ())]
        return (
            f"{suggest_name(unknown['name'], names)}; the fields are {listing(names, at_most=60)}"
            if names
            else ""
        )
    if wrong := _WRONG.search(message):
        values = [value for one in found for value in _choices(one)]
        return (
            f"{suggest_name(wrong['value'], values)}; expected {listing(values, at_most=30)}"
            if values
            else ""
        )
    return ""


def _find_types(info: types.Type, steps: list[tuple[str, str]]) -> Iterator[types.Type]:
    """Yield the types that a value may have at a place within another."""
    if isinstance(info, types.Metadata):
        yield from _find_types(info.type, steps)
    elif isinstance(info, types.UnionType):
        for one in info.types:
            yield from _find_types(one, steps)
    elif not steps:
        yield info
    else:
        (name, _), rest = steps[0], steps[1:]
        if name and isinstance(info, types.StructType):
            for field in info.fields:
                if field.encode_name == name:
                    yield from _find_types(field.type, rest)
        elif isinstance(info, types.ListType | types.VarTupleType | types.SetType):
            yield from _find_types(info.item_type, rest if not name else steps)
        elif isinstance(info, types.DictType):
            yield from _find_types(info.value_type, rest)


def _choices(info: types.Type) -> list[str]:
    if isinstance(info, types.LiteralType):
        return [str(value) for value in info.values]
    if isinstance(info, types.EnumType):
        return [str(one.value) for one in info.cls]
    if isinstance(info, types.ListType | types.VarTupleType | types.SetType):
        return _choices(info.item_type)
    if isinstance(info, types.Metadata):
        return _choices(info.type)
    return []


_log = logging.getLogger("assay.web")
_NOT_BY_THIS_METHOD = 405
_NOT_FOUND = (404, _NOT_BY_THIS_METHOD)


class WebSettings(msgspec.Struct, frozen=True):
    """Hosts, authentication and limits of a server."""

    hosts: Hosts
    """The host names that it accepts."""
    sessions: Sessions
    """The tokens and sessions of visitors."""
    without_token: Role | None = None
    """The role of a visitor without a token; None: only public pages."""
    bounds: Bounds = Bounds()


def make_app(
    settings: WebSettings,
    routers: Sequence[ControllerRouterHandler],
    *,
    openapi: OpenAPIConfig | None = None,
    on_shutdown: Sequence[Callable[[], None]] = (),
) -> Gate:
    """Return the application. Every handler requires at least the role reader, unless it is `PUBLIC`."""
    app = Litestar(
        list(routers),
        guards=[require_role(Role.READER)],
        exception_handlers={
            HttpError: _handle_http_error,
            AssayError: _handle_assay_error,
            HTTPException: _handle_litestar_error,
            RecursionError: _handle_recursion_error,
            Exception: handle_unexpected_error,
        },
        openapi_config=openapi,
        # The gate limits bodies, depending on the path.
        request_max_body_size=None,
        logging_config=None,
        before_send=[_set_allow_header],
        on_shutdown=list(on_shutdown),
    )
    return Gate(
        app, settings.hosts, settings.sessions, without_token=settings.without_token, bounds=settings.bounds
    )


def build_error_response(error: HttpError) -> Response[bytes]:
    """Return the response of an error."""
    headers = {"www-authenticate": "Bearer"} if error.status == 401 else None
    return Response(error.body(), status_code=error.status, media_type=MediaType.JSON, headers=headers)


def _handle_http_error(_: Request[Any, Any, Any], error: HttpError) -> Response[bytes]:
    return build_error_response(error)


def _handle_assay_error(_: Request[Any, Any, Any], error: AssayError) -> Response[bytes]:
    return build_error_response(to_http_error(error))


def _handle_litestar_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Describe an error of Litestar, without its own message, which repeats the untrusted address."""
    if error.status_code in _NOT_FOUND:
        return build_error_response(unknown_address_error(error.status_code))
    if error.status_code >= 500:
        return build_error_response(internal_error())
    extra = error.extra if isinstance(error.extra, list) else []
    found = [_describe_fault(request, one) for one in extra if isinstance(one, dict)]
    return build_error_response(malformed_request_error("; ".join(found) or "the request cannot be read"))


def _handle_recursion_error(request: Request[Any, Any, Any], error: RecursionError) -> Response[bytes]:
    """Reject a body with deeply nested brackets; Litestar does not catch this error of its decoder."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code is not decode_json.__code__:
        # An error of our own code, not about the body.
        return handle_unexpected_error(request, error)
    return build_error_response(malformed_request_error("the body is nested too deeply"))


def _describe_fault(request: Request[Any, Any, Any], fault: dict[str, Any]) -> str:
    """Describe what is wrong at one place of a request and what is expected there."""
    place, message = str(fault.get("key", "body")), str(fault.get("message", ""))
    parameters = request.route_handler.parsed_fn_signature.parameters
    name = place.partition("[")[0]
    annotation, inside = (parameters[name].annotation, "") if name in parameters else (None, place)
    if annotation is None and "data" in parameters:
        annotation = parameters["data"].annotation
    expected = "" if annotation is None else describe_expected(annotation, inside, message)
    return f"{place}: {message}{expected}"


async def _set_allow_header(message: Message, scope: Scope) -> None:
    """List all methods of an address: Litestar lists only those of the first registered handler."""
    if message["type"] != "http.response.start":
        return
    if scope.get("method") == "OPTIONS" or message["status"] == _NOT_BY_THIS_METHOD:
        path = scope["path"].rstrip("/") or "/"
        routes = scope["litestar_app"].routes
        # A literal path takes precedence over paths with parameters.
        found = [route for route in routes if route.path == path] or [
            route for route in routes if re.fullmatch(re.sub(r"{[^}]+}", "[^/]+", route.path_format), path)
        ]
        methods = {method for route in found for method in route.methods}
        MutableScopeHeaders.from_message(message)["allow"] = ", ".join(sorted(methods))


def handle_unexpected_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Log an unexpected error, and answer without details."""
    _log.error("%s %s", request.method, request.url.path, exc_info=error)
    return build_error_response(internal_error())
