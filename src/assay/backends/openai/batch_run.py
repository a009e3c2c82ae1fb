"""Sends requests through a provider's batch endpoint: submits, waits, and resumes after a kill."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from assay.backends.http.batches import (
    BatchProtocol,
    BatchRecord,
    BatchRecords,
    BatchResult,
    BatchState,
    list_missing,
    split_bodies,
)
from assay.backends.http.concurrency import FixedLevel
from assay.backends.http.post import CallTrouble, Endpoint
from assay.backends.http.pull import run_concurrently
from assay.backends.problems import batch_error
from assay.core.errors import BackendError
from assay.core.response import Failure

if TYPE_CHECKING:
    from assay.backends.http.client import HttpClient

T = TypeVar("T")

_NOT_FOUND = "MODEL-008"


class BatchRun:
    """Answers requests by batches. A request is never in two batches at once."""

    def __init__(
        self,
        protocol: BatchProtocol,
        endpoint: Endpoint,
        records: BatchRecords,
        *,
        poll_s: float,
        retries: int,
        resumes: bool,
    ) -> None:
        """With `resumes`, batches that an earlier start submitted are used."""
        self._protocol = protocol
        self._endpoint = endpoint
        self._records = records
        self._poll_s = poll_s
        self._retries = retries
        self._resumes = resumes
        self._n_tries: Counter[str] = Counter()
        self.n_submitted = 0
        self.n_resumed = 0
        self.n_sent_again = 0
        """Requests that were sent again in another batch."""

    def run(
        self, bodies: Mapping[str, Mapping[str, Any]], paths: Mapping[str, str]
    ) -> Iterator[tuple[str, bytes | Failure]]:
        """Yield the reply to each body, or its failure, by custom id; `paths` are their endpoints."""
        pending = dict(bodies)
        if self._resumes:
            for record in self._find_earlier(pending):
                self.n_resumed += 1
                yield from self._collect(record, pending)
        while pending:
            records = [
                record
                for path in sorted(set(paths.values()))
                for record in self._submit(
                    {id_: body for id_, body in pending.items() if paths[id_] == path}, path
                )
            ]
            for record in records:
                yield from self._collect(record, pending)

    def _find_earlier(self, pending: Mapping[str, object]) -> Iterator[BatchRecord]:
        """Yield the batches of earlier starts that contain pending requests."""
        for record in self._records.load():
            if pending.keys().isdisjoint(record.custom_ids):
                continue
            if not record.id and not self._identify(record):
                self._records.remove(record)  # The earlier start was killed before it submitted the batch.
                continue
            yield record

    def _identify(self, record: BatchRecord) -> bool:
        """Ask the provider for the id of a batch; return whether it exists."""
        found = self._call(lambda client: self._protocol.find(self._endpoint, client, record))
        if found is None or any(found == other.id for other in self._records.load()):
            return False
        record.id = found
        self._records.save(record)
        return True

    def _submit(self, bodies: Mapping[str, Mapping[str, Any]], path: str) -> list[BatchRecord]:
        """Submit bodies in as many batches as they need; each is recorded before it is sent."""
        records = []
        for part in split_bodies(bodies):
            record = BatchRecord(uuid.uuid4().hex, path, tuple(part), time.time())
            self._records.save(record)
            try:
                record.id = self._call(
                    partial(self._protocol.submit, self._endpoint, record=record, bodies=part)
                )
            except CallTrouble as trouble:
                # The provider may have accepted the batch although its reply was lost.
                if not (trouble.may_pass and self._identify(record)):
                    self._records.remove(record)
                    raise batch_error(f"{self._endpoint.url} did not accept the batch: {trouble}") from None
            except BackendError:
                self._records.remove(record)
                raise
            self._records.save(record)
            self.n_submitted += 1
            records.append(record)
        return records

    def _collect(
        self, record: BatchRecord, pending: dict[str, Mapping[str, Any]]
    ) -> Iterator[tuple[str, bytes | Failure]]:
        """Wait for a batch and yield its results; requests to send again remain pending."""
        try:
            state = self._wait(record)
            results = (
                []
                if state.trouble
                else self._call(lambda client: self._protocol.read(self._endpoint, client, state))
            )
        except BackendError as error:
            if error.problems[0].code == _NOT_FOUND and self._resumes:
                self._records.remove(record)  # The provider has deleted it.
                return
            raise
        except CallTrouble as trouble:
            raise batch_error(f"the results of batch {record.id} cannot be read: {trouble}") from None
        if state.trouble is not None:
            self._records.remove(record)
            raise batch_error(f"the provider rejected batch {record.id}: {state.trouble}")
        yield from self._settle(record, [*results, *list_missing(record, results)], pending)
        is_new, record.is_read = not record.is_read, True
        self._records.save(record)
        if is_new and state.is_cancelled and (n := len(pending.keys() & set(record.custom_ids))):
            raise batch_error(f"batch {record.id} was cancelled before {n:,} of its requests were answered")

    def _settle(
        self, record: BatchRecord, results: Sequence[BatchResult], pending: dict[str, Mapping[str, Any]]
    ) -> Iterator[tuple[str, bytes | Failure]]:
        for result in results:
            id_ = result.custom_id
            if id_ not in pending:
                continue
            if result.content is not None:
                del pending[id_]
                yield id_, result.content
                continue
            self._n_tries[id_] += 1
            if record.is_read or (result.is_retried and self._n_tries[id_] <= self._retries):
                self.n_sent_again += 1
                continue
            del pending[id_]
            yield id_, Failure("batch", result.why, self._n_tries[id_])

    def _wait(self, record: BatchRecord) -> BatchState:
        while True:
            state = self._call(lambda client: self._protocol.look(self._endpoint, client, record.id))
            if state.is_ended:
                return state
            time.sleep(self._poll_s)

    def _call(self, work: Callable[[HttpClient], Coroutine[Any, Any, T]]) -> T:
        async def call(client: HttpClient, _: None) -> T:
            return await work(client)

        [result] = run_concurrently([None], call, url=self._endpoint.url, level=FixedLevel(1))
        return result
