"""Tokenization: the only place where requests become token ids.

- The whole text is encoded once, with offsets. Tokens whose characters end after the prompt/answer boundary
  are scored. A token that straddles it is scored whole and flagged. Context and continuation are never
  encoded separately.
- A chat template writes its own special tokens, so none are added to its text. Other text gets what the
  tokenizer itself adds in front (its BOS) exactly once, and nothing at the end.
- If no token precedes the first scored token, it is conditioned on the model's BOS, else on its EOS.
- A text that is scored in windows is also encoded as a whole, and then split.

Knows no models and no batches; only the model's context length.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.backends.hf.piece_names import format_piece_name
from assay.backends.local.chat_prompts import RenderedPrompt, Renderer, TemplateTrouble
from assay.backends.local.label_spellings import (
    EncodedLabels,
    LabelledEnding,
    Spellings,
    find_spellings,
)
from assay.backends.local.rolling_windows import (
    TextLength,
    Window,
    WindowTrouble,
    cut_windows,
    find_token_starts,
    measure_scored_text,
)
from assay.backends.local.text_encoding import EncodedText, TextEncoder
from assay.backends.problems import argument_error
from assay.core.model import Token
from assay.core.prompt import Prompt
from assay.core.request import Ask, Generate, Labels, Span, Windows
from assay.core.response import Failure


@dataclass(frozen=True, slots=True)
class EncodedSpan:
    """A text as the model reads it, and which of its tokens are scored."""

    ids: tuple[int, ...]
    first_scored: int
    """Index of the first scored token; all after it are scored too."""
    straddles: bool = False
    """Whether the first scored token begins before the boundary."""
    n_chars: int = 0
    n_bytes: int = 0
    """Length of the scored text without surrounding white space."""
    starts: tuple[int, ...] = ()
    """Start of each scored token, in characters from the boundary on; empty: unknown."""

    @property
    def n_tokens(self) -> int:
        """Return how much of the context it needs."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class EncodedWindows:
    """A whole text as the model reads it, window by window."""

    ids: tuple[int, ...]
    windows: tuple[Window, ...]
    length: TextLength
    """Of the scored text, including white space."""
    starts: tuple[int, ...] = ()
    """Start of each scored token; empty if windows skip tokens between them or at the end."""

    @property
    def n_tokens(self) -> int:
        """Return how much of the context it needs: its longest window's input."""
        return max(window.end - window.begin - 1 for window in self.windows)

    @property
    def n_prompt_tokens(self) -> int:
        """Return how many tokens serve as context, over all windows."""
        return sum(window.first_scored - window.begin for window in self.windows)

    @property
    def n_scored(self) -> int:
        """Return how many tokens are scored."""
        return sum(window.end - window.first_scored for window in self.windows)


