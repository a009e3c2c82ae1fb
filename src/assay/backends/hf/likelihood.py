"""Log-probabilities of chosen tokens at chosen positions: all that SPAN and LABELS need of a model.

Asks that feed the model the same tokens share one row: the options `A` to `D` after one question are one
forward pass. Hidden states are gathered at the positions that are read, and only those meet the output head,
one stretch of the vocabulary after the other, summed in fp32; not even [positions, vocabulary] exists.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.prefix_tree import ReadRange
from assay.core.response import Failure


class HeadChunk(NamedTuple):
    """How much of the output head is read at once: so many positions by so many tokens of the vocabulary."""

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
    """For each read the token whose probability is wanted."""
    logprobs: list[float] = field(default_factory=list)
    """The answers, one for each read."""
    is_top: list[bool] = field(default_factory=list)
    """Whether the token was the first choice over the whole vocabulary."""
    n_owed: int = 0
    """Reads that have no answer yet."""
    seconds: float = 0.0
    n_users: int = 0
    failure: Failure | None = None
    """Why there are no answers."""
    is_window: bool = False
    """Whether it is a window of a long text, which begins like no other row."""

    def put(self, number: int, logprobs: Sequence[float], is_top: Sequence[bool]) -> None:
        """Take the answers to reads from `number` on; an answer computed again replaces the first."""
        if not self.logprobs:
            self.logprobs = [math.nan] * len(self.tokens)
            self.is_top = [False] * len(self.tokens)
            self.n_owed = len(self.tokens)
        mine = slice(number, number + len(logprobs))
        self.n_owed -= sum(map(math.isnan, self.logprobs[mine]))
        self.logprobs[mine], self.is_top[mine] = logprobs, is_top

    @property
    def is_done(self) -> bool:
        """Whether every read has its answer, or none will come."""
        return self.failure is not None or (bool(self.logprobs) and not self.n_owed)


@dataclass(slots=True, frozen=True)
class RowReading:
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

    def continuation(self, ids: tuple[int, ...], first: int, *, is_window: bool = False) -> RowReading:
        """Ask for each token of `ids` from `first` on, given all before it."""
        reading = self._read(ids[:-1], [(first - 1, len(ids) - 1)], ids[first:])
        reading.row.is_window |= is_window
        return reading

    def next_tokens(self, context: tuple[int, ...], tokens: Sequence[int]) -> RowReading:
        """Ask for several tokens that could follow the same context."""
        return self._read(context, [(len(context) - 1, len(context))] * len(tokens), tokens)

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
        BatchReads(row, number, end - begin, index * longest + begin)
        for index, row in enumerate(rows)
        for begin, end, number in row.runs
    ]
    feed = {name: tensor.to(loaded.device) for name, tensor in feed.items()}
    compute_logprobs(loaded, {**feed, "use_cache": False}, wanted).settle()


class BatchReads(NamedTuple):
    """A run of reads, and where in a batch their hidden states will be."""

    row: Row
    number: int
    """The first of the row's reads."""
    n: int
    place: int
    """Of the first, counted through the batch row after row; the others follow it."""


@dataclass(slots=True, frozen=True)
class PendingLogprobs:
    """Answers that may still be on their way from the device."""

    wanted: Sequence[BatchReads] = ()
    order: Any = None
    """The reads of all runs, numbered through, in the order in which they were computed."""
    logprobs: Any = None
    is_top: Any = None
    arrived: Any = None
    """An event of the device; None: all is there."""

    def settle(self) -> None:
        """Write the answers into the rows; waits for the device."""
        if not self.wanted:
            return
        if self.arrived is not None:
            self.arrived.synchronize()
        back = self.order.argsort()
        logprobs, is_top = self.logprobs[back].tolist(), self.is_top[back].tolist()
        at = 0
        for row, number, n, _ in self.wanted:
            row.put(number, logprobs[at : at + n], is_top[at : at + n])
            at += n


def compute_logprobs(
    loaded: LoadedModel, feed: Mapping[str, Any], wanted: Sequence[BatchReads]
) -> PendingLogprobs:
    """Feed the model once and read what is wanted; on a GPU the work may still be under way."""
    import torch

    places, at = _places(wanted).unique(return_inverse=True)
    tokens = torch.tensor([t for one in wanted for t in one.row.tokens[one.number : one.number + one.n]])
    size = GPU_HEAD_CHUNK if loaded.device.type == "cuda" else CPU_HEAD_CHUNK
    piece = at // size.places
    # By piece, and by token within it.
    order = (piece * loaded.vocab_size + tokens).argsort()
    at, tokens = at[order] % size.places, tokens[order]
    summed = sum_exponentials if loaded.flex is None else loaded.flex.sum_up
    answers, begin = [], 0
    with torch.inference_mode():
        picked, head = gather_outputs(loaded, feed, places)
        for index, count in enumerate(piece.bincount().tolist()):
            part = picked[index * size.places : (index + 1) * size.places]
            mine = slice(begin, begin + count)
            answers.append(
                _gather_logprobs(_vocabulary(part, head, size.tokens), at[mine], tokens[mine], summed)
            )
            begin += count
        # Sent back now: asked for later, they would wait behind whatever the device was given since.
        logprobs, is_top = (
            torch.cat(parts).to("cpu", non_blocking=True) for parts in zip(*answers, strict=True)
        )
    arrived = None
    if loaded.device.type == "cuda":
        arrived = torch.cuda.Event()
        arrived.record()
    return PendingLogprobs(wanted, order, logprobs, is_top, arrived)


