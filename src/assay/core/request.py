"""What is asked of a model.

A request is an address (which sample, which track, which option) and an ask (the content). Two
requests with equal asks have equal answers, so the ask alone is what the cache and the engine
compare.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, TypeAlias

import msgspec

from assay.core.ids import digest
from assay.core.prompt import Prompt, canonicalize_prompt


class Kind(StrEnum):
    """The three things a model can be asked for."""

    SPAN = "span"
    LABELS = "labels"
    GENERATE = "generate"


WindowScheme: TypeAlias = Literal["classic", "hf-stride", "gptq"]


class Windows(msgspec.Struct, frozen=True, omit_defaults=True):
    """How to split a text longer than the model's context; docs/how-it-works/concepts.md compares them."""

    scheme: WindowScheme
    length: int | None = None
    """Tokens of a window. None: the model's context length; for `gptq` 2048 where the context allows it."""
    stride: int | None = None
    """`hf-stride` alone: tokens from the beginning of one window to the next. None: 512, or the length."""


class Span(msgspec.Struct, frozen=True, tag="span", omit_defaults=True):
    """How likely is the final text from `start` on, given everything before it?"""

    prompt: Prompt
    start: int
    """Character offset into the prompt's final text; 0 scores all of that text."""
    leads: bool = True
    """With nothing before the first token, condition it on the model's first special token. When
    False, that token is left unscored, as systems do that average over a whole bare text."""
    windows: Windows | None = None
    """Score a whole plain text window by window, however long it is; the scheme says what leads."""

    kind = Kind.SPAN

    def __post_init__(self) -> None:
        if self.windows is not None and (self.start or not isinstance(self.prompt, str)):
            raise ValueError("windows score the whole of a plain text: start must be 0, the prompt a text")


class Labels(msgspec.Struct, frozen=True, tag="labels"):
    """How is the next token's probability shared between these labels?"""

    prompt: Prompt
    labels: tuple[tuple[str, ...], ...]
    """For each label the spellings that mean it, such as `(" A", "A")`; their probabilities add up."""

    kind = Kind.LABELS


class Sampling(msgspec.Struct, frozen=True):
    """How text is generated. Temperature 0 is greedy."""

    max_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    seed: int | None = None
    n: int = 1
    server: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    """Further parameters by the names of the server that they were written for, such as `top_k`; only a model
    whose card has `takes_parameters` is given any. Left out of stored asks and their keys where unset."""


class Generate(msgspec.Struct, frozen=True, tag="generate", omit_defaults=True):
    """What does the model write after this prompt?"""

    prompt: Prompt
    sampling: Sampling
    turns: tuple[str, ...] = ()
    """What the user says afterwards, each once the model has answered what stands before it."""
    stop_ids: tuple[tuple[int, ...], ...] = ()
    """Token sequences that end the text. They replace `sampling.stop` in models that stop at tokens."""

    kind = Kind.GENERATE

    def __post_init__(self) -> None:
        if self.turns and self.sampling.n > 1:
            raise ValueError("a conversation has one answer to each turn: ask n times instead")


Ask: TypeAlias = Span | Labels | Generate


def canonicalize_ask(ask: Ask) -> Ask:
    """Return an ask as it decides an answer: its media by what is in them, wherever they lie."""
    prompt = canonicalize_prompt(ask.prompt)
    return ask if prompt is ask.prompt else msgspec.structs.replace(ask, prompt=prompt)


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One ask with its address."""

    id: str
    """Unique in a run: `task/sample/track/role/index`."""
    task: str
    sample_id: str
    track: str
    """The method this request serves: `ppl`, `prob` or `gen`."""
    role: str
    """What the answer is used for: `option`, `unconditional`, `labels`, `answer`."""
    index: int
    """Which option, or which repeat."""
    ask: Ask
    n_shots: int = 0
    """Solved examples that the prompt shows."""
    n_shots_left_out: int = 0
    """Examples that the prompt would show as well, if the model could read so much."""
    examples: tuple[int, int] | None = None
    """Where in the final text the solved examples begin and end, where the dialect says so."""
    key: str = ""
    """Hash of what is asked, filled in by itself; a sampled repeat is an ask of its own."""

    def __post_init__(self) -> None:
        if not self.key:
            ask = self.ask
            is_sampled = isinstance(ask, Generate) and ask.sampling.temperature > 0
            if not isinstance(ask.prompt, str):
                ask = canonicalize_ask(ask)
            asked = (ask, self.index) if is_sampled else ask
            msgspec.structs.force_setattr(self, "key", digest(asked, size=16))


def make_request(
    task: str,
    sample_id: str,
    track: str,
    role: str,
    index: int,
    ask: Ask,
    n_shots: int = 0,
    n_shots_left_out: int = 0,
    examples: tuple[int, int] | None = None,
) -> Request:
    """Make a request whose id says where it belongs."""
    id_ = f"{task}/{sample_id}/{track}/{role}/{index}"
    return Request(id_, task, sample_id, track, role, index, ask, n_shots, n_shots_left_out, examples)
