"""Log-probabilities of chosen tokens at chosen positions: all that SPAN and LABELS need from a model.

Requests with the same input tokens share one row: the options `A` to `D` after one question are one forward
pass. Hidden states are gathered at the positions that are read, and only those are multiplied with the
output head, one part of the vocabulary after the other, summed in fp32. Not even [positions, vocabulary]
exists in memory.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay.backends.hf.device_timing import DeviceSpan
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.prefix_tree import ReadRange
from assay.core.response import Failure


class HeadChunk(NamedTuple):
    """The part of the output head computed at once: a number of positions by a number of tokens."""

    places: int
    tokens: int


CPU_HEAD_CHUNK = HeadChunk(512, 4096)
"""Small enough for the processor's cache."""
GPU_HEAD_CHUNK = HeadChunk(4096, 32_768)


@dataclass(slots=True, eq=False)
class Row:
    """A sequence to feed, and what to read from it."""

    inputs: tuple[int, ...]
    runs: list[ReadRange] = field(default_factory=list)
    """Positions after which something is read."""
    tokens: list[int] = field(default_factory=list)
    """For each read, the token whose probability is requested."""
    logprobs: list[float] = field(default_factory=list)
    """The results, one for each read."""
    is_top: list[bool] = field(default_factory=list)
    """Whether the token was the first choice in the whole vocabulary."""
    n_missing: int = 0
    """Reads without a result."""
    seconds: float = 0.0
    n_users: int = 0
    failure: Failure | None = None
    """Why there are no results."""
    is_window: bool = False
    """Whether it is a window of a long text, which shares no prefix with other rows."""

    def put(self, number: int, logprobs: Sequence[float], is_top: Sequence[bool]) -> None:
        """Store the results of reads from `number` on; a repeated result replaces the first."""
        if not self.logprobs:
            self.logprobs = [math.nan] * len(self.tokens)
            self.is_top = [False] * len(self.tokens)
            self.n_missing = len(self.tokens)
        mine = slice(number, number + len(logprobs))
        self.n_missing -= sum(map(math.isnan, self.logprobs[mine]))
        self.logprobs[mine], self.is_top[mine] = logprobs, is_top

    @property
    def is_done(self) -> bool:
        """Return whether every read has its result, or has failed."""
        return self.failure is not None or (bool(self.logprobs) and not self.n_missing)


@dataclass(slots=True, frozen=True)
class RowReading:
    """The results of a row that belong to one request."""

    row: Row
    begin: int
    end: int

    @property
    def logprobs(self) -> list[float]:
        """Return the log-probabilities in the order of the request."""
        return self.row.logprobs[self.begin : self.end]

    @property
    def is_greedy(self) -> bool:
        """Return whether every token was the model's first choice."""
        return all(self.row.is_top[self.begin : self.end])