def _places(wanted: Sequence[BatchReads]) -> Any:
    """Return the place of every read."""
    import torch

    counts = torch.tensor([one.n for one in wanted])
    first = torch.tensor([one.place for one in wanted])
    before = counts.cumsum(0) - counts
    return (first - before).repeat_interleave(counts) + torch.arange(int(counts.sum()))


def send_to_device(tensor: Any, device: Any) -> Any:
    """Return a tensor on a device, sent without waiting for what the device does now."""
    if device.type == "cuda" and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def gather_outputs(loaded: LoadedModel, feed: Mapping[str, Any], places: Any) -> tuple[Any, Any]:
    """Return what the model has at some places: hidden states and the head that reads them, or logits.

    Places are counted through the batch, row after row.
    """
    width = feed["input_ids"].shape[1]
    batch_at, time_at = send_to_device(places // width, loaded.device), places % width
    if loaded.body is not None:
        hidden = loaded.body(**feed).last_hidden_state
        return hidden[batch_at, send_to_device(time_at, loaded.device)], loaded.head
    # The family does something after its head, so only its own forward gives true logits.
    more = {}
    if "logits_to_keep" in loaded.takes:
        kept, time_at = time_at.unique(return_inverse=True)
        more["logits_to_keep"] = send_to_device(kept, loaded.device)
    time_at = send_to_device(time_at, loaded.device)
    return loaded.model(**feed, **more).logits[batch_at, time_at], None


def _vocabulary(picked: Any, head: Any, at_once: int) -> Iterator[tuple[int, Any]]:
    """Yield (first token, logits in fp32) for one stretch of the vocabulary after the other."""
    size = picked.shape[-1] if head is None else head.weight.shape[0]
    for begin in range(0, size, at_once):
        part = slice(begin, begin + at_once)
        yield begin, picked[:, part].float() if head is None else _logits(picked, head, part)


def _logits(picked: Any, head: Any, part: slice) -> Any:
    """Return the logits of a stretch of the vocabulary in fp32."""
    import torch

    weight, bias = head.weight[part], None if head.bias is None else head.bias[part]
    if picked.device.type == "cuda" and picked.dtype != torch.float32:
        # The products are summed in fp32 anyway; kept so, they are not rounded to three digits first.
        logits = torch.mm(picked, weight.t(), out_dtype=torch.float32)
        return logits if bias is None else logits + bias.float()
    return torch.nn.functional.linear(picked, weight, bias).float()


ExponentialSum = tuple[Any, Any, Any]


def sum_exponentials(logits: Any) -> ExponentialSum:
    """Return for each place the highest logit, its token, and the sum of exponentials relative to it.

    Writes over the logits, which nobody reads again.
    """
    highest, token = logits.max(dim=-1)
    return highest, token, logits.sub_(highest[:, None]).exp_().sum(dim=-1)


def _gather_logprobs(
    stretches: Iterable[tuple[int, Any]], at: Any, tokens: Any, summed: Callable[[Any], ExponentialSum]
) -> tuple[Any, Any]:
    """Return log-probability and first-choice flag of tokens at places; the tokens in rising order.

    The sum over the vocabulary is kept running, so its logits never exist all at once.
    """
    import torch

    found, highest, first, total = None, None, None, None
    sorted_tokens = tokens.tolist()
    for begin, logits in stretches:
        if found is None:
            at, tokens = send_to_device(at, logits.device), send_to_device(tokens, logits.device)
            found = torch.empty(len(tokens), dtype=torch.float32, device=logits.device)
        mine = slice(bisect_left(sorted_tokens, begin), bisect_left(sorted_tokens, begin + logits.shape[1]))
        found[mine] = logits[at[mine], tokens[mine] - begin]
        best, token, part = summed(logits)
        if highest is None:
            highest, first, total = best, token, part
            continue
        # A later token must be better, not equal, to take the first place: ties go to the lower id.
        first = torch.where(best > highest, token + begin, first)
        higher = torch.maximum(highest, best)
        total = total * (highest - higher).exp() + part * (best - higher).exp()
        highest = higher
    assert found is not None
    assert highest is not None
    assert first is not None
    assert total is not None
    return found - (highest + total.log())[at], first[at] == tokens
