"""Log-probabilities of chosen tokens at chosen positions: all that SPAN and LABELS need of a model.

Asks that feed the model the same tokens share one row: the options `A` to `D` after one question are one
forward pass. Hidden states are gathered at the positions that are read, and only those meet the output head,
one stretch of the vocabulary after the other, summed in fp32; not even [positions, vocabulary] exists.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay.backends.loading import Loaded

PLACES_AT_ONCE = 4096
TOKENS_AT_ONCE = 4096
"""The output head is read in pieces of so many positions by so many tokens of the vocabulary."""


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
        picked, head = pick(loaded, feed, places)
        for begin in range(0, len(places), PLACES_AT_ONCE):
            end = begin + PLACES_AT_ONCE
            mine = [one for one in wanted if begin <= number[one.batch_at, one.time_at] < end]
            reads = [
                (number[one.batch_at, one.time_at] - begin, one.row.reads[one.number][1]) for one in mine
            ]
            logprobs, is_top = _read_out(_vocabulary(picked[begin:end], head), reads)
            for one, logprob, top in zip(mine, logprobs, is_top, strict=True):
                one.row.put(one.number, logprob, top)


def pick(loaded: Loaded, feed: Mapping[str, Any], places: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
    """Return what the model has at some places: hidden states and the head that reads them, or logits."""
    import torch

    batch_at = torch.tensor([index for index, _ in places], device=loaded.device)
    time_at = torch.tensor([at for _, at in places], device=loaded.device)
    if loaded.body is not None:
        return loaded.body(**feed).last_hidden_state[batch_at, time_at], loaded.head
    # The family does something after its head, so only its own forward gives true logits.
    more = {}
    if "logits_to_keep" in loaded.takes:
        kept, time_at = torch.unique(time_at, return_inverse=True)
        more["logits_to_keep"] = kept
    return loaded.model(**feed, **more).logits[batch_at, time_at], None


def _vocabulary(picked: Any, head: Any) -> Iterator[tuple[int, Any]]:
    """Yield (first token, logits in fp32) for one stretch of the vocabulary after the other."""
    import torch

    size = picked.shape[-1] if head is None else head.weight.shape[0]
    for begin in range(0, size, TOKENS_AT_ONCE):
        part = slice(begin, begin + TOKENS_AT_ONCE)
        if head is None:
            yield begin, picked[:, part].float()
        else:
            bias = None if head.bias is None else head.bias[part]
            yield begin, torch.nn.functional.linear(picked, head.weight[part], bias).float()


def _read_out(
    stretches: Iterable[tuple[int, Any]], reads: Sequence[tuple[int, int]]
) -> tuple[list[float], list[bool]]:
    """Return log-probability and first-choice flag for each (place, token).

    The sum over the vocabulary is kept running, so its logits never exist all at once.
    """
    import torch

    order = sorted(range(len(reads)), key=lambda n: reads[n][1])
    found, at = [0.0] * len(reads), 0
    highest = total = first = None
    for begin, logits in stretches:
        mine = []
        while at < len(order) and reads[order[at]][1] < begin + logits.shape[1]:
            mine.append(order[at])
            at += 1
        if mine:
            place = torch.tensor([reads[n][0] for n in mine], device=logits.device)
            token = torch.tensor([reads[n][1] - begin for n in mine], device=logits.device)
            for n, logit in zip(mine, logits[place, token].tolist(), strict=True):
                found[n] = logit
        best, where = logits.max(dim=-1)
        if highest is None:
            highest, first = best, where
            total = (logits - highest[:, None]).exp_().sum(dim=-1)
            continue
        # A later token must be better, not equal, to take the first place: ties go to the lower id.
        first = torch.where(best > highest, where + begin, first)
        higher = torch.maximum(highest, best)
        total = total * (highest - higher).exp() + (logits - higher[:, None]).exp_().sum(dim=-1)
        highest = higher
    assert highest is not None
    assert total is not None
    assert first is not None
    sums, firsts = (highest + total.log()).tolist(), first.tolist()
    return (
        [logit - sums[place] for logit, (place, _) in zip(found, reads, strict=True)],
        [firsts[place] == token for place, token in reads],
    )
