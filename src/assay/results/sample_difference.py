"""Why two runs score a sample differently: the first layer at which they diverge.

Layers follow a sample through a run: its row, the prompt, the tokens, the parameters, the output, the
extracted answer and the score. An early difference explains later ones, so only the first is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from assay.core.prompt import Message, Prompt, canonicalize_prompt
from assay.core.request import Span
from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Outcome, Output, Response
from assay.core.sample import Sample
from assay.core.score import Score
from assay.results.records import AskRecord, SampleRecord

_BEFORE = 40
_AFTER = 60


class Divergence(NamedTuple):
    """The first place at which two things differ."""

    where: str
    """A description such as `character 143`."""
    a: str
    b: str
    """The content of each at that place, quoted, with some text before it."""


def find_text_divergence(a: str, b: str) -> Divergence | None:
    """Return the first character, counted from 0, at which two texts differ; None if they are equal."""
    if a == b:
        return None
    # A binary search is fast even for very long texts.
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return Divergence(f"character {low:,}", _quote_around(a, low), _quote_around(b, low))


def _quote_around(text: str, place: int) -> str:
    start = max(0, place - _BEFORE)
    before = ("…" if start else "") + repr(text[start:place])[1:-1]
    after = repr(text[place : place + _AFTER])[1:-1] + ("…" if place + _AFTER < len(text) else "")
    return f"{before}⟪{after}⟫" if after else f"{before}⟪⟫ (end of text)"


def find_prompt_divergence(a: Prompt, b: Prompt) -> Divergence | None:
    """Return the first difference of two prompts: a character of the text or of a message."""
    if isinstance(a, str) and isinstance(b, str):
        return find_text_divergence(a, b)
    if isinstance(a, str) or isinstance(b, str):
        kinds = ["a text" if isinstance(one, str) else f"{len(one)} messages" for one in (a, b)]
        return Divergence("type of the prompt", *kinds)
    for nth, (one, other) in enumerate(zip(a, b, strict=False), 1):
        apart = _find_message_divergence(one, other)
        if apart is not None:
            return apart._replace(where=f"message {nth} ({other.role}), {apart.where}")
    if len(a) != len(b):
        return Divergence("number of messages", *(f"{len(one)}, last role {one[-1].role}" for one in (a, b)))
    return None


def _find_message_divergence(a: Message, b: Message) -> Divergence | None:
    if a.role != b.role:
        return Divergence("role", a.role, b.role)
    apart = find_text_divergence(a.display_text, b.display_text)
    if apart is None and a.content != b.content:
        return Divergence("number of content parts", *(f"{_count_parts(one)} parts" for one in (a, b)))
    return apart


def _count_parts(message: Message) -> int:
    return 1 if isinstance(message.content, str) else len(message.content)


TOLERANCE = 1e-4
"""Log-likelihoods per token and probabilities that differ by less count as equal."""
_SHOWN_CHARS = 120


class Layer(StrEnum):
    """The steps of a sample through a run."""

    ROW = "row"
    """The dataset's record: its fields, options and right answers."""
    PROMPT = "prompt"
    """The text sent to the model, and the part of it that is scored."""
    TOKENS = "tokens"
    """The tokens of the prompt."""
    PARAMETERS = "parameters"
    """Sampling, labels, windows, further turns."""
    OUTPUT = "output"
    """The model's output."""
    EXTRACTION = "extraction"
    """The extracted answer and its rule."""
    SCORE = "score"
    """The metric values."""


class LayerDifference(msgspec.Struct, frozen=True):
    """A difference between two runs at one layer."""

    layer: Layer
    where: str
    a: str
    b: str


class RunSample(msgspec.Struct, frozen=True):
    """A sample with its responses and scores in one run."""

    record: SampleRecord
    responses: Mapping[str, Response]
    """By request id."""
    scores: Mapping[str, Score]
    """By method."""

    @property
    def asks(self) -> dict[tuple[str, str, int], AskRecord]:
        """Return the asks by method, role and index."""
        return {(ask.track, ask.role, ask.index): ask for ask in self.record.asks}

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """Return the outcomes by request id."""
        return {id_: response.outcome for id_, response in self.responses.items()}


def find_first_difference(
    a: RunSample, b: RunSample, methods: Sequence[str], tolerance: float = TOLERANCE
) -> LayerDifference | None:
    """Return the first difference of a sample between two runs, for some methods; None if there is none."""
    # Nearly all samples are equal, which is cheap to check as a whole.
    if a.record == b.record and a.scores == b.scores and a.outcomes == b.outcomes:
        return None
    return next(iter_differences(a, b, methods, tolerance), None)


