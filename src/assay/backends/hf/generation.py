"""Generation: one decode loop over rows that come and go, with the model's key-value cache.

Of the checkpoint's generation_config only the end tokens are used: temperature, top_p, penalties and the rest
come from the request. Each row has its own seeded random generator, so that its text does not depend on the
batch in which it is computed.
"""

from __future__ import annotations

import json
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay.backends.hf.batching import RunningBatch
from assay.backends.hf.device_timing import DeviceSpan
from assay.backends.hf.likelihood import send_to_device
from assay.backends.local.thoughts import Thought
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
    thought: Thought | None = None
    """Of a model that may think before it answers."""
    random: random.Random = field(default_factory=random.Random)
    ids: list[int] = field(default_factory=list)
    output: Output | None = None
    failure: tuple[str, str] | None = None
    """(kind, message) if it has failed."""
    seconds: float = 0.0
    """Its share of the time of all steps in which it took part."""

    @property
    def is_done(self) -> bool:
        """Return whether it needs no more tokens, or its thought must be ended first."""
        return self.output is not None or self.failure is not None or self.needs_answer

    @property
    def needs_answer(self) -> bool:
        """Return whether the budget of its thought is used up, so that the answer is generated separately."""
        is_used_up = self.thought is not None and self.thought.is_used_up
        return is_used_up and self.output is None and self.failure is None


def new_draft(
    prompt: tuple[int, ...],
    sampling: Sampling,
    room: int | None,
    key: str,
    number: int,
    stop_ids: tuple[tuple[int, ...], ...] = (),
    thought: Thought | None = None,
) -> Draft:
    """Return an empty draft. A budget for the thought is added to `max_tokens`."""
    max_new = sampling.max_tokens + (thought.budget or 0 if thought is not None else 0)
    max_new = max_new if room is None else min(max_new, room)
    return Draft(prompt, sampling, max_new, key, number, stop_ids, thought)


def begin_answer(draft: Draft) -> Draft:
    """Return a draft for the answer after a thought that Assay ends, because its budget is used up."""
    assert draft.thought is not None
    prompt = (*draft.prompt, *draft.ids, *draft.thought.forced_ids)
    max_new = min(draft.sampling.max_tokens, draft.max_new)
    # Another number, so that a sampled answer does not repeat the random numbers of its thought.
    return Draft(prompt, draft.sampling, max_new, draft.key, -1 - draft.number, draft.stop_ids)


def check_max_tokens(sampling: Sampling) -> Failure | None:
    """Return the failure of a request for no tokens."""
    if sampling.max_tokens >= 1:
        return None
    return Failure("max_tokens", "max_tokens is below 1, so nothing can be generated")


def stop_length(ids: Sequence[int], stop_ids: Sequence[Sequence[int]]) -> int:
    """Return the length of the longest stop sequence at the end of a text; 0 if there is none."""
    return max((len(stop) for stop in stop_ids if tuple(ids[-len(stop) :]) == tuple(stop)), default=0)


