"""A Hugging Face hub on the loopback: what the real clients ask of the real one, answered as it answers.

Written for `huggingface_hub` and `datasets` with `HF_ENDPOINT`. It keeps a log of requests, and has faults
for those whose path holds a mark: a test says beforehand which, and in what order.

    with hub_on_loopback() as hub:
        hub.add_dataset("openai/gsm8k", {"main/test-00000-of-00001.parquet": path})
        subprocess.run([...], env={**os.environ, **hub.environment(tmp_path)})
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from aiohttp import web

from fakes.hub_repositories import Blob, Commit, Content, Kind, Repository
from fakes.loopback import Loopback

Fault = Callable[["HubServer", web.Request], Awaitable[web.StreamResponse | None]]
"""What becomes of a request that is not answered as it should be; None: it is answered after all."""

_VERBS = "revision|tree|refs|paths-info|commits|parquet|auth-check|xet-read-token"
_NAME = rf"(?P<name>[^/]+(?:/(?!(?:{_VERBS}|resolve)(?:/|$))[^/]+)?)"
_API = re.compile(rf"/api/(?P<kind>dataset|model)s/{_NAME}(?:/(?P<verb>{_VERBS})(?:/(?P<rest>.*))?)?")
_LISTING = re.compile(r"/api/(?P<kind>dataset|model)s/?")
_RESOLVE = re.compile(rf"/(?P<kind>datasets/)?{_NAME}/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
_CONTENT = re.compile(r"/content/(?P<sha>[0-9a-f]{64})")
_TIME = "2026-01-02T03:04:05.000Z"
_CODE, _MESSAGE, _COMMIT = "X-Error-Code", "X-Error-Message", "X-Repo-Commit"


class Asked(NamedTuple):
    """One request, as the log keeps it."""

    method: str
    path: str
    """Unquoted, without the query."""
    query: str
    range: str | None
    token: str | None
    agent: str


class User(NamedTuple):
    """Somebody with a token."""

    name: str
    granted: tuple[str, ...] = ()
    """Gated and private repositories that are open to the user."""


class HubServer:
    """Repositories of datasets and models, served until it is closed."""

    def __init__(self) -> None:
        self.repositories: dict[tuple[Kind, str], Repository] = {}
        self.moved: dict[tuple[Kind, str], str] = {}
        """Old names, which the hub redirects: `gsm8k` to `openai/gsm8k`."""
        self.users: dict[str, User] = {}
        """By token."""
        self.faults: dict[str, list[Fault]] = {}
        """By a mark in the method and path (`GET /api/datasets/`): the faults of the next requests."""
        self.log: list[Asked] = []
        self.page_size = 1000
        self._loopback = Loopback(self._app)
        self._store = Loopback(self._app)
        """Where large files are: another host, whose redirects clients follow without their token."""

    # --- what a test says ---

    @property
    def endpoint(self) -> str:
        """The address for `HF_ENDPOINT`."""
        return self._loopback.address

    def environment(self, home: Path, *, token: str | None = None) -> dict[str, str]:
        """Return the variables that lead the clients here, with a cache of their own."""
        message = {"HF_ENDPOINT": self.endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1"}
        return {**message, **({"HF_TOKEN": token} if token else {})}

    def add_dataset(self, name: str, files: Mapping[str, Content], **settings: Any) -> Repository:
        """Add the repository of a dataset with one commit; `settings` as `Repository` takes them."""
        return self._add(name, "dataset", files, **settings)

    def add_model(self, name: str, files: Mapping[str, Content], **settings: Any) -> Repository:
        """Add the repository of a model with one commit; `settings` as `Repository` takes them."""
        return self._add(name, "model", files, **settings)

    def _add(self, name: str, kind: Kind, files: Mapping[str, Content], **settings: Any) -> Repository:
        repository = Repository(name, kind, **settings)
        repository.commit({".gitattributes": "*.parquet filter=lfs\n", **files})
        self.repositories[kind, name] = repository
        return repository

    def move(self, old: str, new: str, kind: Kind = "dataset") -> None:
        """Redirect an old name of a repository."""
        self.moved[kind, old] = new

    def find_requests(self, mark: str) -> list[Asked]:
        """Return the requests whose method and path hold a mark."""
        return [one for one in self.log if mark in f"{one.method} {one.path}"]

    def start(self) -> None:
        """Listen, again at the same ports."""
        self._loopback.start()
        self._store.start()

    def stop(self) -> None:
        """Break all connections; further ones are refused."""
        self._loopback.stop()
        self._store.stop()

    def close(self) -> None:
        self._loopback.close()
        self._store.close()

    # --- requests ---

    def _app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{path:.*}", self._answer)
        return app

    async def _answer(self, asked: web.Request) -> web.StreamResponse:
        raw = asked.rel_url.raw_path
        self.log.append(
            Asked(
                asked.method,
                unquote(raw),
                asked.query_string,
                asked.headers.get("Range"),
                _token(asked),
                asked.headers.get("User-Agent", ""),
            )
        )
        for mark, faults in self.faults.items():
            if mark in f"{asked.method} {unquote(raw)}" and faults:
                response = await faults.pop(0)(self, asked)
                if response is not None:
                    return response
        if raw == "/api/whoami-v2":
            return self._whoami(asked)
        if match := _LISTING.fullmatch(raw):
            return self._listing(asked, match["kind"])  # type: ignore[arg-type]
        if match := _API.fullmatch(raw):
            return await self._api(asked, match)
        if match := _RESOLVE.fullmatch(raw):
            return await self._resolve(asked, match)
        if match := _CONTENT.fullmatch(raw):
            return await self._content(asked, match["sha"])
        return _error(404, "Sorry, we can't find the page you are looking for.")

    def _whoami(self, asked: web.Request) -> web.Response:
        user = self.users.get(_token(asked) or "")
        if user is None:
            return _error(401, "Invalid username or password.")
        role = {"accessToken": {"displayName": "test", "role": "read"}, "type": "access_token"}
        return web.json_response({"type": "user", "name": user.name, "orgs": [], "auth": role})

    def _listing(self, asked: web.Request, kind: Kind) -> web.Response:
        """Answer a search: repositories whose name holds every word, most downloaded first."""
        words = asked.query.get("search", "").lower().split()
        author = asked.query.get("author", "").lower()
        found = [
            one
            for (of, name), one in self.repositories.items()
            if of == kind and not one.is_private and all(word in name.lower() for word in words)
            if not author or name.lower().startswith(f"{author}/")
        ]
        found.sort(key=lambda one: (-one.downloads, one.name))
        rows = [_described(one, one.head, is_brief=True) for one in found]
        return self._page(asked, rows, int(asked.query.get("limit", self.page_size)))

    def _page(self, asked: web.Request, rows: list[dict[str, Any]], size: int) -> web.Response:
        """Answer with a part of a list, and the address of the next one."""
        begin = int(asked.query.get("cursor", 0))
        headers = {}
        if begin + size < len(rows):
            following = asked.rel_url.update_query(cursor=str(begin + size))
            headers["Link"] = f'<{self.endpoint}{following}>; rel="next"'
        return web.json_response(rows[begin : begin + size], headers=headers)

    def _find(self, asked: web.Request, kind: Kind, name: str) -> Repository | web.Response:
        """Return a repository that may be seen, or the redirect or error instead of it."""
        if (kind, name) in self.moved:
            place = str(asked.rel_url).replace(f"/{name}", f"/{self.moved[kind, name]}", 1)
            return web.Response(status=307, headers={"Location": place})
        repository = self.repositories.get((kind, name))
        token = _token(asked)
        if token is not None and token not in self.users:
            return _error(401, "Invalid credentials in Authorization header")
        granted = self.users[token].granted if token else ()
        if repository is None or (repository.is_private and name not in granted):
            # To strangers the hub does not say what is there.
            status, message = (
                (404, "Repository not found") if token else (401, "Invalid username or password.")
            )
            return _error(status, message, code="RepoNotFound")
        return repository

    def _gate(self, asked: web.Request, repository: Repository) -> web.Response | None:
        """Return the error of a repository whose files are not open to whoever asks."""
        token = _token(asked)
        if not repository.gated or (token and repository.name in self.users[token].granted):
            return None
        prefix = "datasets/" if repository.kind == "dataset" else ""
        page = f"{self.endpoint}/{prefix}{repository.name}"
        noun = f"Access to {repository.kind} {repository.name} is restricted"
        if token is None:
            message = f"{noun}. You must have access to it and be authenticated to access it. Please log in."
            return _error(401, message, code="GatedRepo")
        message = f"{noun} and you are not in the authorized list. Visit {page} to ask for access."
        return _error(403, message, code="GatedRepo")

    async def _api(self, asked: web.Request, match: re.Match[str]) -> web.StreamResponse:
        found = self._find(asked, match["kind"], match["name"])  # type: ignore[arg-type]
        if isinstance(found, web.Response):
            return found
        verb, (revision, _, path) = match["verb"], (match["rest"] or "").partition("/")
        if verb == "refs":
            return web.json_response(_refs(found))
        if verb == "auth-check":
            return self._gate(asked, found) or web.json_response({})
        if verb == "parquet":
            return web.json_response(self._parquet(found))
        commit = found.at(unquote(revision) if verb else "main")
        if commit is None:
            return _error(404, f"Invalid rev id: {unquote(revision)}", code="RevisionNotFound")
        is_expanded = asked.query.get("expand", "").lower() == "true"
        if verb == "tree":
            return self._tree(asked, commit, unquote(path), is_expanded=is_expanded)
        if verb == "paths-info":
            return await _paths_info(asked, commit)
        if verb == "commits":
            return self._page(asked, list(_history(commit)), self.page_size)
        if verb == "xet-read-token":
            return _error(404, "Xet is not enabled")
        described = _described(found, commit, with_blobs="blobs" in asked.query)
        if "securityStatus" in asked.query:
            described["securityRepoStatus"] = {"scansDone": True, "filesWithIssues": []}
        if wanted := asked.query.getall("expand", []) + asked.query.getall("expand[]", []):
            described = {key: at for key, at in described.items() if key in ("_id", "id", *wanted)}
        return web.json_response(described, headers={_COMMIT: commit.sha})

    def _tree(self, asked: web.Request, commit: Commit, folder: str, *, is_expanded: bool) -> web.Response:
        is_recursive = asked.query.get("recursive", "").lower() == "true"
        begin = f"{folder}/" if folder else ""
        if folder and folder not in commit.folders:
            return _error(404, f"{folder} does not exist on this revision", code="EntryNotFound")
        paths = sorted([*commit.files, *commit.folders])
        inside = [path for path in paths if path.startswith(begin)]
        chosen = [path for path in inside if is_recursive or "/" not in path[len(begin) :]]
        rows = [_entry(commit, path, is_expanded=is_expanded) for path in chosen]
        return self._page(asked, rows, self.page_size)

    def _parquet(self, repository: Repository) -> dict[str, dict[str, list[str]]]:
        """Return the addresses of the files that the hub itself converted, by config and split."""
        found: dict[str, dict[str, list[str]]] = {}
        commit = repository.refs.get("refs/convert/parquet")
        for path in commit.files if commit else ():
            config, _, rest = path.partition("/")
            split, _, name = rest.partition("/")
            if name:
                address = f"{self.endpoint}/api/datasets/{repository.name}/parquet/{config}/{split}/{name}"
                found.setdefault(config, {}).setdefault(split, []).append(address)
        return found

    async def _resolve(self, asked: web.Request, match: re.Match[str]) -> web.StreamResponse:
        kind: Kind = "dataset" if match["kind"] else "model"
        found = self._find(asked, kind, match["name"])
        if isinstance(found, web.Response):
            return found
        if (closed := self._gate(asked, found)) is not None:
            return closed
        revision, path = unquote(match["revision"]), unquote(match["path"])
        commit = found.at(revision)
        if commit is None:
            return _error(404, f"Invalid rev id: {revision}", code="RevisionNotFound")
        blob = commit.files.get(path)
        if blob is None:
            return _error(404, "Entry not found", code="EntryNotFound", **{_COMMIT: commit.sha})
        headers = {_COMMIT: commit.sha, "Accept-Ranges": "bytes"}
        if not blob.is_large:
            return await _send(asked, blob, {**headers, "ETag": f'"{blob.oid}"'})
        linked = {"X-Linked-Size": str(blob.size), "X-Linked-Etag": f'"{blob.sha256}"'}
        place = f"{self._store.address}/content/{blob.sha256}?filename={quote(Path(path).name)}"
        return web.Response(status=302, headers={**headers, **linked, "Location": place})

    async def _content(self, asked: web.Request, sha256: str) -> web.StreamResponse:
        """Answer as the store of large files, which asks nobody who they are: the address is the key."""
        for repository in self.repositories.values():
            for commit in repository.commits():
                for blob in commit.files.values():
                    if blob.is_large and blob.sha256 == sha256:
                        return await _send(asked, blob, {"ETag": f'"{sha256}"', "Accept-Ranges": "bytes"})
        return _error(403, "The address has expired.")


@contextmanager
def hub_on_loopback() -> Iterator[HubServer]:
    """Serve a hub without repositories until the block ends."""
    hub = HubServer()
    try:
        hub.start()
        yield hub
    finally:
        hub.close()


# --- what is said about a repository ---


def _described(
    repository: Repository, commit: Commit, *, with_blobs: bool = False, is_brief: bool = False
) -> dict[str, Any]:
    message: dict[str, Any] = {
        "_id": commit.sha[:24],
        "id": repository.name,
        "author": repository.name.rpartition("/")[0] or "huggingface",
        "sha": commit.sha,
        "private": repository.is_private,
        "gated": repository.gated,
        "disabled": False,
        "downloads": repository.downloads,
        "likes": 0,
        "tags": [*repository.tags],
        "createdAt": _TIME,
        "lastModified": _TIME,
    }
    if is_brief:
        return message
    message["cardData"] = commit.card
    message["siblings"] = [
        _sibling(blob) if with_blobs else {"rfilename": path} for path, blob in commit.files.items()
    ]
    message["usedStorage"] = sum(blob.size for blob in commit.files.values())
    if repository.kind == "model":
        message |= _model_facts(repository, commit)
    return message


def _model_facts(repository: Repository, commit: Commit) -> dict[str, Any]:
    config = commit.files.get("config.json")
    weights = repository.weights(commit)
    message: dict[str, Any] = {
        "modelId": repository.name,
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "spaces": [],
    }
    if config is not None:
        reported = json.loads(config.read())
        message["config"] = {key: reported[key] for key in ("architectures", "model_type") if key in reported}
        message["transformersInfo"] = {
            "auto_model": "AutoModelForCausalLM",
            "pipeline_tag": "text-generation",
        }
    if weights:
        message["safetensors"] = {"parameters": weights, "total": sum(weights.values())}
    return message


def _sibling(blob: Blob) -> dict[str, Any]:
    message: dict[str, Any] = {"rfilename": blob.path, "size": blob.size, "blobId": blob.oid}
    if blob.is_large:
        message["lfs"] = {"sha256": blob.sha256, "size": blob.size, "pointerSize": 134}
    return message


def _entry(commit: Commit, path: str, *, is_expanded: bool) -> dict[str, Any]:
    blob = commit.files.get(path)
    if blob is None:
        message: dict[str, Any] = {"type": "directory", "oid": commit.sha, "size": 0, "path": path}
    else:
        message = {"type": "file", "oid": blob.oid, "size": blob.size, "path": path}
        if blob.is_large:
            message["lfs"] = {"oid": blob.sha256, "size": blob.size, "pointerSize": 134}
    if is_expanded:
        message["lastCommit"] = {"id": commit.sha, "title": commit.title, "date": _TIME}
        if blob is not None:
            scan = {"status": "safe", "avScan": {"status": "safe"}, "pickleImportScan": None}
            message["securityFileStatus"] = scan
    return message


async def _paths_info(asked: web.Request, commit: Commit) -> web.Response:
    if asked.content_type == "application/json":
        body = await asked.json()
        paths, is_expanded = body["paths"], bool(body.get("expand"))
    else:
        form = await asked.post()
        paths, is_expanded = form.getall("paths", []), str(form.get("expand")).lower() == "true"
    there = [path for path in map(str, paths) if path in commit.files or path in commit.folders]
    return web.json_response([_entry(commit, path, is_expanded=is_expanded) for path in there])


def _refs(repository: Repository) -> dict[str, list[dict[str, str]]]:
    message: dict[str, list[dict[str, str]]] = {
        "branches": [],
        "converts": [],
        "tags": [],
        "pullRequests": [],
    }
    for name, commit in repository.refs.items():
        key = "tags" if name.startswith("refs/tags/") else "branches"
        if name.startswith("refs/convert/"):
            key = "converts"
        ref = name if name.startswith("refs/") else f"refs/heads/{name}"
        message[key].append({"name": ref.split("/", 2)[2], "ref": ref, "targetCommit": commit.sha})
    return message


def _history(commit: Commit | None) -> Iterator[dict[str, Any]]:
    while commit is not None:
        message = {"id": commit.sha, "title": commit.title, "message": "", "date": _TIME, "authors": []}
        yield message
        commit = commit.parent


# --- answers ---


def _token(asked: web.Request) -> str | None:
    return asked.headers.get("Authorization", "").removeprefix("Bearer ") or None


def _error(status: int, message: str, *, code: str | None = None, **headers: str) -> web.Response:
    expected = {**headers, _MESSAGE: message, **({_CODE: code} if code else {})}
    return web.json_response({"error": message}, status=status, headers=expected)


def _range(asked: web.Request, size: int) -> tuple[int, int] | None:
    """Return the first and the last byte but one that are asked for; None: the whole file."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", asked.headers.get("Range", ""))
    if match is None or not any(match.groups()):
        return None
    first, last = match.groups()
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(size, int(last) + 1) if last else size


