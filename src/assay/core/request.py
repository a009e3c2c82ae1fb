"""Requests to a model.

A request has an address (sample, track, option) and an ask (the content). Two requests with equal asks have
equal answers, so the cache and the engine compare only asks.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, TypeAlias

import msgspec

from assay.core.ids import digest
from assay.core.method import Method
from assay.core.prompt import Prompt, canonicalize_prompt


class Kind(StrEnum):
    """The three kinds of ask."""

    SPAN = "span"
    LABELS = "labels"
    GENERATE = "generate"


METHOD_KINDS = {Method.PPL: Kind.SPAN, Method.PROB: Kind.LABELS, Method.GEN: Kind.GENERATE}
"""The kind of ask that each method makes."""
METHOD_BY_KIND = {kind: method for method, kind in METHOD_KINDS.items()}

WindowScheme: TypeAlias = Literal["classic", "hf-stride", "gptq"]


class Windows(msgspec.Struct, frozen=True, omit_defaults=True):
    """How to split a text longer than the model's context; docs/how-it-works/concepts.md compares them."""

    scheme: WindowScheme
    length: int | None = None
    """Tokens per window. None: the model's context length; for `gptq` 2048 if the context allows it."""
    stride: int | None = None
    """Only for `hf-stride`: tokens from the start of one window to the next. None: 512, or the length."""


class Span(msgspec.Struct, frozen=True, tag="span", omit_defaults=True):
    """Ask for the likelihood of the final text from `start` on, given everything before it."""

    prompt: Prompt
    start: int
    """Character offset into the prompt's final text; 0 scores the whole text."""
    scores_first_token: bool = msgspec.field(default=True, name="leads")
    """Condition the first token on the model's first special token if nothing precedes it. If False, that
    token is not scored, as in systems that average over a whole bare text."""
    windows: Windows | None = None
    """Score a whole plain text of any length in windows; the scheme defines what precedes each token."""
    scores_white_space: bool = False
    """Also score the white space before `start`, such as the line break with which a chat template begins a
    reply. Local models do this; servers write the template themselves."""

    kind = Kind.SPAN

    def __post_init__(self) -> None:
        if self.windows is not None and (self.start or not isinstance(self.prompt, str)):
            raise ValueError(
                "windows score a whole plain text: start must be 0 and the prompt must be a text"
            )


class Labels(msgspec.Struct, frozen=True, tag="labels"):
    """Ask for the probability of each of these labels as the next token."""

    prompt: Prompt
    labels: tuple[tuple[str, ...], ...]
    """The spellings of each label, such as `(" A", "A")`; their probabilities are added."""

    kind = Kind.LABELS


class Sampling(msgspec.Struct, frozen=True):
    """Sampling parameters. Temperature 0 is greedy."""

    max_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    seed: int | None = None
    n: int = 1
    server: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    """Further parameters under the names of the server they were written for, such as `top_k`. Only sent to a
    model whose card has `takes_parameters`. Omitted from stored asks and their keys if unset."""


class Generate(msgspec.Struct, frozen=True, tag="generate", omit_defaults=True):
    """Ask for the text that the model writes after this prompt."""

    prompt: Prompt
    sampling: Sampling
    turns: tuple[str, ...] = ()
    """The user's following turns, each sent after the model has answered the previous one."""
    stop_ids: tuple[tuple[int, ...], ...] = ()
    """Token sequences that end the text. They replace `sampling.stop` for models that stop at tokens."""

    kind = Kind.GENERATE

    def __post_init__(self) -> None:
        if self.turns and self.sampling.n > 1:
            raise ValueError("a conversation has one answer per turn: send n requests instead")


Ask: TypeAlias = Span | Labels | Generate


def canonicalize_ask(ask: Ask) -> Ask:
    """Return the form of an ask that determines the answer: media by content, not by location."""
    prompt = canonicalize_prompt(ask.prompt)
    return ask if prompt is ask.prompt else msgspec.structs.replace(ask, prompt=prompt)


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One ask with its address."""

    id: str
    """Unique in a run: `task/sample/track/role/index`."""
    task: str
    sample_id: str
    track: str
    """The `Method` this request serves, or `judge`."""
    role: str
    """What the answer is used for: `option`, `unconditional`, `labels`, `answer`."""
    index: int
    """Which option, or which repeat."""
    ask: Ask
    n_shots: int = 0
    """Number of solved examples in the prompt."""
    n_shots_left_out: int = 0
    """Number of examples omitted because they do not fit into the model's context."""
    examples: tuple[int, int] | None = None
    """Start and end of the solved examples in the final text, if the dialect reports them."""
    key: str = ""
    """Hash of the ask, computed automatically; each sampled repeat has its own."""

    def __post_init__(self) -> None:
        if not self.key:
            ask = self.ask
            is_sampled = isinstance(ask, Generate) and ask.sampling.temperature > 0
            if not isinstance(ask.prompt, str):
                ask = canonicalize_ask(ask)
            content = (ask, self.index) if is_sampled else ask
            msgspec.structs.force_setattr(self, "key", digest(content, size=16))


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
    """Create a request with an id made from its address."""
    id_ = f"{task}/{sample_id}/{track}/{role}/{index}"
    return Request(id_, task, sample_id, track, role, index, ask, n_shots, n_shots_left_out, examples)
