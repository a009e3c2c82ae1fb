"""Request traces in Mooncake's format: one JSON object per request.

    {"timestamp": 200, "input_length": 1536, "output_length": 200, "hash_ids": [3, 4, 5]}

A trace contains no prompts. Each hash id represents a block of 512 tokens; equal ids are equal text, so a
prefix cache gets the same hits as in the original. The last block is cut to the length of the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import cycle, islice, pairwise
from typing import Annotated, Any, NamedTuple

import msgspec

from assay.bench.item_stream import InexactPrompts, WarmUp
from assay.bench.items import LoadItem
from assay.bench.lengths import MAX_LENGTH
from assay.bench.rounds import Rounds
from assay.bench.synthetic import build_prompt
from assay.bench.texts import GeneratedText, TextGenerator, estimate_tokens
from assay.bench.tokenizer import Tokenizer
from assay.core.errors import Problem, Problems, UsageError, explain_type_error, listing, suggest_name
from assay.core.origin import Origin

BLOCK_TOKENS = 512
_CACHED_BLOCKS = 4096

_Count = Annotated[int, msgspec.Meta(ge=1, le=MAX_LENGTH)]


class TraceRow(msgspec.Struct, frozen=True, gc=False):
    """One request of a trace."""

    timestamp: Annotated[float, msgspec.Meta(ge=0)]
    """When it was sent, in milliseconds."""
    input_length: _Count | None = None
    """Tokens of its prompt."""
    input_text: str | None = None
    """Its prompt, if the trace has it."""
    output_length: _Count = 1
    """Tokens of its response."""
    hash_ids: tuple[int, ...] = ()
    """The blocks of its prompt."""


FIELDS = TraceRow.__struct_fields__
_KINDS = {field.name: field.type for field in msgspec.structs.fields(TraceRow)}


class TraceTimes(NamedTuple):
    """Which part of a trace is sent, and how fast."""

    start_ms: float | None = None
    """Requests before it are skipped, and times are relative to it. None: relative to the first request."""
    end_ms: float | None = None
    """Requests after it are skipped."""
    is_from_first: bool | None = None
    """Whether times are relative to the first request sent. None: yes, unless `start_ms` is set; False
    without it: relative to the 0 of the trace."""
    speed: float = 1.0
    """2 sends the trace in half the time."""


class MooncakeTrace(NamedTuple):
    """The requests to send, sorted by time."""

    rows: tuple[TraceRow, ...]
    offsets_s: tuple[float, ...]
    """When each is sent, in seconds from the start of the load."""
    notes: tuple[str, ...]

    @property
    def period_s(self) -> float:
        """Return the time after which it repeats: its mean gap after its last request."""
        span = self.offsets_s[-1] - self.offsets_s[0]
        return span + span / max(len(self.rows) - 1, 1)


def is_trace(fields: Mapping[str, Any]) -> bool:
    """Return whether a row is meant as a trace row, valid or not."""
    return "timestamp" in fields and ("input_length" in fields or "input_text" in fields)


def read_trace(
    rows: Iterable[tuple[Mapping[str, Any], Origin]], times: TraceTimes, path: str
) -> MooncakeTrace:
    """Read a whole trace; raise the problems of all rows in one error."""
    _check_times(times)
    problems = Problems()
    read = [row for fields, where in rows if (row := _row(fields, where, problems)) is not None]
    problems.raise_if_any()
    kept = [row for row in read if _is_within(row.timestamp, times)]
    if not kept:
        first, last = read[0].timestamp, read[-1].timestamp
        what = f"the selected part of the trace has no requests; the trace spans {first:g} to {last:g} ms"
        raise UsageError(Problem("BENCH-025", what, "correct the start or the end", Origin(path)))
    notes = []
    if len(kept) < len(read):
        notes.append(
            f"{len(read) - len(kept):,} of {len(read):,} requests of the trace are outside the selected part"
        )
    if any(after.timestamp < before.timestamp for before, after in pairwise(kept)):
        kept.sort(key=lambda row: row.timestamp)
        notes.append("the trace was not sorted by timestamp; its requests are sent in timestamp order")
    is_from_first = times.start_ms is None if times.is_from_first is None else times.is_from_first
    zero = kept[0].timestamp if is_from_first else times.start_ms or 0.0
    offsets = tuple((row.timestamp - zero) / 1000 / times.speed for row in kept)
    return MooncakeTrace(tuple(kept), offsets, tuple(notes))


def _check_times(times: TraceTimes) -> None:
    what = ""
    if not 0 < times.speed < float("inf"):
        what = f"the trace's speed is {times.speed}, expected a number above 0"
    elif times.start_ms is not None and times.is_from_first:
        what = "times can be relative to the first request or to a start, not to both"
    elif times.start_ms is not None and times.end_ms is not None and times.start_ms > times.end_ms:
        what = f"the start {times.start_ms:g} ms is after the end {times.end_ms:g} ms"
    if what:
        raise UsageError(Problem("BENCH-025", what, "correct the selected part of the trace"))


def _is_within(timestamp: float, times: TraceTimes) -> bool:
    return (times.start_ms is None or timestamp >= times.start_ms) and (
        times.end_ms is None or timestamp <= times.end_ms
    )


def _row(fields: Mapping[str, Any], where: Origin, problems: Problems) -> TraceRow | None:
    """Return a row of a trace; if it is invalid, add its problems and return None."""

    def note(field: str, what: str, fix: str) -> None:
        problems.add(Problem("BENCH-023", what, fix, where.at(field)))

    n_before = problems.total
    values: dict[str, Any] = {}
    for field, value in fields.items():
        if field not in FIELDS:
            note(field, f"unknown field{suggest_name(field, FIELDS)}", f"a trace has {listing(FIELDS)}")
        elif value is not None:
            try:
                values[field] = msgspec.convert(value, _KINDS[field])
            except msgspec.ValidationError as error:
                note(field, f"found {value!r:.60}: {explain_type_error(error)}", "correct the value")
    if "timestamp" not in fields:
        note(
            "timestamp",
            "the row has no timestamp",
            "add the time at which the request was sent, in milliseconds",
        )
    if problems.total > n_before:
        return None
    row = TraceRow(**values)
    if (row.input_length is None) == (row.input_text is None):
        has = "neither" if row.input_text is None else "both"
        note("input_length", f"found {has} of 'input_length' and 'input_text'", "write one of them")
    elif row.input_text == "":
        note("input_text", "the text is empty", "write a prompt")
    elif (
        row.input_length is not None and row.hash_ids and len(row.hash_ids) != _count_blocks(row.input_length)
    ):
        n_expected = _count_blocks(row.input_length)
        what = f"found {len(row.hash_ids)} ids for {row.input_length} tokens, expected {n_expected}"
        note("hash_ids", what, f"write one id for each {BLOCK_TOKENS} tokens, and one for the remainder")
    return row if problems.total == n_before else None


def _count_blocks(n_tokens: int) -> int:
    return -(-n_tokens // BLOCK_TOKENS)


class TraceItemSource:
    """The items of a trace, generated during iteration; longer loads repeat the trace."""

    def __init__(
        self, trace: MooncakeTrace, n: int, *, seed: int, is_chat: bool, tokenizer: Tokenizer | None = None
    ) -> None:
        self._trace = trace = MooncakeTrace(trace.rows[:n], trace.offsets_s[:n], trace.notes)
        self._is_chat = is_chat
        self._tokenizer = tokenizer
        self._blocks = TextGenerator(seed, "trace block", tokenizer)
        self._rows = TextGenerator(seed, "trace row", tokenizer)
        self._unmeasured = TextGenerator(seed, "trace warm-up", tokenizer)
        self._block = lru_cache(maxsize=_CACHED_BLOCKS)(self._build_block)
        self._inexact = InexactPrompts()
        self._rounds = Rounds(self._iter_round, n, period_s=trace.period_s)

    def __iter__(self) -> Iterator[LoadItem]:
        return iter(self._rounds)

    def iter_forever(self) -> Iterator[LoadItem]:
        """Yield the trace again and again."""
        return self._rounds.iter_forever()

    def warmup(self, n: int) -> WarmUp:
        """Return items with other texts, as long as the first ones of the trace."""
        rows = islice(cycle(self._trace.rows), n)
        return WarmUp(
            [self._build_warmup_item(number, row) for number, row in enumerate(rows)], are_measured=False
        )

    def list_notes(self, n_sent: int) -> Sequence[str]:
        """Return notes on inexact prompts and repeated items."""
        return (*self._inexact.list_notes(), *self._rounds.list_notes(n_sent))

    def _iter_round(self) -> Iterator[LoadItem]:
        for number, (row, at_s) in enumerate(zip(self._trace.rows, self._trace.offsets_s, strict=True)):
            item = self._item(str(number), self._prompt(row, number), row.output_length, at_s)
            yield self._inexact.check_item(item, row.input_length)

    def _build_warmup_item(self, number: int, row: TraceRow) -> LoadItem:
        n_tokens = row.input_length or estimate_tokens(len((row.input_text or "").split()))
        return self._item(f"warm-up {number}", self._unmeasured.text(number, n_tokens), row.output_length)

    def _item(
        self, item_id: str, generated: GeneratedText, max_tokens: int, at_s: float | None = None
    ) -> LoadItem:
        prompt = build_prompt(generated.text, is_chat=self._is_chat)
        return LoadItem(item_id, prompt, max_tokens, at_s=at_s, n_prompt_tokens=generated.n_tokens)

    def _prompt(self, row: TraceRow, number: int) -> GeneratedText:
        if row.input_text is not None:
            count = None if self._tokenizer is None else self._tokenizer.count(row.input_text)
            return GeneratedText(row.input_text, count)
        assert row.input_length is not None
        if not row.hash_ids:
            return self._rows.text(number, row.input_length)
        *whole, last = row.hash_ids
        before = "".join(self._block(hash_id, is_first=not at) for at, hash_id in enumerate(whole))
        return self._blocks.text(last, row.input_length, after=before, joiner=" ")

    def _build_block(self, hash_id: int, *, is_first: bool) -> str:
        if is_first:
            return self._blocks.text(hash_id, BLOCK_TOKENS).text
        return self._blocks.block(hash_id, BLOCK_TOKENS)