async def _send(
    asked: web.Request,
    blob: Blob,
    headers: Mapping[str, str],
    *,
    cut_after: int | None = None,
    stall_after: int | None = None,
) -> web.StreamResponse:
    """Send a file or a range of it; after so many bytes break the connection, or send nothing more."""
    wanted = _range(asked, blob.size)
    start, stop = wanted or (0, blob.size)
    if start >= blob.size > 0:
        return web.Response(status=416, headers={"Content-Range": f"bytes */{blob.size}"})
    response = web.StreamResponse(status=206 if wanted else 200, headers=headers)
    if wanted:
        response.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{blob.size}"
    response.content_length = stop - start
    response.content_type = "application/octet-stream"
    await response.prepare(asked)
    if asked.method == "HEAD":
        return response
    most = cut_after if stall_after is None else stall_after
    for chunk in blob.chunks(start, stop if most is None else min(stop, start + most)):
        await response.write(chunk)
    if stall_after is not None:
        while asked.transport is not None and not asked.transport.is_closing():
            await asyncio.sleep(0.05)
    if cut_after is not None and asked.transport is not None:
        asked.transport.close()
    return response


# --- the faults ---


def times(n: int, fault: Fault) -> list[Fault]:
    """The same fault, several times."""
    return [fault] * n


