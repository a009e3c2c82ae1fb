"""Generation: one decode loop over rows that come and go, with the model's key-value cache.

Of the checkpoint's generation_config only the end tokens are used: temperature, top_p, penalties and the rest
come from the request. Each row has its own seeded random generator, so that its text does not depend on the
batch in which it is computed.
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
"""How families spell the end of a turn. Used if the tokenizer knows it as a special token: a checkpoint's
configuration often omits it, and then generation never ends."""

EDGE_CHARS = 8
"""How many characters at the start of a partial text may differ from the whole, such as a leading space."""
UNREADABLE = "\N{REPLACEMENT CHARACTER}"
"""What tokenizers write for bytes that are not a complete character."""


@dataclass(slots=True, eq=False)
class Draft:
    """One text that is being generated."""

    prompt: tuple[int, ...]
    sampling: Sampling
    max_new: int
    """`max_tokens`, or what still fits into the context."""
    key: str
    number: int
    """Key, number and seed decide what is sampled."""
    stop_ids: tuple[tuple[int, ...], ...] = ()
    """Token sequences that end it, instead of the stop strings."""
    random: random.Random = field(default_factory=random.Random)
    ids: list[int] = field(default_factory=list)
    output: Output | None = None
    failure: tuple[str, str] | None = None
    """(kind, message) if it has failed."""
    seconds: float = 0.0
    """Its share of the time of all steps in which it took part."""

    @property
    def is_done(self) -> bool:
        """Return whether it needs no more tokens."""
        return self.output is not None or self.failure is not None


def new_draft(
    prompt: tuple[int, ...],
    sampling: Sampling,
    room: int | None,
    key: str,
    number: int,
    stop_ids: tuple[tuple[int, ...], ...] = (),
) -> Draft:
    """Return an empty draft."""
    max_new = sampling.max_tokens if room is None else min(sampling.max_tokens, room)
    return Draft(prompt, sampling, max_new, key, number, stop_ids)


def check_max_tokens(sampling: Sampling) -> Failure | None:
    """Return the failure of a request for no tokens."""
    if sampling.max_tokens >= 1:
        return None
    return Failure("max_tokens", "max_tokens is below 1, so nothing can be generated")


def stop_length(ids: Sequence[int], stop_ids: Sequence[Sequence[int]]) -> int:
    """Return the length of the longest stop sequence at the end of a text; 0 if there is none."""
    return max((len(stop) for stop in stop_ids if tuple(ids[-len(stop) :]) == tuple(stop)), default=0)


class EndDetector:
    """Decides when a text is finished."""

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
        """Return the special tokens among stop strings: they leave no text."""
        return frozenset(self._special[stop] for stop in stops if stop in self._special)

    def check(self, draft: Draft) -> None:
        """Set a draft's output if its newest token ended it."""
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
                    # A special token leaves no text in which the stop string could be found.
                    cuts.append(len(text))
                if cuts:
                    draft.output = Output(text[: min(cuts)], Finish.STOP, len(draft.ids))
                    return
        if len(draft.ids) >= draft.max_new:
            draft.output = Output(self.text(draft.ids), Finish.LENGTH, len(draft.ids))

    def _may_stop(self, ids: Sequence[int], stops: Sequence[str]) -> bool:
        """Return whether the newest token may have completed a stop string, by the end of the text only.

        A token may contain many characters, a part of one, or none. So the end is long enough only if its
        text without the newest token is. False is certain; True means that the whole text must be searched.
        """
        needed = max(len(stop) for stop in stops) + EDGE_CHARS
        n = needed
        while n < len(ids):
            end = self.text(ids[-n:])
            if UNREADABLE in end:  # Incomplete characters: only the whole text shows what they are.
                return True
            if len(self.text(ids[-n:-1])) >= needed:
                return any(stop in end for stop in stops)
            n *= 2
        return True

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, without special ones."""
        text: str = self._decode(ids, skip_special_tokens=True)
        return text


class Feeder(Protocol):
    """A model that reads rows of tokens step by step and caches them."""

    joins: bool
    """Whether rows can join others; if not, new rows begin when all others have ended."""

    def join(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """Read prompts into new rows after the existing ones; return the next-token logits of each, in fp32.

        Equal prompts are read once.
        """

    def step(self, tokens: Sequence[int]) -> Any:
        """Read one more token in each row; return the next-token logits."""

    def select(self, rows: Sequence[int]) -> None:
        """Continue with some of the rows, or none."""


def generate_drafts(feeder: Feeder, ending: EndDetector, batch: RunningBatch[Draft]) -> Iterator[list[Draft]]:
    """Complete drafts; yield them as they finish. Waiting drafts take their places."""
    while batch.running or batch.waiting:
        if done := _run_decode_step(feeder, ending, batch):
            yield done


def _run_decode_step(feeder: Feeder, ending: EndDetector, batch: RunningBatch[Draft]) -> list[Draft]:
    """Let drafts join, or generate one more token in each row; return the drafts that are finished."""
    import torch

    began = time.perf_counter()
    # Not around the whole loop: the consumer of the drafts would then run in this mode too.
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
    """Reset a draft: after memory ran out, it is generated again, with the same random numbers."""
    draft.ids.clear()
    draft.output = draft.failure = None
    draft.random = make_random(draft.sampling.seed or 0, draft.key, str(draft.number))


def choose_tokens(logits: Any, rows: Sequence[Draft]) -> list[int | None]:
    """Return each row's next token: its first choice, or a sample; None if its logits are not finite."""
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
    """Sample one token: temperature first, then the smallest set of tokens that reaches top_p.

    Each token gets its own random number, and the maximum of logit and random number together is taken
    (Gumbel max), which samples each token with its probability. Sampling along the sorted probabilities
    would do so too, but there the last digits of fp32, which depend on the batch, decide the order of two
    near equals.
    """
    import torch

    # Drawn on the CPU wherever the model is, so that a GPU gets the same numbers.
    noise = torch.empty(len(logits)).exponential_(
        generator=torch.Generator().manual_seed(draft.random.getrandbits(63))
    )
    scaled = logits / draft.sampling.temperature
    scores = scaled - noise.to(logits.device).log()
    if draft.sampling.top_p >= 1:
        return int(scores.argmax())
    probs, order = torch.softmax(scaled, dim=-1).sort(descending=True, stable=True)
    n_kept = int((probs.cumsum(dim=-1) - probs < draft.sampling.top_p).sum().clamp(min=1))
    return int(order[scores[order[:n_kept]].argmax()])