def iter_differences(
    a: RunSample, b: RunSample, methods: Sequence[str], tolerance: float = TOLERANCE
) -> Iterator[LayerDifference]:
    """Yield every difference of a sample, layer by layer."""
    yield from _build_differences(Layer.ROW, "", _rows(a.record.sample, b.record.sample))
    asks = a.asks, b.asks
    shared = [key for key in asks[0] if key[0] in methods and key in asks[1]]
    yield from _find_unshared_asks(asks, methods)
    for layer, compare in _LAYERS:
        for key in shared:
            pair = _AskPair(a, b, asks[0][key], asks[1][key], tolerance)
            yield from _build_differences(layer, f"{key[0]} {key[1]} {key[2]}: ", compare(pair))
    for method in methods:
        one, other = a.scores.get(method), b.scores.get(method)
        if one is not None and other is not None:
            yield from _build_differences(Layer.EXTRACTION, f"{method}: ", _extractions(one, other))
    for method in methods:
        one, other = a.scores.get(method), b.scores.get(method)
        yield from _build_differences(Layer.SCORE, f"{method}: ", _compare_scores(one, other, tolerance))


class _AskPair(msgspec.Struct, frozen=True):
    """One ask of both runs."""

    a: RunSample
    b: RunSample
    ask_a: AskRecord
    ask_b: AskRecord
    tolerance: float

    @property
    def outcomes(self) -> tuple[Outcome | None, Outcome | None]:
        one, other = self.a.responses.get(self.ask_a.id), self.b.responses.get(self.ask_b.id)
        return (None if one is None else one.outcome), (None if other is None else other.outcome)


def _build_differences(
    layer: Layer, prefix: str, differences: Iterator[Divergence]
) -> Iterator[LayerDifference]:
    for apart in differences:
        yield LayerDifference(layer, prefix + apart.where, apart.a, apart.b)


def _rows(a: Sample, b: Sample) -> Iterator[Divergence]:
    # Another dataset format may name columns differently; then only options and answers are comparable.
    if a.fields.keys() == b.fields.keys():
        for name in a.fields:
            yield from _values(f"field {name!r}", a.fields[name], b.fields[name])
    for name in ("choices", "labels", "gold", "targets"):
        yield from _values(name, list(getattr(a, name)), list(getattr(b, name)))


def _find_unshared_asks(
    asks: tuple[Mapping[tuple[str, str, int], AskRecord], ...], methods: Sequence[str]
) -> Iterator[LayerDifference]:
    for key in dict.fromkeys((*asks[0], *asks[1])):
        is_there = [key in one for one in asks]
        if key[0] in methods and not all(is_there):
            a, b = ("request sent" if there else "no request" for there in is_there)
            yield LayerDifference(Layer.PROMPT, f"{key[0]} {key[1]} {key[2]}", a, b)


def _prompts(pair: _AskPair) -> Iterator[Divergence]:
    asks = pair.a.record.ask(pair.ask_a), pair.b.record.ask(pair.ask_b)
    # Media are compared by content, not by path.
    apart = find_prompt_divergence(*(canonicalize_prompt(ask.prompt) for ask in asks))
    if apart is not None:
        yield apart
    elif isinstance(asks[0], Span) and isinstance(asks[1], Span) and asks[0].start != asks[1].start:
        starts = (f"scored from character {ask.start:,} on" for ask in asks if isinstance(ask, Span))
        yield Divergence("prompt/answer boundary", *starts)
    elif asks[0].kind is not asks[1].kind:
        yield Divergence("kind of request", asks[0].kind, asks[1].kind)


def _tokens(pair: _AskPair) -> Iterator[Divergence]:
    a, b = pair.outcomes
    if isinstance(a, Likelihood) and isinstance(b, Likelihood) and a.token_ids and b.token_ids:
        for nth, (one, other) in enumerate(zip(a.token_ids, b.token_ids, strict=False)):
            if one != other:
                yield Divergence(
                    f"scored token {nth}", *(_ids(ids, nth) for ids in (a.token_ids, b.token_ids))
                )
                return
        if len(a.token_ids) != len(b.token_ids):
            yield Divergence("scored tokens", *(f"{len(one.token_ids)}" for one in (a, b)))
            return
    if a is None or b is None or isinstance(a, Failure) or isinstance(b, Failure):
        return
    # A server that does not count tokens reports 0.
    if a.n_prompt_tokens and b.n_prompt_tokens and a.n_prompt_tokens != b.n_prompt_tokens:
        yield Divergence("prompt tokens", f"{a.n_prompt_tokens:,}", f"{b.n_prompt_tokens:,}")


def _ids(ids: Sequence[int], nth: int) -> str:
    return " ".join(f"[{id_}]" if at == nth else str(id_) for at, id_ in enumerate(ids) if abs(at - nth) < 4)


