"""Log-probabilities of chosen tokens at chosen positions: all that SPAN and LABELS need of a model.

Asks that feed the model the same tokens share one row: the options `A` to `D` after one question are one
forward pass. Hidden states are gathered at the positions that are read, and only those meet the output head,
in chunks and in fp32; a [batch, time, vocabulary] array never exists.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay.backends.loading import Loaded

HEAD_CHUNK_BYTES = 1 << 27
"""How large the logits of one chunk of positions may be, in fp32."""


@dataclass(slots=True, eq=False)
class Row:
    """A sequence to feed, and what to read from it."""

    inputs: tuple[int, ...]
    reads: list[tuple[int, int]] = field(default_factory=list)
    """(position, token): how likely is the token right after inputs[position]?"""
    logprobs: list[float] = field(default_factory=list)
    """The answers, one for each read."""
    is_top: list[bool] = field(default_factory=list)
    """Whether the token was the first choice over the whole vocabulary."""
    n_owed: int = 0
    """Reads that have no answer yet."""
    seconds: float = 0.0
    n_users: int = 0
    failure: str | None = None
    """Why there are no answers."""

    def put(self, number: int, logprob: float, is_top: bool) -> None:
        """Take the answer to one read; an answer computed again replaces the first."""
        if not self.logprobs:
            self.logprobs = [math.nan] * len(self.reads)
            self.is_top = [False] * len(self.reads)
            self.n_owed = len(self.reads)
        self.n_owed -= math.isnan(self.logprobs[number])
        self.logprobs[number], self.is_top[number] = logprob, is_top

    @property
    def is_done(self) -> bool:
        """Whether every read has its answer, or none will come."""
        return self.failure is not None or (bool(self.logprobs) and not self.n_owed)


@dataclass(slots=True, frozen=True)
class Reading:
    """Some of a row's answers: those that one ask wanted."""

    row: Row
    begin: int
    end: int

    @property
    def logprobs(self) -> list[float]:
        """Return the log-probabilities in the order they were asked for."""
        return self.row.logprobs[self.begin : self.end]

    @property
    def is_greedy(self) -> bool:
        """Whether every token was the model's first choice."""
        return all(self.row.is_top[self.begin : self.end])


class Rows:
    """Rows to compute; equal inputs are one row."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, ...], Row] = {}

    def __iter__(self) -> Any:
        return iter(self._rows.values())

    def continuation(self, ids: tuple[int, ...], first: int) -> Reading:
        """Ask for each token of `ids` from `first` on, given all before it."""
        inputs = ids[:-1]
        return self._read(inputs, [(at - 1, ids[at]) for at in range(first, len(ids))])

    def next_tokens(self, context: tuple[int, ...], tokens: Iterable[int]) -> Reading:
        """Ask for several tokens that could follow the same context."""
        return self._read(context, [(len(context) - 1, token) for token in tokens])

    def _read(self, inputs: tuple[int, ...], reads: Sequence[tuple[int, int]]) -> Reading:
        row = self._rows.setdefault(inputs, Row(inputs))
        begin = len(row.reads)
        row.reads.extend(reads)
        row.n_users += 1
        return Reading(row, begin, len(row.reads))


def compute(loaded: Loaded, rows: Sequence[Row]) -> None:
    """Fill in the answers of a batch of rows, each computed by itself: the plain way."""
    import torch

    longest = max(len(row.inputs) for row in rows)
    ids = torch.zeros((len(rows), longest), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for index, row in enumerate(rows):
        # Padding stands on the right, where causal attention cannot see it from the tokens that count.
        ids[index, : len(row.inputs)] = torch.tensor(row.inputs)
        mask[index, : len(row.inputs)] = 1
    feed = {"input_ids": ids, "attention_mask": mask}
    if "position_ids" in loaded.takes:
        feed["position_ids"] = torch.arange(longest).expand_as(ids)
    wanted = [
        Wanted(row, number, index, at)
        for index, row in enumerate(rows)
        for number, (at, _) in enumerate(row.reads)
    ]
    feed = {name: tensor.to(loaded.device) for name, tensor in feed.items()}
    answer(loaded, {**feed, "use_cache": False}, wanted)


class Wanted(NamedTuple):
    """One read and where its hidden state will be."""

    row: Row
    number: int
    """Which of the row's reads."""
    batch_at: int
    time_at: int


def answer(loaded: Loaded, feed: Mapping[str, Any], wanted: Sequence[Wanted]) -> None:
    """Feed the model once and write what was read into the rows."""
    import torch

    places = sorted({(one.batch_at, one.time_at) for one in wanted})
    number = {place: n for n, place in enumerate(places)}
    with torch.inference_mode():
        chunks = _logits(loaded, feed, places)
        reads = [(number[one.batch_at, one.time_at], one.row.reads[one.number][1]) for one in wanted]
        logprobs, is_top = _read_out(chunks, reads)
    for one, logprob, top in zip(wanted, logprobs, is_top, strict=True):
        one.row.put(one.number, logprob, top)


def _logits(loaded: Loaded, feed: Mapping[str, Any], places: Sequence[tuple[int, int]]) -> Iterator[Any]:
    """Yield (first place, logits) chunk by chunk, in the order of places."""
    import torch

    batch_at = torch.tensor([index for index, _ in places], device=loaded.device)
    time_at = torch.tensor([at for _, at in places], device=loaded.device)
    if loaded.body is not None:
        picked, head = loaded.body(**feed).last_hidden_state[batch_at, time_at], loaded.head
    else:
        # The family does something after its head, so only its own forward gives true logits.
        more = {}
        if "logits_to_keep" in loaded.takes:
            kept, time_at = torch.unique(time_at, return_inverse=True)
            more["logits_to_keep"] = kept
        picked, head = loaded.model(**feed, **more).logits[batch_at, time_at], None
    chunk = max(1, HEAD_CHUNK_BYTES // (4 * loaded.vocab_size))
    for begin in range(0, len(places), chunk):
        part = picked[begin : begin + chunk]
        yield begin, (head(part) if head is not None else part).float()


def _read_out(chunks: Any, reads: Sequence[tuple[int, int]]) -> tuple[list[float], list[bool]]:
    """Return log-probability and first-choice flag for each (place, token)."""
    import torch

    order = sorted(range(len(reads)), key=lambda n: reads[n][0])
    logprobs, is_top, at = [0.0] * len(reads), [False] * len(reads), 0
    for begin, logits in chunks:
        mine = []
        while at < len(order) and reads[order[at]][0] < begin + len(logits):
            mine.append(order[at])
            at += 1
        place = torch.tensor([reads[n][0] - begin for n in mine], device=logits.device)
        token = torch.tensor([reads[n][1] for n in mine], device=logits.device)
        found = logits[place, token] - torch.logsumexp(logits, dim=-1)[place]
        top = logits.argmax(dim=-1)[place] == token
        for n, logprob, first in zip(mine, found.tolist(), top.tolist(), strict=True):
            logprobs[n], is_top[n] = logprob, first
    return logprobs, is_top
