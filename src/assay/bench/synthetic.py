"""Synthetic loads: prompts and responses of random lengths, with or without a shared prefix.

Prompts are natural text, or random tokens of the vocabulary, decoded. An item depends only on the
seed and its number, so a longer load starts like a shorter one; with shares, also on how many there
are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import Any, Literal, TypeAlias

import msgspec

from assay.bench.item_stream import InexactPrompts, WarmUp
from assay.bench.items import LoadItem
from assay.bench.lengths import LengthDistribution, describe_lengths
from assay.bench.texts import GeneratedText, TextGenerator
from assay.bench.tokenizer import Tokenizer
from assay.core.errors import Problem, UsageError
from assay.core.ids import make_random
from assay.core.prompt import Message, Prompt

PromptKind: TypeAlias = Literal["text", "token_ids"]
_TRIES = 12
_WARM_UP = 10_368_889
"""The first number of warm-up items, beyond those of any load. Not a round number: with one, the opening
would differ from those of the first items only in its last word."""


class SyntheticSpec(msgspec.Struct, frozen=True):
    """The specification of a synthetic load."""

    n: int
    input: LengthDistribution
    """Tokens of a prompt, including a shared prefix."""
    output: LengthDistribution | None = None
    """Maximum response lengths, in tokens. None: that of the run."""
    kind: PromptKind = "text"
    shared_prefix: int = 0
    """Tokens of the shared prefix of a group."""
    prefix_groups: int = 1
    """Number of different shared prefixes; items use them in turn."""
    vocab_size: int | None = None
    """Use only token ids below it. None: the whole vocabulary of the tokenizer."""
    seed: int = 0
    is_chat: bool = True
    """Whether a prompt is a user message; otherwise plain text."""

    def describes(self) -> dict[str, Any]:
        """Return the specification as plain values."""
        return {
            "source": "synthetic",
            "kind": self.kind,
            "n": self.n,
            "input": dict(describe_lengths(self.input)),
            "output": None if self.output is None else dict(describe_lengths(self.output)),
            "shared_prefix": self.shared_prefix,
            "prefix_groups": self.prefix_groups,
            "seed": self.seed,
        }


class SyntheticItemSource:
    """The items of a specification, generated during iteration."""

    def __init__(self, spec: SyntheticSpec, tokenizer: Tokenizer | None = None) -> None:
        _check(spec, has_tokenizer=tokenizer is not None)
        self._spec = spec
        self._maker: _Maker = (
            _RandomTokenTexts(spec, tokenizer)
            if spec.kind == "token_ids" and tokenizer is not None
            else _NaturalTexts(spec, tokenizer)
        )
        self._inexact = InexactPrompts()
        self._n_input = spec.input.draw(spec.n, spec.seed, "input")
        self._n_output = None if spec.output is None else spec.output.draw(spec.n, spec.seed, "output")

    def __iter__(self) -> Iterator[LoadItem]:
        return map(self.item, range(self._spec.n))

    def iter_forever(self) -> Iterator[LoadItem]:
        """Yield items with repeated lengths and new texts."""
        return map(self.item, count())

    def warmup(self, n: int) -> WarmUp:
        """Return separate items with the lengths of the first ones."""
        return WarmUp([self.item(_WARM_UP + at) for at in range(n)], are_measured=False)

    def list_notes(self, n_sent: int) -> Sequence[str]:
        """Return a note on inexact prompts."""
        return self._inexact.list_notes()

    def item(self, number: int) -> LoadItem:
        """Return an item; one beyond the last has the lengths of an earlier item and a new text."""
        lengths_of = number % self._spec.n
        n_tokens = self._n_input(lengths_of)
        made = self._maker.text(number, n_tokens)
        item = LoadItem(
            str(number),
            build_prompt(made.text, is_chat=self._spec.is_chat),
            max_tokens=None if self._n_output is None else self._n_output(lengths_of),
            n_prompt_tokens=made.n_tokens,
        )
        return self._inexact.check_item(item, n_tokens)


def build_prompt(text: str, *, is_chat: bool) -> Prompt:
    """Return a text as a user message, or unchanged."""
    return (Message("user", text),) if is_chat else text


def _check(spec: SyntheticSpec, *, has_tokenizer: bool) -> None:
    if spec.kind == "token_ids" and not has_tokenizer:
        what = "prompts of random token ids need a tokenizer, but none was given"
        raise UsageError(Problem("BENCH-021", what, "set --tokenizer FOLDER, or generate prompts as text"))
    if spec.n < 1 or spec.prefix_groups < 1 or spec.shared_prefix < 0:
        found = f"{spec.n} requests, {spec.prefix_groups} prefix groups, {spec.shared_prefix} shared tokens"
        what = f"found {found}; expected at least one request, at least one group, and no negative number"
        raise UsageError(Problem("BENCH-025", what, "correct the numbers"))
    if spec.shared_prefix > spec.input.shortest:
        what = (
            f"prompts share {spec.shared_prefix} tokens, but the shortest has {spec.input.shortest} in total;"
            " the shared prefix is part of the prompt"
        )
        raise UsageError(Problem("BENCH-025", what, "share fewer tokens, or make the shortest prompt longer"))


class _NaturalTexts:
    """Sentences."""

    def __init__(self, spec: SyntheticSpec, tokenizer: Tokenizer | None) -> None:
        self._spec = spec
        self._own = TextGenerator(spec.seed, "synthetic", tokenizer)
        self._shared = TextGenerator(spec.seed, "shared prefix", tokenizer)

    @cached_property
    def _prefixes(self) -> Sequence[str]:
        spec = self._spec
        if not spec.shared_prefix:
            return [""]
        return [self._shared.text(group, spec.shared_prefix).text for group in range(spec.prefix_groups)]

    def text(self, number: int, n_tokens: int) -> GeneratedText:
        """Return the text of an item."""
        return self._own.text(number, n_tokens, after=self._prefixes[number % len(self._prefixes)])


class _RandomTokenTexts:
    """Decoded tokens, drawn uniformly from the vocabulary without special tokens.

    Decoding and encoding again often changes the tokens and their number: neighbours may merge into one
    token, and some are parts of characters. Tokens are cut or added until the number is right.
    """

    def __init__(self, spec: SyntheticSpec, tokenizer: Tokenizer) -> None:
        self._spec = spec
        self._tokenizer = tokenizer
        self._ids = tokenizer.plain_ids(spec.vocab_size)
        if not self._ids:
            what = f"the tokenizer has no ordinary token below the vocabulary size {spec.vocab_size}"
            raise UsageError(Problem("BENCH-025", what, "correct the vocabulary size, or omit it"))

    @cached_property
    def _prefixes(self) -> Sequence[str]:
        spec = self._spec
        if not spec.shared_prefix:
            return [""]
        return [
            self._decode_tokens(f"prefix {group}", spec.shared_prefix, "").text
            for group in range(spec.prefix_groups)
        ]

    def text(self, number: int, n_tokens: int) -> GeneratedText:
        """Return the text of an item."""
        return self._decode_tokens(str(number), n_tokens, self._prefixes[number % len(self._prefixes)])

    def _decode_tokens(self, name: str, n_tokens: int, after: str) -> GeneratedText:
        made = make_random(self._spec.seed, "token ids", name)
        tokenizer = self._tokenizer
        n_own = n_tokens - (tokenizer.count(after) if after else 0)
        own = made.choices(self._ids, k=n_own) if n_own > 0 else []
        best: GeneratedText | None = None
        for _ in range(_TRIES):
            text = after + tokenizer.decode(own)
            n_found = tokenizer.count(text)
            if best is None or abs(n_found - n_tokens) < abs((best.n_tokens or 0) - n_tokens):
                best = GeneratedText(text, n_found)
            if n_found == n_tokens:
                break
            # Continue with the own part as it is encoded now, which changes less the next time.
            own = tokenizer.ids(text[len(after) :]) or own
            if n_found > n_tokens:
                own = own[: n_tokens - n_found]
            else:
                own = own + made.choices(self._ids, k=n_tokens - n_found)
        assert best is not None
        return best


_Maker: TypeAlias = _NaturalTexts | _RandomTokenTexts
