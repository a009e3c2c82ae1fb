"""Batch endpoints of providers: many requests in one submission, answered within a day.

    OpenAI     POST .../files, POST .../batches, GET .../batches/ID, GET .../files/ID/content
    Anthropic  POST .../messages/batches, GET .../messages/batches/ID, GET .../messages/batches/ID/results

A protocol submits a batch, looks at its state and reads its results. The engine sees ordinary responses.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from assay.backends.cache_dir import cache_dir
from assay.backends.http.exchange import ChunkConsumer, HttpReply
from assay.backends.http.post import Endpoint, WholeJson
from assay.core.ids import digest

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient

MOST_REQUESTS = 50_000
MOST_BYTES = 90_000_000
"""Limits of one batch, below those of both providers."""
_KEPT_S = 40 * 86_400
"""Providers delete results after at most 30 days."""


class BatchRecord(msgspec.Struct):
    """A batch that was submitted, or is about to be; stored before anything is sent."""

    nonce: str
    """Identifies the submission until the provider has given it an id."""
    path: str
    """The endpoint that answers its requests."""
    custom_ids: tuple[str, ...]
    created: float
    """Seconds since the epoch."""
    id: str = ""
    """Empty: the provider's id is not known yet."""
    is_read: bool = False
    """Whether its results have been used: its failed requests may be sent again."""


class BatchState(NamedTuple):
    """The state of a batch."""

    is_ended: bool
    document: Mapping[str, Any]
    trouble: str | None = None
    """Why the provider rejected the whole batch."""
    is_cancelled: bool = False


class BatchResult(NamedTuple):
    """The result of one request."""

    custom_id: str
    content: bytes | None
    """The reply as it would have been sent; None: there is none."""
    why: str = ""
    is_retried: bool = False
    """Whether the same request may succeed in another batch."""


class BatchProtocol(Protocol):
    """The batch endpoint of a provider."""

    async def submit(
        self,
        endpoint: Endpoint,
        client: HttpClient,
        record: BatchRecord,
        bodies: Mapping[str, Mapping[str, Any]],
    ) -> str:
        """Submit the bodies by custom id; return the batch's id."""

    async def find(self, endpoint: Endpoint, client: HttpClient, record: BatchRecord) -> str | None:
        """Return the id of a batch that was submitted without learning it; None: there is none."""

    async def look(self, endpoint: Endpoint, client: HttpClient, id_: str) -> BatchState:
        """Return the state of a batch."""

    async def read(self, endpoint: Endpoint, client: HttpClient, state: BatchState) -> list[BatchResult]:
        """Return the results of a batch that has ended."""


class BatchRecords:
    """The batches of one model, a file each, in the cache folder."""

    def __init__(self, model: object) -> None:
        self._folder = cache_dir() / "batches" / digest(model, size=16)

    def load(self) -> list[BatchRecord]:
        """Return the records, oldest first; removes those whose results are gone."""
        records = []
        for path in sorted(self._folder.glob("*.json")):
            record = msgspec.json.decode(path.read_bytes(), type=BatchRecord)
            if time.time() - record.created > _KEPT_S:
                path.unlink(missing_ok=True)
            else:
                records.append(record)
        return sorted(records, key=lambda record: record.created)

    def save(self, record: BatchRecord) -> None:
        """Store a record so that it survives a crash."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(record)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        with draft.open("wb") as file:
            file.write(msgspec.json.encode(record))
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)

    def remove(self, record: BatchRecord) -> None:
        """Forget a batch."""
        self._path(record).unlink(missing_ok=True)

    def _path(self, record: BatchRecord) -> Path:
        return self._folder / f"{record.nonce}.json"


def split_bodies(bodies: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Mapping[str, Any]]]:
    """Yield the bodies in parts that a batch may contain."""
    part: dict[str, Mapping[str, Any]] = {}
    size = 0
    for id_, body in bodies.items():
        n = len(msgspec.json.encode(body))
        if part and (len(part) >= MOST_REQUESTS or size + n > MOST_BYTES):
            yield part
            part, size = {}, 0
        part[id_] = body
        size += n
    if part:
        yield part


class _RawReply:
    """Reads a reply as bytes."""

    def taker(self, headers: Mapping[str, str]) -> ChunkConsumer | None:
        return None

    def read(self, reply: HttpReply) -> bytes:
        return reply.content


async def _read_lines(endpoint: Endpoint, client: HttpClient, path: str) -> list[dict[str, Any]]:
    content = await endpoint.get(client, _RawReply, path=path)
    return [msgspec.json.decode(line) for line in content.splitlines() if line.strip()]


# --- OpenAI ---

_OPENAI_ENDED = {"completed", "failed", "expired", "cancelled"}
_NONCE = "assay"
"""Name of the metadata field that identifies a submission."""


class OpenAIBatches:
    """OpenAI's batches: a file of requests, and files of results and errors."""

    async def submit(
        self,
        endpoint: Endpoint,
        client: HttpClient,
        record: BatchRecord,
        bodies: Mapping[str, Mapping[str, Any]],
    ) -> str:
        """Upload the file of requests and create the batch; return its id."""
        url = f"/v1{record.path}"
        lines = [
            msgspec.json.encode({"custom_id": id_, "method": "POST", "url": url, "body": body})
            for id_, body in bodies.items()
        ]
        boundary = f"assay-{record.nonce}"
        form = _build_form(boundary, b"\n".join(lines) + b"\n")
        kind = f"multipart/form-data; boundary={boundary}"
        file = await endpoint.upload(client, form, kind, WholeJson, path="/files")
        document = {
            "input_file_id": file["id"],
            "endpoint": url,
            "completion_window": "24h",
            "metadata": {_NONCE: record.nonce},
        }
        created = await endpoint.post(client, document, WholeJson, path="/batches", is_patient=False)
        return str(created["id"])

    async def find(self, endpoint: Endpoint, client: HttpClient, record: BatchRecord) -> str | None:
        """Return the id of the batch with the record's nonce."""
        listed = await endpoint.get(client, WholeJson, path="/batches?limit=100")
        for batch in listed.get("data") or ():
            if (batch.get("metadata") or {}).get(_NONCE) == record.nonce:
                return str(batch["id"])
        return None

    async def look(self, endpoint: Endpoint, client: HttpClient, id_: str) -> BatchState:
        """Return the state of a batch."""
        document = await endpoint.get(client, WholeJson, path=f"/batches/{id_}")
        status, trouble = document.get("status"), None
        if status == "failed":
            errors = (document.get("errors") or {}).get("data") or [{}]
            trouble = str(errors[0].get("message") or "no reason given")
        return BatchState(status in _OPENAI_ENDED, document, trouble, status == "cancelled")

    async def read(self, endpoint: Endpoint, client: HttpClient, state: BatchState) -> list[BatchResult]:
        """Return the lines of the files of results and errors."""
        results = []
        for name in ("output_file_id", "error_file_id"):
            if file := state.document.get(name):
                lines = await _read_lines(endpoint, client, f"/files/{file}/content")
                results += [_read_openai_line(line) for line in lines]
        return results