class Rows:
    """Rows to compute; equal inputs share one row."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, ...], Row] = {}

    def __iter__(self) -> Any:
        return iter(self._rows.values())

    def continuation(self, ids: tuple[int, ...], first: int, *, is_window: bool = False) -> RowReading:
        """Request each token of `ids` from `first` on, given all before it."""
        reading = self._read(ids[:-1], [(first - 1, len(ids) - 1)], ids[first:])
        reading.row.is_window |= is_window
        return reading

    def next_tokens(self, context: tuple[int, ...], tokens: Sequence[int]) -> RowReading:
        """Request several tokens that could follow the same context."""
        return self._read(context, [(len(context) - 1, len(context))] * len(tokens), tokens)

    def each_next_token(self, context: tuple[int, ...], tokens: Sequence[int]) -> Iterator[RowReading]:
        """Request several tokens that could follow the same context; yield a reading of each."""
        if not tokens:
            return
        whole = self.next_tokens(context, tokens)
        whole.row.n_users += len(tokens) - 1
        for at in range(whole.begin, whole.end):
            yield RowReading(whole.row, at, at + 1)

    def _read(
        self, inputs: tuple[int, ...], stretches: Sequence[tuple[int, int]], tokens: Sequence[int]
    ) -> RowReading:
        row = self._rows.setdefault(inputs, Row(inputs))
        begin = number = len(row.tokens)
        for start, end in stretches:
            row.runs.append((start, end, number))
            number += end - start
        row.tokens.extend(tokens)
        row.n_users += 1
        return RowReading(row, begin, number)


def compute_rows(loaded: LoadedModel, rows: Sequence[Row]) -> None:
    """Compute a batch of rows, each separately: the plain way."""
    import torch

    longest = max(len(row.inputs) for row in rows)
    ids = torch.zeros((len(rows), longest), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for index, row in enumerate(rows):
        # Padding is on the right, where causal attention cannot see it from the tokens that count.
        ids[index, : len(row.inputs)] = torch.tensor(row.inputs)
        mask[index, : len(row.inputs)] = 1
    feed = {"input_ids": ids, "attention_mask": mask}
    if "position_ids" in loaded.takes:
        feed["position_ids"] = torch.arange(longest).expand_as(ids)
    wanted = [
        BatchReads(row, number, end - begin, index * longest + begin)
        for index, row in enumerate(rows)
        for begin, end, number in row.runs
    ]
    feed = {name: tensor.to(loaded.device) for name, tensor in feed.items()}
    compute_logprobs(loaded, {**feed, "use_cache": False}, wanted).settle()


class BatchReads(NamedTuple):
    """A run of reads, and the position of their hidden states in a batch."""

    row: Row
    number: int
    """The first of the row's reads."""
    n: int
    place: int
    """Of the first read, counted through the batch row by row; the others follow it."""


@dataclass(slots=True, frozen=True)
class PendingLogprobs:
    """Results that may still be computed by the device."""

    wanted: Sequence[BatchReads] = ()
    order: Any = None
    """The reads of all runs, numbered consecutively, in the order of computation; None: nothing is read."""
    logprobs: Any = None
    is_top: Any = None
    span: DeviceSpan | None = None
    """The computation, which may be in progress; None: nothing was computed."""

    def settle(self) -> float:
        """Write the results into the rows; waits for the device. Return how long the device computed."""
        if self.span is None:
            return 0.0
        seconds = self.span.wait()
        if self.order is None:
            return seconds
        back = self.order.argsort()
        logprobs, is_top = self.logprobs[back].tolist(), self.is_top[back].tolist()
        at = 0
        for row, number, n, _ in self.wanted:
            row.put(number, logprobs[at : at + n], is_top[at : at + n])
            at += n
        return seconds


def compute_logprobs(
    loaded: LoadedModel, feed: Mapping[str, Any], wanted: Sequence[BatchReads]
) -> PendingLogprobs:
    """Run the model once and read the requested log-probabilities; a GPU may still be computing them."""
    import torch

    span = DeviceSpan(loaded.device)
    places, at = _places(wanted).unique(return_inverse=True)
    tokens = torch.tensor([t for run in wanted for t in run.row.tokens[run.number : run.number + run.n]])
    size = GPU_HEAD_CHUNK if loaded.device.type == "cuda" else CPU_HEAD_CHUNK
    piece = at // size.places
    # Sorted by piece, and by token within it.
    order = (piece * loaded.vocab_size + tokens).argsort()
    at, tokens = at[order] % size.places, tokens[order]
    answers, begin = [], 0
    with torch.inference_mode():
        picked, head = gather_outputs(loaded, feed, places)
        for index, count in enumerate(piece.bincount().tolist()):
            part = picked[index * size.places : (index + 1) * size.places]
            mine = slice(begin, begin + count)
            answers.append(_gather_logprobs(_vocabulary(part, head, size.tokens), at[mine], tokens[mine]))
            begin += count
        # Copied back now: requested later, they would wait for everything the device was given since.
        logprobs, is_top = (
            torch.cat(parts).to("cpu", non_blocking=True) for parts in zip(*answers, strict=True)
        )
    span.end()
    return PendingLogprobs(wanted, order, logprobs, is_top, span)