def status(number: int, message: str = "out of order", **headers: str) -> Fault:
    """Answer with an error; a header's name is written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def fault(hub: HubServer, asked: web.Request) -> web.StreamResponse:
        return _error(number, message, **named)

    return fault


def rate_limited(seconds: int = 300) -> Fault:
    """Answer as the hub does to a client that asked too often."""
    limits = {"RateLimit": f'"api";r=0;t={seconds}', "RateLimit-Policy": '"fixed window";"api";q=500;w=300'}
    message = "You have reached your rate limit."

    async def fault(hub: HubServer, asked: web.Request) -> web.StreamResponse:
        return _error(429, message, **limits, **{"Retry-After": str(seconds)})

    return fault


def broken_after(n_bytes: int) -> Fault:
    """Begin to send a large file, and break the connection; a request for its metadata is answered."""

    async def fault(hub: HubServer, asked: web.Request) -> web.StreamResponse | None:
        blob = _large_blob(hub, asked)
        if blob is None:
            return None
        return await _send(asked, blob, {"ETag": f'"{blob.sha256}"'}, cut_after=n_bytes)

    return fault


def _large_blob(hub: HubServer, asked: web.Request) -> Blob | None:
    """Return the large file that a request is for."""
    match = _CONTENT.fullmatch(asked.rel_url.raw_path)
    every = (
        blob
        for one in hub.repositories.values()
        for commit in one.commits()
        for blob in commit.files.values()
    )
    return next((one for one in every if match and one.is_large and one.sha256 == match["sha"]), None)


def stalled_after(n_bytes: int) -> Fault:
    """Begin to send a large file, and then send nothing more until the client gives up."""

    async def fault(hub: HubServer, asked: web.Request) -> web.StreamResponse | None:
        blob = _large_blob(hub, asked)
        return None if blob is None else await _send(asked, blob, {}, stall_after=n_bytes)

    return fault


def slow(seconds: float) -> Fault:
    """Answer late."""

    async def fault(hub: HubServer, asked: web.Request) -> None:
        await asyncio.sleep(seconds)

    return fault


async def broken(hub: HubServer, asked: web.Request) -> web.StreamResponse:
    """Break the connection without an answer."""
    if asked.transport is not None:
        asked.transport.close()
    return web.Response()