class Tokenization:
    """Encodes requests with one tokenizer (a fast tokenizer of transformers)."""

    def __init__(
        self,
        tokenizer: Any,
        context_length: int | None = None,
        *,
        in_parts: bool = False,
        template_variables: Mapping[str, Any] | None = None,
        adds_bos: bool | None = None,
        n_thinking: int = 0,
    ) -> None:
        """Take a tokenizer, and variables of its chat template.

        `adds_bos`: whether every text begins with the BOS token; None: as the tokenizer decides.
        `n_thinking`: the tokens that each thought may need.
        """
        self._tokenizer = tokenizer
        self._context_length = context_length
        self._backend = tokenizer.backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()
        _keep_whole_offsets(self._backend)
        self._encoder = TextEncoder(self._backend)
        self._spellings: Mapping[LabelledEnding, Spellings | Failure] = {}
        self._renderer = Renderer(tokenizer, in_parts=in_parts, variables=template_variables)
        self._leads_conversations = bool(adds_bos)
        self._n_thinking = n_thinking
        self.lead: tuple[int, ...] = _find_leading_ids(self._backend)
        """The ids that the tokenizer itself adds before a text: its BOS, or nothing."""
        if adds_bos is False:
            self.lead = ()
        elif adds_bos and not self.lead:
            self.lead = (_require_bos(tokenizer),)
        prefix = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        self.prefix: int | None = prefix
        """The id that replaces an empty context."""

    # --- requests to ids ---

    def spans(self, asks: Sequence[Span]) -> list[EncodedSpan | EncodedWindows | Failure]:
        """Encode SPAN requests."""
        rendered = [self._render_prompt(ask.prompt, is_scored=True) for ask in asks]
        encoded = self._encoder.encode(r.text for r in rendered if isinstance(r, RenderedPrompt))
        return [
            r if isinstance(r, Failure) else self._span(encoded, ask, r)
            for ask, r in zip(asks, rendered, strict=True)
        ]

    def prompts(self, prompts: Sequence[Prompt]) -> list[tuple[int, ...] | Failure]:
        """Encode prompts for generation."""
        rendered = [self._render_prompt(prompt) for prompt in prompts]
        encoded = self._encoder.encode(r.text for r in rendered if isinstance(r, RenderedPrompt))
        return [r if isinstance(r, Failure) else self._context(encoded, r) for r in rendered]

    def labels(self, asks: Sequence[Labels]) -> list[EncodedLabels | Failure]:
        """Encode LABELS requests: the context, and the context followed by each spelling.

        A spelling changes only the tokens of the context's end, and many contexts end alike: `Answer:`.
        """
        rendered = [self._render_before_labels(ask.prompt) for ask in asks]
        contexts = self._encoder.encode(
            (r.text for r in rendered if isinstance(r, RenderedPrompt)), splits_end=True
        )
        endings = [
            r if isinstance(r, Failure) else _find_ending(contexts[r.text], ask, r)
            for ask, r in zip(asks, rendered, strict=True)
        ]
        known = self._learn_spellings(one for one in endings if isinstance(one, LabelledEnding))
        return [
            self._labels(contexts, r, ending, known[ending]) if isinstance(ending, LabelledEnding) else ending
            for r, ending in zip(rendered, endings, strict=True)
        ]

    def n_tokens(self, ask: Ask) -> int | None:
        """Return how much of the context a request needs; None if it cannot be encoded."""
        if isinstance(ask, Generate):
            prompt = self.prompts([ask.prompt])[0]
            if isinstance(prompt, Failure):
                return None
            return len(prompt) + self._n_thinking + ask.sampling.max_tokens
        encoded = self.spans([ask])[0] if isinstance(ask, Span) else self.labels([ask])[0]
        return None if isinstance(encoded, Failure) else encoded.n_tokens

    # --- for people ---

    def notes(self) -> tuple[str, ...]:
        """Return a note if the template has no system role."""
        if not self._renderer.has_moved_system:
            return ()
        return ("the model's chat template has no system role: Assay merges system messages into the user's",)

    def tokens(self, ask: Ask) -> list[Token]:
        """Return the tokens of a request with their texts; a special token shows its name."""
        encoded: EncodedSpan | EncodedWindows | Failure
        if isinstance(ask, Span):
            encoded = self.spans([ask])[0]
        else:
            is_labels = isinstance(ask, Labels)
            rendered = (
                self._render_before_labels(ask.prompt) if is_labels else self._render_prompt(ask.prompt)
            )
            if isinstance(rendered, Failure):
                return []
            context = self._context(self._encoder.encode([rendered.text]), rendered)
            encoded = context if isinstance(context, Failure) else EncodedSpan(context, len(context))
        if isinstance(encoded, Failure):
            return []
        return self.name_tokens(encoded.ids, _find_scored_places(encoded))

    def name_tokens(self, ids: Sequence[int], scored: Container[int] = ()) -> list[Token]:
        """Return tokens with their texts; `scored` are positions among them."""
        names = self._tokenizer.convert_ids_to_tokens(list(ids))
        special = set(self._tokenizer.all_special_ids)
        return [
            Token(id_, name if id_ in special else self._piece(id_, name), is_scored=i in scored)
            for i, (id_, name) in enumerate(zip(ids, names, strict=True))
        ]

    def _piece(self, id_: int, name: str) -> str:
        """Return a token's text; if the token is a part of a character, its bytes: `<0xEC>`."""
        text: str = self._backend.decode([id_], skip_special_tokens=False)
        if "�" in text:
            return format_piece_name(name)
        # SentencePiece decoders drop the space before the first word.
        return " " + text if name.startswith("▁") and not text.startswith(" ") else text

    # --- inside ---

    def _render_prompt(self, prompt: Prompt, *, is_scored: bool = False) -> RenderedPrompt | Failure:
        try:
            return self._renderer.render(prompt, is_scored=is_scored)
        except TemplateTrouble as trouble:
            return Failure("template", str(trouble))

    def _render_before_labels(self, prompt: Prompt) -> RenderedPrompt | Failure:
        return _strip_trailing_spaces(self._render_prompt(prompt, is_scored=True))

    def _choose_leading_ids(self, ids: Sequence[int], rendered: RenderedPrompt) -> tuple[int, ...]:
        """Return the ids to add before these ids."""
        is_whole = rendered.is_templated and not self._leads_conversations
        if is_whole or tuple(ids[: len(self.lead)]) == self.lead:
            return ()
        return self.lead

    def _context(
        self, texts: Mapping[str, EncodedText], rendered: RenderedPrompt
    ) -> tuple[int, ...] | Failure:
        ids = texts[rendered.text].ids
        context = (*self._choose_leading_ids(ids, rendered), *ids)
        if context:
            return context
        if self.prefix is None:
            return _make_prefix_failure()
        return (self.prefix,)

    def _span(
        self, texts: Mapping[str, EncodedText], ask: Span, rendered: RenderedPrompt
    ) -> EncodedSpan | EncodedWindows | Failure:
        if ask.windows is not None:
            return self._encode_windows(texts, rendered, ask.windows)
        if not isinstance(ask.prompt, str) and ask.prompt[-1].role != "assistant":
            return Failure("template", "scoring in a conversation needs a final assistant message")
        boundary = rendered.final_at + ask.start
        if ask.scores_white_space:
            boundary = len(rendered.text[:boundary].rstrip())
        return self._encode_span(texts, rendered, boundary, scores_first=ask.scores_first_token)

    def _encode_windows(
        self, texts: Mapping[str, EncodedText], rendered: RenderedPrompt, setting: Windows
    ) -> EncodedWindows | Failure:
        # Only lm-eval's scheme adds a token in front; the others leave the first token of the text unscored.
        whole = self._encode_span(texts, rendered, 0, scores_first=setting.scheme == "classic")
        if isinstance(whole, Failure):
            return whole
        try:
            windows = cut_windows(setting, len(whole.ids), whole.first_scored, self._context_length)
        except WindowTrouble as trouble:
            return Failure("windows", str(trouble))
        offsets = texts[rendered.text].list_offsets()
        n_leading = len(whole.ids) - len(offsets)
        length = measure_scored_text(rendered.text, windows, offsets, n_leading=n_leading)
        encoded = EncodedWindows(whole.ids, tuple(windows), length)
        # If a token is skipped, its neighbour would seem to extend over it.
        return replace(encoded, starts=whole.starts) if encoded.n_scored == len(whole.starts) else encoded

    def _encode_span(
        self, texts: Mapping[str, EncodedText], rendered: RenderedPrompt, boundary: int, *, scores_first: bool
    ) -> EncodedSpan | Failure:
        """Encode a whole text and find the tokens that end after the boundary."""
        text = texts[rendered.text]
        first = text.count_tokens_until(boundary)
        offsets = text.list_offsets(first)
        straddles = bool(offsets) and offsets[0][0] < boundary
        ids = (*self._choose_leading_ids(text.ids, rendered), *text.ids)
        first += len(ids) - len(text.ids)
        if first == 0 and ids:
            if ids[0] == self.prefix or not scores_first:
                first = 1  # The text has its own first token, or is scored without one.
            elif self.prefix is None:
                return _make_prefix_failure()
            else:
                ids, first = (self.prefix, *ids), 1
        if first >= len(ids):
            return Failure("empty", "there is nothing to score: no token is after the prompt/answer boundary")
        counted = rendered.text[boundary:].strip()
        n_bytes = len(counted.encode("utf-8", "surrogatepass"))
        starts = find_token_starts(offsets[first - len(ids) :], boundary)
        return EncodedSpan(ids, first, straddles, len(counted), n_bytes, starts)

    def _labels(
        self,
        texts: Mapping[str, EncodedText],
        rendered: RenderedPrompt | Failure,
        ending: LabelledEnding,
        labels: Spellings | Failure,
    ) -> EncodedLabels | Failure:
        assert isinstance(rendered, RenderedPrompt)
        context = self._context(texts, rendered)
        if isinstance(context, Failure):
            return context
        if isinstance(labels, Failure):
            return labels
        n_kept = 0 if ending.is_whole else len(context) - len(texts[rendered.text].pieces[-1].encoded.ids)
        return EncodedLabels(context, n_kept, labels)

    def _learn_spellings(
        self, endings: Iterable[LabelledEnding]
    ) -> Mapping[LabelledEnding, Spellings | Failure]:
        """Return the encoded spellings after these ends of contexts; remembers those of the last batch."""
        before = self._spellings
        known = {ending: before.get(ending) for ending in endings}
        new = [ending for ending, found in known.items() if found is None]
        texts = self._encoder.encode(text for ending in new for text in ending.iterate_texts())
        known |= {ending: self._find_spellings(texts, ending) for ending in new}
        self._spellings = learned = {one: found for one, found in known.items() if found is not None}
        return learned

    def _find_spellings(
        self, texts: Mapping[str, EncodedText], ending: LabelledEnding
    ) -> Spellings | Failure:
        boundary = len(ending.text)

        def encode_whole(spelling: str) -> tuple[tuple[int, ...], int] | None:
            whole = RenderedPrompt(ending.text + spelling, 0, ending.is_templated)
            scored = self._encode_span(texts, whole, boundary, scores_first=True)
            return None if isinstance(scored, Failure) else (scored.ids, scored.first_scored)

        def encode_end(spelling: str) -> tuple[tuple[int, ...], int] | None:
            encoded = texts[ending.text + spelling]
            first = encoded.count_tokens_until(boundary)
            return (encoded.ids, first) if first < len(encoded.ids) else None

        if not ending.is_whole:
            return find_spellings(ending.labels, texts[ending.text].ids, encode_end)
        context = self._context(texts, RenderedPrompt(ending.text, 0, ending.is_templated))
        return (
            context if isinstance(context, Failure) else find_spellings(ending.labels, context, encode_whole)
        )


