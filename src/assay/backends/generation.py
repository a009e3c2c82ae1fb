"""Writing text: one decode loop over a batch, with the model's key-value cache.

Nothing of the checkpoint's generation_config but its end tokens is heard: temperature, top_p, penalties and
the rest come from the ask alone. Each row draws from its own seeded generator, so that what it writes does
not depend on the company it is computed in.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay.core.ids import draw
from assay.core.request import Sampling
from assay.core.response import Finish, Output

END_OF_TURN = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<turn|>", "<|end|>", "<|end_of_turn|>",
    "<|endoftext|>", "<|END_OF_TURN_TOKEN|>",
)  # fmt: skip
"""How families spell the end of a turn. It counts when the tokenizer knows it as a special token: a
checkpoint's configuration often forgets it, and then generation never ends."""


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
    random: random.Random = field(default_factory=random.Random)
    ids: list[int] = field(default_factory=list)
    output: Output | None = None
    failure: tuple[str, str] | None = None
    """(kind, message) when there is no text."""
    seconds: float = 0.0

    @property
    def is_done(self) -> bool:
        """Whether it needs no more tokens."""
        return self.output is not None or self.failure is not None


def new_draft(prompt: tuple[int, ...], sampling: Sampling, room: int | None, key: str, number: int) -> Draft:
    """Return an empty text."""
    max_new = sampling.max_tokens if room is None else min(sampling.max_tokens, room)
    return Draft(prompt, sampling, max_new, key, number)


class Ending:
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

    def check(self, draft: Draft) -> None:
        """Give a draft its output if its newest token ended it."""
        newest, sampling = draft.ids[-1], draft.sampling
        if newest in self.end_ids:
            draft.output = Output(self._text(draft), Finish.END, len(draft.ids))
            return
        if sampling.stop:
            # The whole text is looked at, as a stop string may be spread over any number of tokens.
            text = self._text(draft)
            cuts = [at for stop in sampling.stop if (at := text.find(stop)) >= 0]
            if newest in {self._special.get(stop) for stop in sampling.stop}:
                cuts.append(len(text))  # A special token leaves no text behind to find the stop string in.
            if cuts:
                draft.output = Output(text[: min(cuts)], Finish.STOP, len(draft.ids))
                return
        if len(draft.ids) >= draft.max_new:
            draft.output = Output(self._text(draft), Finish.LENGTH, len(draft.ids))

    def _text(self, draft: Draft) -> str:
        text: str = self._decode(draft.ids, skip_special_tokens=True)
        return text


class Feeder(Protocol):
    """A model that reads rows of tokens step by step and remembers them."""

    n_computed: int
    """Tokens computed so far, padding included."""

    def prefill(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """Read the prompts; return the logits of what follows each, in fp32."""

    def step(self, tokens: Sequence[int]) -> Any:
        """Read one more token in each row; return the logits of what follows."""

    def select(self, rows: Sequence[int]) -> None:
        """Go on with some of the rows."""


def write(feeder: Feeder, ending: Ending, drafts: Sequence[Draft]) -> None:
    """Write a batch of drafts to their ends; rows that are done leave the batch."""
    import torch

    rows = list(drafts)
    for draft in rows:
        # From the beginning: a batch that ran out of memory half way is written again, and draws alike.
        draft.ids.clear()
        draft.output = draft.failure = None
        draft.random = draw(draft.sampling.seed or 0, draft.key, str(draft.number))
    with torch.inference_mode():
        logits = feeder.prefill([draft.prompt for draft in rows])
        while True:
            for draft, token in zip(rows, _choose(logits, rows), strict=True):
                if token is None:
                    draft.failure = ("not_finite", "the model's logits are not finite numbers")
                else:
                    draft.ids.append(token)
                    ending.check(draft)
            alive = [index for index, draft in enumerate(rows) if not draft.is_done]
            if not alive:
                return
            if len(alive) < len(rows):
                rows = [rows[index] for index in alive]
                feeder.select(alive)
            logits = feeder.step([draft.ids[-1] for draft in rows])


def _choose(logits: Any, rows: Sequence[Draft]) -> list[int | None]:
    """Return each row's next token: its first choice, or a draw; None where there is no choice at all."""
    import torch

    is_finite = torch.isfinite(logits.max(dim=-1).values).tolist()
    greedy = logits.argmax(dim=-1).tolist()
    return [
        None if not ok else best if draft.sampling.temperature <= 0 else _drawn(logits[index], draft)
        for index, (draft, best, ok) in enumerate(zip(rows, greedy, is_finite, strict=True))
    ]


def _drawn(logits: Any, draft: Draft) -> int:
    """Draw one token: temperature first, then the smallest set of tokens that reaches top_p."""
    import torch

    probs, order = torch.softmax(logits / draft.sampling.temperature, dim=-1).sort(
        descending=True, stable=True
    )
    reached = probs.cumsum(dim=-1)
    n_kept = int((reached - probs < draft.sampling.top_p).sum().clamp(min=1))
    point = draft.random.random() * float(reached[n_kept - 1])
    at = int(torch.searchsorted(reached[:n_kept], torch.tensor(point, device=reached.device)))
    return int(order[min(at, n_kept - 1)])
