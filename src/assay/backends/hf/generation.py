"""Writing text: one decode loop over rows that come and go, with the model's key-value cache.

Nothing of the checkpoint's generation_config but its end tokens is heard: temperature, top_p, penalties and
the rest come from the ask alone. Each row draws from its own seeded generator, so that what it writes does
not depend on the company it is computed in.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay.backends.hf.batching import RunningBatch
from assay.core.ids import make_random
from assay.core.request import Sampling
from assay.core.response import Failure, Finish, Output

END_OF_TURN = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<turn|>", "<|end|>", "<|end_of_turn|>",
    "<|endoftext|>", "<|END_OF_TURN_TOKEN|>",
)  # fmt: skip
"""How families spell the end of a turn. It counts when the tokenizer knows it as a special token: a
checkpoint's configuration often forgets it, and then generation never ends."""

EDGE_CHARS = 8
"""How many characters at the cut of a text may read otherwise than in the whole, such as a leading space."""
UNREADABLE = "\N{REPLACEMENT CHARACTER}"
"""What tokenizers write for bytes that are no character, or not yet."""


@dataclass(slots=True, eq=False)
class Draft:
    """One text in the making."""

    prompt: tuple[int, ...]
    sampling: Sampling
    max_new: int
    """`max_tokens`, or what still fits into the context."""
    key: str
    number: int
    """Together with the seed they decide what is drawn."""
    stop_ids: tuple[tuple[int, ...], ...] = ()
    """Token sequences that end it, in place of the stop strings."""
    random: random.Random = field(default_factory=random.Random)
    ids: list[int] = field(default_factory=list)
    output: Output | None = None
    failure: tuple[str, str] | None = None
    """(kind, message) when there is no text."""
    seconds: float = 0.0
    """Its share of the time of all steps it took part in."""

    @property
    def is_done(self) -> bool:
        """Whether it needs no more tokens."""
        return self.output is not None or self.failure is not None


def new_draft(
    prompt: tuple[int, ...],
    sampling: Sampling,
    room: int | None,
    key: str,
    number: int,
    stop_ids: tuple[tuple[int, ...], ...] = (),
) -> Draft:
    """Return an empty text."""
    max_new = sampling.max_tokens if room is None else min(sampling.max_tokens, room)
    return Draft(prompt, sampling, max_new, key, number, stop_ids)


def check_max_tokens(sampling: Sampling) -> Failure | None:
    """Return the failure of an ask for no tokens at all."""
    if sampling.max_tokens >= 1:
        return None
    return Failure("max_tokens", "max_tokens is below 1: there is nothing to write")


def stop_length(ids: Sequence[int], stop_ids: Sequence[Sequence[int]]) -> int:
    """Return the length of the longest stop sequence that a text ends with; 0 for none."""
    return max((len(stop) for stop in stop_ids if tuple(ids[-len(stop) :]) == tuple(stop)), default=0)


class EndDetector:
    """Knows when a text is finished."""

    def __init__(self, tokenizer: Any, more_end_ids: Iterable[int] = ()) -> None:
        self._decode = tokenizer.backend_tokenizer.decode
        self._special = {
            str(token.content): id_ for id_, token in tokenizer.added_tokens_decoder.items() if token.special
        }
        known = (self._special.get(text) for text in END_OF_TURN)
        self.end_ids = frozenset(
            id_ for id_ in (*known, tokenizer.eos_token_id, *more_end_ids) if id_ is not None
        )

    def special_ids(self, stops: Sequence[str]) -> frozenset[int]:
        """Return the special tokens among stop strings: they leave no text behind."""
        return frozenset(self._special[stop] for stop in stops if stop in self._special)

    def check(self, draft: Draft) -> None:
        """Give a draft its output if its newest token ended it."""
        newest, stops = draft.ids[-1], () if draft.stop_ids else draft.sampling.stop
        if newest in self.end_ids:
            draft.output = Output(self.text(draft.ids), Finish.END, len(draft.ids))
            return
        if n_stop := stop_length(draft.ids, draft.stop_ids):
            draft.output = Output(self.text(draft.ids[:-n_stop]), Finish.STOP, len(draft.ids))
            return
        if stops:
            is_stop = newest in self.special_ids(stops)
            if is_stop or self._may_stop(draft.ids, stops):
                text = self.text(draft.ids)
                cuts = [at for stop in stops if (at := text.find(stop)) >= 0]
                if is_stop:
                    # A special token leaves no text behind to find the stop string in.
                    cuts.append(len(text))
                if cuts:
                    draft.output = Output(text[: min(cuts)], Finish.STOP, len(draft.ids))
                    return
        if len(draft.ids) >= draft.max_new:
            draft.output = Output(self.text(draft.ids), Finish.LENGTH, len(draft.ids))

    def _may_stop(self, ids: Sequence[int], stops: Sequence[str]) -> bool:
        """Whether the newest token may have completed a stop string; only the end of the text is looked at.

        A token may hold many characters, a part of one, or none, so the end is long enough only if its text
        without the newest token is. False is certain; True asks for the whole text.
        """
        needed = max(len(stop) for stop in stops) + EDGE_CHARS
        n = needed
        while n < len(ids):
            end = self.text(ids[-n:])
            if UNREADABLE in end:  # Characters in parts: only the whole text tells what they are.
                return True
            if len(self.text(ids[-n:-1])) >= needed:
                return any(stop in end for stop in stops)
            n *= 2
        return True

    def text(self, ids: Sequence[int]) -> str:
        """Return what tokens say, special ones left out."""
        text: str = self._decode(ids, skip_special_tokens=True)
        return text