def _parameters(pair: _AskPair) -> Iterator[Divergence]:
    a, b = pair.ask_a, pair.ask_b
    if a.sampling is not None and b.sampling is not None:
        for name in a.sampling.__struct_fields__:
            yield from _values(name, getattr(a.sampling, name), getattr(b.sampling, name))
    for name in ("labels", "windows", "scores_first_token", "turns", "n_shots", "n_shots_left_out"):
        yield from _values(name, getattr(a, name), getattr(b, name))


def _outputs(pair: _AskPair) -> Iterator[Divergence]:
    a, b = pair.outcomes
    if isinstance(a, Completion) and isinstance(b, Completion):
        yield from _completions(a, b)
    elif isinstance(a, Likelihood) and isinstance(b, Likelihood):
        n_tokens = max(1, a.n_tokens, b.n_tokens)
        if abs(a.sum_logprob - b.sum_logprob) > pair.tolerance * n_tokens:
            yield Divergence("log-likelihood", *(_likelihood(one) for one in (a, b)))
    elif isinstance(a, LabelProbs) and isinstance(b, LabelProbs):
        for nth, (one, other) in enumerate(zip(a.probs, b.probs, strict=False)):
            if abs(one - other) > pair.tolerance:
                yield Divergence(f"probability of label {nth}", f"{one:.6f}", f"{other:.6f}")
                return
    elif a != b:
        yield Divergence("answer", _describe_outcome(a), _describe_outcome(b))


def _completions(a: Completion, b: Completion) -> Iterator[Divergence]:
    for nth, (one, other) in enumerate(zip(a.outputs, b.outputs, strict=False)):
        name = f"output {nth}, " if len(a.outputs) > 1 else ""
        texts: tuple[tuple[str, Callable[[Output], str]], ...] = (
            ("reasoning, ", lambda output: output.reasoning or ""),
            ("", lambda output: "\n".join(output.turns) or output.text),
        )
        for what, text in texts:
            apart = find_text_divergence(text(one), text(other))
            if apart is not None:
                yield apart._replace(where=f"{name}{what}{apart.where}")
                return
        yield from _values(f"{name}finish reason", str(one.finish), str(other.finish))
        yield from _values(f"{name}tool calls", one.calls, other.calls)
    if len(a.outputs) != len(b.outputs):
        yield Divergence("number of outputs", *(str(len(one.outputs)) for one in (a, b)))


def _likelihood(outcome: Likelihood) -> str:
    return f"{outcome.sum_logprob:.6f} over {outcome.n_tokens} tokens"


def _describe_outcome(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not stored"
    if isinstance(outcome, Failure):
        return f"failed: {outcome.kind}: {outcome.message}"[:_SHOWN_CHARS]
    return type(outcome).__name__


def _extractions(a: Score, b: Score) -> Iterator[Divergence]:
    for name in ("rule", "answer", "span"):
        yield from _values(name, getattr(a, name), getattr(b, name))


def _compare_scores(a: Score | None, b: Score | None, tolerance: float) -> Iterator[Divergence]:
    if a is None or b is None:
        if a is not b:
            yield Divergence("score", *("missing" if one is None else "present" for one in (a, b)))
        return
    for name in ("metric", "verdict", "target"):
        yield from _values(name, getattr(a, name), getattr(b, name))
    yield from _numbers(a.metric, a.value, b.value, tolerance)
    for name in (one for one in a.also if one in b.also):
        yield from _numbers(name, a.also[name], b.also[name], tolerance)


def _numbers(name: str, a: float | None, b: float | None, tolerance: float) -> Iterator[Divergence]:
    if a is None or b is None:
        yield from _values(name, a, b)
    elif not abs(a - b) <= tolerance and not (a != a and b != b):
        yield Divergence(name, f"{a:.6g}", f"{b:.6g}")


def _values(name: str, a: Any, b: Any) -> Iterator[Divergence]:
    if isinstance(a, str) and isinstance(b, str):
        apart = find_text_divergence(a, b)
        if apart is not None:
            yield (
                apart._replace(where=f"{name}, {apart.where}")
                if max(len(a), len(b)) > 40
                else Divergence(name, repr(a), repr(b))
            )
    elif a != b:
        yield Divergence(name, *(_shorten_value(one) for one in (a, b)))


def _shorten_value(value: Any) -> str:
    text = "none" if value is None else repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


_LAYERS: tuple[tuple[Layer, Callable[[_AskPair], Iterator[Divergence]]], ...] = (
    (Layer.PROMPT, _prompts),
    (Layer.TOKENS, _tokens),
    (Layer.PARAMETERS, _parameters),
    (Layer.OUTPUT, _outputs),
)
