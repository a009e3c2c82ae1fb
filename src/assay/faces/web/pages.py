"""Pages, their script and style, and signing in.

A page is a shell without data; it fetches its data, which requires a role. So pages are public, and a shared
link opens from anywhere, even though a browser does not send our cookie with links on other sites.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import MediaType, Request, Response, Router, delete, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from assay.faces.web.answers import ResponseBody, build_response
from assay.faces.web.error_responses import missing_token_error
from assay.faces.web.security.access import PUBLIC
from assay.faces.web.security.sessions import Sessions
from assay.results.pages.bundle import build_script, build_style
from assay.results.pages.markup import Markup, tag

_AnyRequest = Request[Any, Any, Any]
_FOR_EVER = "public, max-age=31536000, immutable"


class Page(NamedTuple):
    """A page of the server: its path, and the name that the script shows it by."""

    path: str
    name: str
    title: str
    in_menu: bool = False


VIEW_PAGES = (
    Page("/", "runs", "Runs", in_menu=True),
    Page("/runs/{name:str}", "run", "Run"),
    Page("/samples", "samples", "Samples"),
    Page("/benches/{name:str}", "bench", "Serving benchmark"),
    Page("/compare", "compare", "Comparison"),
    Page("/leaderboard", "leaderboard", "Leaderboard", in_menu=True),
)


class SignIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a sign-in request."""

    token: Annotated[str, msgspec.Meta(min_length=1, max_length=512)]


def pages_router(sessions: Sessions, pages: Sequence[Page] = VIEW_PAGES, *, is_team: bool = False) -> Router:
    """Return the handlers of pages, assets, signing in and signing out.

    `is_team`: the server also has an API, from which pages get the visitor.
    """

    @get("/assets/app.js", opt=PUBLIC)
    async def app_script(request: _AnyRequest) -> Response[bytes]:
        """Send the script of all pages."""
        return build_response(request, _asset("app.js"), keep=_choose_cache_control(request, "app.js"))

    @get("/assets/app.css", opt=PUBLIC)
    async def app_style(request: _AnyRequest) -> Response[bytes]:
        """Send the style of all pages."""
        return build_response(request, _asset("app.css"), keep=_choose_cache_control(request, "app.css"))

    @post("/session", opt=PUBLIC, status_code=204)
    async def sign_in(data: JSONBody[SignIn]) -> Response[None]:
        """Exchange a token for a cookie."""
        cookie = await sessions.begin(data.token)
        if cookie is None:
            raise missing_token_error()
        return Response(None, status_code=204, headers={"set-cookie": cookie})

    @delete("/session", opt=PUBLIC, status_code=204)
    async def sign_out(request: _AnyRequest) -> Response[None]:
        """Delete the cookie."""
        header = sessions.end(request.headers.get("cookie", ""))
        return Response(None, status_code=204, headers={"set-cookie": header})

    shells = [_shell_handler(page, render_shell(page, pages, is_team=is_team)) for page in pages]
    return Router("/", route_handlers=[app_script, app_style, sign_in, sign_out, *shells])


def _shell_handler(page: Page, content: str) -> HTTPRouteHandler:
    body = ResponseBody(content.encode(), sha256(content.encode()).hexdigest()[:16], MediaType.HTML)

    @get(page.path, opt=PUBLIC, name=f"page {page.name}")
    async def show(request: _AnyRequest) -> Response[bytes]:
        return build_response(request, body)

    return show


def render_shell(page: Page, pages: Sequence[Page], *, is_team: bool = False) -> str:
    """Return a page without data."""
    links = [
        tag("a", one.title, href=one.path, aria_current="page" if one is page else None)
        for one in pages
        if one.in_menu
    ]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{page.title} · Assay"),
        tag("link", rel="icon", href="data:,"),
        tag("link", rel="stylesheet", href=_address("app.css")),
    )
    body = tag(
        "body",
        tag("nav", tag("b", "Assay"), *links, class_="site", aria_label="Pages"),
        tag("main", id="page"),
        tag("script", Markup(""), src=_address("app.js")),
        data_page=page.name,
        data_team="yes" if is_team else None,
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _address(name: str) -> str:
    return f"/assets/{name}?v={_asset(name).tag}"


def _choose_cache_control(request: _AnyRequest, name: str) -> str:
    """Return how long an asset may be cached: forever if the address contains its hash."""
    return _FOR_EVER if request.query_params.get("v") == _asset(name).tag else "no-cache"


@cache
def _asset(name: str) -> ResponseBody:
    content, kind = (
        (build_script("app"), "text/javascript") if name == "app.js" else (build_style(), "text/css")
    )
    return ResponseBody(content.encode(), sha256(content.encode()).hexdigest()[:16], kind)