def _find_ending(text: EncodedText, ask: Labels, rendered: RenderedPrompt) -> LabelledEnding:
    begin = text.pieces[-1].begin
    if begin:
        return LabelledEnding(rendered.text[begin:], is_whole=False, is_templated=True, labels=ask.labels)
    return LabelledEnding(rendered.text, is_whole=True, is_templated=rendered.is_templated, labels=ask.labels)


def _find_scored_places(encoded: EncodedSpan | EncodedWindows) -> set[int]:
    """Return the positions of the scored tokens."""
    if isinstance(encoded, EncodedSpan):
        return set(range(encoded.first_scored, len(encoded.ids)))
    return {at for window in encoded.windows for at in range(window.first_scored, window.end)}


def _make_prefix_failure() -> Failure:
    return Failure("no_prefix", "no token precedes the first one, and the model has no BOS or EOS token")


def _strip_trailing_spaces(rendered: RenderedPrompt | Failure) -> RenderedPrompt | Failure:
    """Remove spaces at the end of the final text, so that ` A` can follow as one token; newlines remain."""
    if isinstance(rendered, Failure) or (rendered.is_templated and rendered.final_at == len(rendered.text)):
        return rendered
    final = rendered.text[rendered.final_at :].rstrip(" ")
    return RenderedPrompt(
        rendered.text[: rendered.final_at] + final, rendered.final_at, rendered.is_templated
    )