class Feeder(Protocol):
    """A model that reads rows of tokens step by step and remembers them."""

    joins: bool
    """Whether rows can join others; if not, they begin together when nobody is left."""

    def join(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """Read prompts into new rows behind those there are; return the logits of what follows each, in fp32.

        Equal prompts are read once.
        """

    def step(self, tokens: Sequence[int]) -> Any:
        """Read one more token in each row; return the logits of what follows."""

    def select(self, rows: Sequence[int]) -> None:
        """Go on with some of the rows, or none."""


def generate_drafts(feeder: Feeder, ending: EndDetector, batch: RunningBatch[Draft]) -> Iterator[list[Draft]]:
    """Write drafts to their ends; yield them as they are done. Those that wait take their places."""
    while batch.running or batch.waiting:
        if done := _run_decode_step(feeder, ending, batch):
            yield done


def _run_decode_step(feeder: Feeder, ending: EndDetector, batch: RunningBatch[Draft]) -> list[Draft]:
    """Let drafts join, or write one token more in each row; return the drafts that are now done."""
    import torch

    began = time.perf_counter()
    # Not around the whole loop: what asks for the drafts would then run in this mode too.
    with torch.inference_mode():
        fresh = batch.admit() if feeder.joins or not batch.running else []
        rows = fresh or list(batch.running)
        if fresh:
            for draft in fresh:
                reset_draft(draft)
            logits = feeder.join([draft.prompt for draft in fresh])
        else:
            logits = feeder.step([draft.ids[-1] for draft in rows])
        for draft, token in zip(rows, choose_tokens(logits, rows), strict=True):
            if token is None:
                draft.failure = ("not_finite", "the model's logits are not finite numbers")
            else:
                draft.ids.append(token)
                ending.check(draft)
        done = [draft for draft in rows if draft.is_done]
        if done:
            feeder.select([index for index, draft in enumerate(batch.running) if not draft.is_done])
            batch.dismiss(done)
    seconds = time.perf_counter() - began
    for draft in rows:
        draft.seconds += seconds / len(rows)
    return done


def reset_draft(draft: Draft) -> None:
    """Set a draft to its beginning: what memory ran out on half way is written again, and draws alike."""
    draft.ids.clear()
    draft.output = draft.failure = None
    draft.random = make_random(draft.sampling.seed or 0, draft.key, str(draft.number))


def choose_tokens(logits: Any, rows: Sequence[Draft]) -> list[int | None]:
    """Return each row's next token: its first choice, or a draw; None where there is no choice at all."""
    highest, first = (part.tolist() for part in logits.max(dim=-1))
    chosen: list[int | None] = []
    for index, draft in enumerate(rows):
        if not math.isfinite(highest[index]):
            chosen.append(None)
        elif draft.sampling.temperature <= 0:
            chosen.append(first[index])
        else:
            chosen.append(_sample_token(logits[index], draft))
    return chosen


def _sample_token(logits: Any, draft: Draft) -> int:
    """Draw one token: temperature first, then the smallest set of tokens that reaches top_p.

    Every token is given a chance of its own, and the best of logit and chance together is taken, which draws
    each as often as its probability says. A walk along the sorted probabilities would do so too, but there
    the last digits of fp32, which depend on the company, decide who of two near equals comes first.
    """
    import torch

    # On the CPU wherever the model is, so that a GPU gives the same chances.
    chances = torch.empty(len(logits)).exponential_(
        generator=torch.Generator().manual_seed(draft.random.getrandbits(63))
    )
    warm = logits / draft.sampling.temperature
    merits = warm - chances.to(logits.device).log()
    if draft.sampling.top_p >= 1:
        return int(merits.argmax())
    probs, order = torch.softmax(warm, dim=-1).sort(descending=True, stable=True)
    n_kept = int((probs.cumsum(dim=-1) - probs < draft.sampling.top_p).sum().clamp(min=1))
    return int(order[merits[order[:n_kept]].argmax()])