def _places(wanted: Sequence[BatchReads]) -> Any:
    """Return the position of every read."""
    import torch

    counts = torch.tensor([run.n for run in wanted])
    first = torch.tensor([run.place for run in wanted])
    before = counts.cumsum(0) - counts
    return (first - before).repeat_interleave(counts) + torch.arange(int(counts.sum()))


def send_to_device(tensor: Any, device: Any) -> Any:
    """Return a tensor on a device, without waiting for the device's current work."""
    if device.type == "cuda" and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def gather_outputs(loaded: LoadedModel, feed: Mapping[str, Any], places: Any) -> tuple[Any, Any]:
    """Return the model's outputs at some positions: hidden states with the head that reads them, or logits.

    Positions are counted through the batch, row by row.
    """
    width = feed["input_ids"].shape[1]
    batch_at, time_at = send_to_device(places // width, loaded.device), places % width
    if loaded.body is not None:
        hidden = loaded.body(**feed).last_hidden_state
        return hidden[batch_at, send_to_device(time_at, loaded.device)], loaded.head
    # The family has a step after its head, so only its own forward gives correct logits.
    more = {}
    if "logits_to_keep" in loaded.takes:
        kept, time_at = time_at.unique(return_inverse=True)
        more["logits_to_keep"] = send_to_device(kept, loaded.device)
    time_at = send_to_device(time_at, loaded.device)
    return loaded.model(**feed, **more).logits[batch_at, time_at], None


def _vocabulary(picked: Any, head: Any, at_once: int) -> Iterator[tuple[int, Any]]:
    """Yield (first token, logits in fp32) for one part of the vocabulary after the other."""
    size = picked.shape[-1] if head is None else head.weight.shape[0]
    for begin in range(0, size, at_once):
        part = slice(begin, begin + at_once)
        yield begin, picked[:, part].float() if head is None else _logits(picked, head, part)


def _logits(picked: Any, head: Any, part: slice) -> Any:
    """Return the logits of a part of the vocabulary in fp32."""
    import torch

    weight, bias = head.weight[part], None if head.bias is None else head.bias[part]
    if picked.device.type == "cuda" and picked.dtype != torch.float32:
        # The products are summed in fp32 anyway; without this, they would be rounded to three digits first.
        logits = torch.mm(picked, weight.t(), out_dtype=torch.float32)
        return logits if bias is None else logits + bias.float()
    return torch.nn.functional.linear(picked, weight, bias).float()


def _sum_exponentials(logits: Any) -> tuple[Any, Any, Any]:
    """Return for each position the highest logit, its token, and the sum of exponentials relative to it.

    Overwrites the logits, which are not read again.
    """
    highest, token = logits.max(dim=-1)
    return highest, token, logits.sub_(highest[:, None]).exp_().sum(dim=-1)


def _gather_logprobs(stretches: Iterable[tuple[int, Any]], at: Any, tokens: Any) -> tuple[Any, Any]:
    """Return log-probability and first-choice flag of tokens at positions; the tokens in ascending order.

    Keeps a running sum over the vocabulary, so that its logits are never in memory all at once.
    """
    import torch

    selected, highest, first, total = None, None, None, None
    sorted_tokens = tokens.tolist()
    for begin, logits in stretches:
        if selected is None:
            at, tokens = send_to_device(at, logits.device), send_to_device(tokens, logits.device)
            selected = torch.empty(len(tokens), dtype=torch.float32, device=logits.device)
        mine = slice(bisect_left(sorted_tokens, begin), bisect_left(sorted_tokens, begin + logits.shape[1]))
        selected[mine] = logits[at[mine], tokens[mine] - begin]
        best, token, part = _sum_exponentials(logits)
        if highest is None:
            highest, first, total = best, token, part
            continue
        # A later token must be better, not equal, to become the first choice: ties go to the lower id.
        first = torch.where(best > highest, token + begin, first)
        higher = torch.maximum(highest, best)
        total = total * (highest - higher).exp() + part * (best - higher).exp()
        highest = higher
    assert selected is not None
    assert highest is not None
    assert first is not None
    assert total is not None
    return selected - (highest + total.log())[at], first[at] == tokens