def _find_leading_ids(backend: Any) -> tuple[int, ...]:
    """Return the ids that the tokenizer's own post-processing adds before a text."""
    bare = backend.encode("a", add_special_tokens=False).ids
    dressed = backend.encode("a", add_special_tokens=True).ids
    for at in range(len(dressed) - len(bare) + 1):
        if dressed[at : at + len(bare)] == bare:
            return tuple(dressed[:at])
    return ()


def _require_bos(tokenizer: Any) -> int:
    """Return the id of the BOS token; raise MODEL-002 without one."""
    if tokenizer.bos_token_id is None:
        raise argument_error("add_bos_token=true: the tokenizer has no BOS token", "remove add_bos_token")
    return int(tokenizer.bos_token_id)


def _keep_whole_offsets(backend: Any) -> None:
    """Make offsets include white space.

    Some byte-level tokenizers trim it from offsets. Then a token of a full stop and newlines seems to end
    before a boundary that it straddles.
    """
    processor = backend.post_processor
    if processor is None:
        return
    state = processor.__getstate__().decode()
    if '"trim_offsets":true' not in state.replace(" ", ""):
        return
    processor.__setstate__(json.dumps(_disable_trim_offsets(json.loads(state))).encode())
    backend.post_processor = processor


def _disable_trim_offsets(state: Any) -> Any:
    if isinstance(state, dict):
        return {k: False if k == "trim_offsets" else _disable_trim_offsets(v) for k, v in state.items()}
    return [_disable_trim_offsets(item) for item in state] if isinstance(state, list) else state