def find_added_chars(tokenizer: Any) -> str | None:
    """Return the characters that a token may add to a text besides those of its own text.

    None if a token may change the text before it in other ways than by completing a character.
    """
    if tokenizer.decoder is None:
        return None
    decoder = json.loads(tokenizer.decoder.__getstate__())
    parts = decoder.get("decoders", [decoder])
    if [part["type"] for part in parts] == ["ByteLevel"]:
        return ""
    # The parts with which Llama's and its relatives' tokenizers write a space for its symbol. A space at the
    # beginning of a text is removed, so that a token alone does not show it.
    spaces = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}]
    spaces += [{"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    is_spaced = all(part in spaces or part["type"] == "Metaspace" for part in parts)
    return " " if is_spaced else None


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
        self._added_chars = find_added_chars(tokenizer.backend_tokenizer)
        self._completing: dict[tuple[str, ...], dict[int, bool]] = {}
        """For stop strings: whether a token may complete one of them, in whatever text it follows."""

    def special_ids(self, stops: Sequence[str]) -> frozenset[int]:
        """Return the special tokens among stop strings: they leave no text."""
        return frozenset(self._special[stop] for stop in stops if stop in self._special)

    def check(self, draft: Draft) -> None:
        """Set a draft's output if its newest token ended it."""
        if self._is_in_thought(draft):
            return
        newest, stops = draft.ids[-1], () if draft.stop_ids else draft.sampling.stop
        if newest in self.end_ids:
            self.finish(draft, Finish.END)
            return
        if n_stop := stop_length(draft.ids, draft.stop_ids):
            self.finish(draft, Finish.STOP, self._answer(draft, len(draft.ids) - n_stop))
            return
        if stops and self._may_complete(newest, stops):
            is_stop = newest in self.special_ids(stops)
            if is_stop or self._may_stop(draft.ids, stops):
                text = self._answer(draft, len(draft.ids))
                cuts = [at for stop in stops if (at := text.find(stop)) >= 0]
                if is_stop:
                    # A special token leaves no text in which the stop string could be found.
                    cuts.append(len(text))
                if cuts:
                    self.finish(draft, Finish.STOP, text[: min(cuts)])
                    return
        if len(draft.ids) >= _find_limit(draft):
            self.finish(draft, Finish.LENGTH)

    def finish(self, draft: Draft, finish: Finish, text: str | None = None) -> None:
        """Set a draft's output: this text, or all of its answer, and its thought apart from it."""
        n_tokens, thought = len(draft.ids), draft.thought
        if thought is None:
            draft.output = Output(self.text(draft.ids) if text is None else text, finish, n_tokens)
            return
        is_cut = thought.answer_at is None and thought.is_entered
        n_thinking = n_tokens if is_cut else thought.answer_at or 0
        n_read = n_thinking - (is_cut and finish is Finish.END)
        reasoning = thought.read(self._decode_all(draft.ids[:n_read]))
        if text is None:
            text = "" if is_cut else self._answer(draft, n_tokens)
        draft.output = Output(
            text, finish, n_tokens, reasoning, n_thinking_tokens=n_thinking if reasoning else 0
        )

    def take_answer(self, draft: Draft, answer: Draft) -> None:
        """Complete a draft with the answer that was generated after the end of its thought."""
        assert draft.thought is not None
        draft.seconds += answer.seconds
        draft.failure = answer.failure
        if answer.output is not None:
            thought = draft.thought
            draft.output = Output(
                answer.output.text.lstrip(),
                answer.output.finish,
                len(draft.ids) + len(thought.forced_ids) + answer.output.n_tokens,
                thought.read(self._decode_all(draft.ids)),
                n_thinking_tokens=len(draft.ids),
            )

    def _is_in_thought(self, draft: Draft) -> bool:
        """Return whether the newest token belongs to a thought; complete a draft that ends inside it."""
        thought = draft.thought
        if thought is None or thought.has_ended():
            return False
        if thought.follow(draft.ids, self.end_ids, self._decode_all):
            self.finish(draft, Finish.END)
        elif thought.has_ended():
            return False
        elif not thought.is_used_up and len(draft.ids) >= draft.max_new:
            self.finish(draft, Finish.LENGTH)
        return True

    def _answer(self, draft: Draft, n: int) -> str:
        """Return the answer in the first tokens of a draft, without the white space after its thought."""
        thought = draft.thought
        if thought is None or not thought.answer_at:
            return self.text(draft.ids[:n])
        return (thought.head + self.text(draft.ids[thought.answer_at : n])).lstrip()

    def _decode_all(self, ids: Sequence[int]) -> str:
        text: str = self._decode(ids, skip_special_tokens=False)
        return text

    def _may_complete(self, token: int, stops: tuple[str, ...]) -> bool:
        """Return whether a token may complete a stop string, by the token's own characters only.

        Remembered for every token, because most tokens of most texts cannot: nothing is decoded for them.
        """
        known = self._completing.setdefault(stops, {})
        if (answer := known.get(token)) is None:
            answer = known[token] = self._has_last_character(token, stops)
        return answer

    def _has_last_character(self, token: int, stops: tuple[str, ...]) -> bool:
        text = self.text([token])
        if self._added_chars is None or UNREADABLE in text or UNREADABLE in "".join(stops):
            return True  # What such a token adds depends on the tokens before it.
        added = set(text + self._added_chars)
        return token in self.special_ids(stops) or any(not stop or stop[-1] in added for stop in stops)

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


def _find_limit(draft: Draft) -> int:
    """Return how many tokens a draft may have, once its answer has begun."""
    thought = draft.thought
    if thought is None or thought.budget is None:
        return draft.max_new
    return min(draft.max_new, (thought.answer_at or 0) + draft.sampling.max_tokens)


class Feeder(Protocol):
    """A model that reads rows of tokens step by step and caches them."""

    joins: bool
    """Whether rows can join others; if not, new rows begin when all others have ended."""

    def join(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """Read prompts into new rows after the existing ones; return the next-token logits of each, in fp32.

        Equal prompts are read once.
        """

    def step(self, tokens: Any) -> Any:
        """Read one more token in each row, given on the device; return the next-token logits.

        The logits may be overwritten by the next step.
        """

    def select(self, rows: Sequence[int]) -> None:
        """Continue with some of the rows in this order, or none."""


class DecodeLoop:
    """Completes the drafts of a batch; waiting drafts take the places of finished ones."""

    def __init__(
        self,
        feeder: Feeder,
        ending: EndDetector,
        batch: RunningBatch[Draft],
        *,
        n_ahead: int,
        device: Any,
        on_device_time: Callable[[float], None],
    ) -> None:
        """With `n_ahead`, so many steps are sent to the device before the result of the first is read.

        So a GPU does not wait for the host. A finished text is noticed so many steps late, and the tokens
        computed for it since are dropped. `on_device_time` gets the seconds that the device needed for each
        step.
        """
        self._feeder = feeder
        self._ending = ending
        self._batch = batch
        self._n_ahead = n_ahead
        self._device = device
        self._on_device_time = on_device_time
        self._newest: Any = None
        """The newest token of each running draft, on the device."""
        self._sent: deque[_SentTokens] = deque()
        self.n_dropped = 0
        """Tokens that were computed after a text had ended."""

    def run(self) -> Iterator[list[Draft]]:
        """Complete the drafts; yield them as they finish."""
        while self._batch.running or self._batch.waiting:
            if done := self._run_step():
                yield done
        self.n_dropped += sum(len(sent.drafts) for sent in self._sent)

    def _run_step(self) -> list[Draft]:
        """Let drafts join, or generate one more token in each row; return the drafts known to be finished."""
        import torch

        began = time.perf_counter()
        # Not around the whole loop: the consumer of the drafts would then run in this mode too.
        with torch.inference_mode():
            rows = self._send_step()
            done: list[Draft] = []
            while len(self._sent) > self._n_ahead:
                done += self._read_tokens(self._sent.popleft())
            if done:
                self._dismiss(done)
        seconds = time.perf_counter() - began
        for draft in rows:
            draft.seconds += seconds / len(rows)
        return done

    def _send_step(self) -> list[Draft]:
        """Send one step to the device; return the drafts that get a token by it."""
        import torch

        batch, span = self._batch, DeviceSpan(self._device)
        fresh = batch.admit() if self._feeder.joins or not batch.running else []
        rows = fresh or list(batch.running)
        if fresh:
            for draft in fresh:
                reset_draft(draft)
            chosen = choose_tokens(self._feeder.join([draft.prompt for draft in fresh]), fresh)
            is_first = len(fresh) == len(batch.running)
            self._newest = chosen if is_first else torch.cat([self._newest, chosen])
        else:
            # Whatever a row with broken logits reads, its failure is already decided.
            self._newest = chosen = choose_tokens(self._feeder.step(self._newest.clamp(min=0)), rows)
        self._sent.append(_SentTokens(rows, chosen, span))
        return rows

    def _read_tokens(self, sent: _SentTokens) -> list[Draft]:
        """Add tokens to their drafts; return the drafts that are now finished."""
        chosen, seconds = sent.read()
        self._on_device_time(seconds)
        tokens = [
            (draft, token) for draft, token in zip(sent.drafts, chosen, strict=True) if not draft.is_done
        ]
        self.n_dropped += len(sent.drafts) - len(tokens)
        for draft, token in tokens:
            if token < 0:
                draft.failure = ("not_finite", "the model's logits are not finite numbers")
            else:
                draft.ids.append(token)
                self._ending.check(draft)
        return [draft for draft, _ in tokens if draft.is_done]

    def _dismiss(self, done: Sequence[Draft]) -> None:
        import torch

        left = self._batch.dismiss(done)
        self._feeder.select(left)
        self._newest = self._newest[send_to_device(torch.tensor(left, dtype=torch.long), self._newest.device)]


class _SentTokens:
    """The tokens that a step chooses, on their way from the device."""

    def __init__(self, drafts: Sequence[Draft], chosen: Any, span: DeviceSpan) -> None:
        """Begin to copy them; a GPU may still be computing them. `span` began with the step."""
        self.drafts = drafts
        self._chosen = chosen.to("cpu", non_blocking=True)
        self._span = span
        span.end()

    def read(self) -> tuple[list[int], float]:
        """Return the tokens, and how many seconds the device needed for them; waits for the device."""
        seconds = self._span.wait()
        return self._chosen.tolist(), seconds


def reset_draft(draft: Draft) -> None:
    """Reset a draft: after memory ran out, it is generated again, with the same random numbers."""
    draft.ids.clear()
    draft.output = draft.failure = None
    if draft.thought is not None:
        draft.thought.reset()
    draft.random = make_random(draft.sampling.seed or 0, draft.key, str(draft.number))


def choose_tokens(logits: Any, rows: Sequence[Draft]) -> Any:
    """Return each row's next token, on the device: its first choice, or a sample; -1 if not finite."""
    import torch

    highest, chosen = logits.max(dim=-1)
    for narrows in (False, True):
        sampled = [
            row
            for row, draft in enumerate(rows)
            if draft.sampling.temperature > 0 and (draft.sampling.top_p < 1) == narrows
        ]
        if sampled:
            index = send_to_device(torch.tensor(sampled), logits.device)
            chosen[index] = _sample_tokens(logits[index], [rows[row] for row in sampled], narrows=narrows)
    return torch.where(highest.isfinite(), chosen, -1)


def _sample_tokens(logits: Any, drafts: Sequence[Draft], *, narrows: bool) -> Any:
    """Sample a token for each row: temperature first, then the smallest set of tokens that reaches top_p.

    Each token gets its own random number, and the maximum of logit and random number together is taken
    (Gumbel max), which samples each token with its probability. Sampling along the sorted probabilities
    would do so too, but there the last digits of fp32, which depend on the batch, decide the order of two
    near equals.
    """
    import torch

    # Drawn on the CPU wherever the model is, so that a GPU gets the same numbers.
    noise = torch.empty(logits.shape)
    for row, draft in zip(noise, drafts, strict=True):
        row.exponential_(generator=torch.Generator().manual_seed(draft.random.getrandbits(63)))
    settings = [(draft.sampling.temperature, draft.sampling.top_p) for draft in drafts]
    temperature, top_p = send_to_device(torch.tensor(settings).t().contiguous(), logits.device)[..., None]
    scaled = logits / temperature
    scores = scaled - send_to_device(noise, logits.device).log()
    if not narrows:
        return scores.argmax(dim=-1)
    probs, order = torch.softmax(scaled, dim=-1).sort(dim=-1, descending=True, stable=True)
    n_kept = (probs.cumsum(dim=-1) - probs < top_p).sum(dim=-1, keepdim=True).clamp(min=1)
    is_dropped = torch.arange(logits.shape[-1], device=logits.device) >= n_kept
    best = scores.gather(-1, order).masked_fill(is_dropped, -torch.inf).argmax(dim=-1, keepdim=True)
    return order.gather(-1, best)[:, 0]
