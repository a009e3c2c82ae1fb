"""The lines of samples.jsonl: one per sample.

Each has the record as it was read and every ask as it was rendered, so that reports, explanations and
rescoring never need the dataset's file again. The options of a sample share one context, stored once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from assay.core.prompt import Prompt, final_text, find_media, replace_final_text, strip_media_data
from assay.core.request import Ask, Generate, Kind, Labels, Request, Sampling, Span, Windows
from assay.core.sample import Sample

_LEAST = 256
"""Shorter texts are stored unchanged."""
_BASE64 = re.compile(rf"[A-Za-z0-9+/]{{{_LEAST},}}={{0,2}}")


def strip_media(value: Any) -> Any:
    """Replace long base64 texts and bytes in a value by their length and hash."""
    if isinstance(value, str):
        return _BASE64.sub(lambda match: _describe_bytes(match[0].encode(), "characters of base64"), value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _describe_bytes(bytes(value), "bytes")
    if isinstance(value, dict):
        return {key: strip_media(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [strip_media(one) for one in value]
    return value


def _describe_bytes(content: bytes, unit: str) -> str:
    return f"[{len(content):,} {unit}, sha256 {hashlib.sha256(content).hexdigest()[:16]}]"


class AskRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One ask of a sample."""

    id: str
    track: str
    role: str
    index: int
    kind: Kind
    context: int
    """Index into the sample's contexts."""
    text: str = ""
    """SPAN: the scored text, which follows the context."""
    scores_first_token: bool = msgspec.field(default=True, name="leads")
    """SPAN: see `Span.scores_first_token`."""
    windows: Windows | None = None
    """SPAN: how the text is split into windows."""
    labels: tuple[tuple[str, ...], ...] = ()
    sampling: Sampling | None = None
    turns: tuple[str, ...] = ()
    """GENERATE: the user's turns after the first answer."""
    n_shots: int = 0
    """Solved examples in the context."""
    n_shots_left_out: int = 0
    """Examples that did not fit into the model's context."""
    examples: tuple[int, int] | None = None
    """Start and end of the examples in the context and the text after it, if known."""


class SampleRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One sample with all its asks."""

    task: str
    sample: Sample
    contexts: tuple[Prompt, ...]
    asks: tuple[AskRecord, ...]

    def ask(self, record: AskRecord) -> Ask:
        """Return the ask exactly as the model received it."""
        context = self.contexts[record.context]
        if record.kind is Kind.SPAN:
            before = final_text(context)
            whole = replace_final_text(context, before + record.text)
            return Span(whole, len(before), record.scores_first_token, record.windows)
        if record.kind is Kind.LABELS:
            return Labels(context, record.labels)
        return Generate(context, record.sampling or Sampling(), record.turns)


def build_sample_record(task: str, sample: Sample, requests: Sequence[Request]) -> SampleRecord:
    """Return the stored form of a sample and its requests."""
    contexts: dict[Prompt, int] = {}
    asks: list[AskRecord] = []
    for request in requests:
        ask = request.ask
        context, text, scores_first, windows = ask.prompt, "", True, None
        labels: tuple[tuple[str, ...], ...] = ()
        sampling: Sampling | None = None
        turns: tuple[str, ...] = ()
        if isinstance(ask, Span):
            whole = final_text(ask.prompt)
            context, text = replace_final_text(ask.prompt, whole[: ask.start]), whole[ask.start :]
            scores_first, windows = ask.scores_first_token, ask.windows
        elif isinstance(ask, Labels):
            labels = ask.labels
        else:
            sampling, turns = ask.sampling, ask.turns
        asks.append(
            AskRecord(
                request.id,
                request.track,
                request.role,
                request.index,
                ask.kind,
                contexts.setdefault(strip_media_data(context), len(contexts)),
                text,
                scores_first,
                windows,
                labels,
                sampling,
                turns,
                request.n_shots,
                request.n_shots_left_out,
                request.examples,
            )
        )
    if any(map(find_media, contexts)):
        sample = msgspec.structs.replace(sample, fields=strip_media(sample.fields))
    return SampleRecord(task, sample, tuple(contexts), tuple(asks))