def _build_form(boundary: str, content: bytes) -> bytes:
    """Return an upload of a file of requests."""
    return (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="requests.jsonl"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    ).encode() + b"%b\r\n--%b--\r\n" % (content, boundary.encode())


def _read_openai_line(line: Mapping[str, Any]) -> BatchResult:
    id_, response = str(line.get("custom_id")), line.get("response") or {}
    status = response.get("status_code")
    if status == 200:
        return BatchResult(id_, msgspec.json.encode(response.get("body")))
    error = line.get("error") or (response.get("body") or {}).get("error") or {}
    why = f"HTTP status {status}: {error.get('message')}" if status else str(error.get("message"))
    is_permanent = isinstance(status, int) and 400 <= status < 500 and status not in (408, 429)
    return BatchResult(id_, None, why, is_retried=not is_permanent)


# --- Anthropic ---


class AnthropicBatches:
    """Anthropic's message batches."""

    async def submit(
        self,
        endpoint: Endpoint,
        client: HttpClient,
        record: BatchRecord,
        bodies: Mapping[str, Mapping[str, Any]],
    ) -> str:
        """Create the batch; return its id."""
        document = {"requests": [{"custom_id": id_, "params": body} for id_, body in bodies.items()]}
        created = await endpoint.post(client, document, WholeJson, path="/messages/batches", is_patient=False)
        return str(created["id"])

    async def find(self, endpoint: Endpoint, client: HttpClient, record: BatchRecord) -> str | None:
        """Return the id of the only batch created since then with as many requests: batches have no names."""
        listed = await endpoint.get(client, WholeJson, path="/messages/batches?limit=100")
        found = [
            str(batch["id"])
            for batch in listed.get("data") or ()
            if sum((batch.get("request_counts") or {}).values()) == len(record.custom_ids)
            and str(batch.get("created_at", "")) >= _format_time(record.created)
        ]
        return found[-1] if found else None

    async def look(self, endpoint: Endpoint, client: HttpClient, id_: str) -> BatchState:
        """Return the state of a batch; its requests tell whether it was cancelled."""
        document = await endpoint.get(client, WholeJson, path=f"/messages/batches/{id_}")
        counts = document.get("request_counts") or {}
        is_ended = document.get("processing_status") == "ended"
        return BatchState(is_ended, document, None, is_ended and bool(counts.get("canceled")))

    async def read(self, endpoint: Endpoint, client: HttpClient, state: BatchState) -> list[BatchResult]:
        """Return the results."""
        path = f"/messages/batches/{state.document['id']}/results"
        return [_read_anthropic_line(line) for line in await _read_lines(endpoint, client, path)]


def _format_time(seconds: float) -> str:
    """Return a time as the API writes it, one minute earlier: clocks differ."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds - 60))


def _read_anthropic_line(line: Mapping[str, Any]) -> BatchResult:
    id_, result = str(line.get("custom_id")), line.get("result") or {}
    kind = result.get("type")
    if kind == "succeeded":
        return BatchResult(id_, msgspec.json.encode(result.get("message")))
    error = (result.get("error") or {}).get("error") or result.get("error") or {}
    is_permanent = error.get("type") == "invalid_request_error"
    return BatchResult(id_, None, f"{kind}: {error.get('message', 'no answer')}", is_retried=not is_permanent)


def list_missing(record: BatchRecord, results: Sequence[BatchResult]) -> list[BatchResult]:
    """Return a result for each request of a batch without one, as after it expired."""
    known = {result.custom_id for result in results}
    why = "the batch ended without a result"
    return [BatchResult(id_, None, why, is_retried=True) for id_ in record.custom_ids if id_ not in known]
