"""Encodes many texts that begin alike; what they share is encoded once.

A text may be encoded in pieces only if that gives the tokens of the whole text. `encodes_words_separately`
decides this from the tokenizer's own rules: its pre-tokenizer must end a word before every space that follows
a visible character, and no other step may look across that place. Then a text is cut only there, and at the
starts of some lines. Texts of any other tokenizer are encoded whole.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

from assay.core.shared_prefix import count_shared_prefix

Offset = tuple[int, int]
"""Start and end of a token's characters."""

_ENGLISH_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_CASED_WORDS = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _ENGLISH_ENDINGS + "?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _ENGLISH_ENDINGS + "?"
)
_WHITE_SPACE = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORD_PATTERNS = frozenset(
    {
        # GPT-2.
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        # Llama 3 and models that adopted its tokenizer.
        _ENGLISH_ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _WHITE_SPACE,
        # Qwen 2 and 3.
        _ENGLISH_ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + _WHITE_SPACE,
        # GPT-4o and gpt-oss.
        _CASED_WORDS + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + _WHITE_SPACE,
    }
)
"""Patterns of words. In a match of any of them, a space is the first character or follows white space, and a
word that ends before a space is the same word at the end of a text."""


class EncodedPiece:
    """The tokens of a part of a text. Offsets are read only where they are needed, because that is slow."""

    def __init__(self, encoding: Any) -> None:
        self.ids: tuple[int, ...] = tuple(encoding.ids)
        self._encoding = encoding

    @cached_property
    def offsets(self) -> Sequence[Offset]:
        """Return the characters of each token, counted from the start of the piece."""
        offsets: Sequence[Offset] = self._encoding.offsets
        return offsets


class PlacedPiece(NamedTuple):
    """A piece of a text, and its place in characters."""

    begin: int
    end: int
    encoded: EncodedPiece


@dataclass(frozen=True, slots=True)
class EncodedText:
    """The tokens of a text, and the characters that each of them stands for."""

    ids: tuple[int, ...]
    pieces: tuple[PlacedPiece, ...]

    def count_tokens_until(self, boundary: int) -> int:
        """Return how many tokens end at or before a character."""
        n = 0
        for begin, end, piece in self.pieces:
            if end <= boundary:
                n += len(piece.ids)
            elif begin <= boundary:
                n += bisect_right(piece.offsets, boundary - begin, key=_get_end)
        return n

    def list_offsets(self, first: int = 0) -> list[Offset]:
        """Return the offsets of the tokens from number `first` on, counted from the start of the text."""
        listed: list[Offset] = []
        at = len(self.ids)
        for begin, _, piece in reversed(self.pieces):
            if at <= first:
                break
            at -= len(piece.ids)
            kept = piece.offsets[max(0, first - at) :]
            listed[:0] = [(start + begin, end + begin) for start, end in kept] if begin else kept
        return listed


class TextEncoder:
    """Encodes texts with one fast tokenizer; remembers the pieces of the last batch."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self._cuts_texts = encodes_words_separately(backend)
        self._known: Mapping[str, EncodedPiece] = {}

    def encode(self, texts: Iterable[str], *, splits_end: bool = False) -> dict[str, EncodedText]:
        """Return the encoding of each text, as if each were encoded alone.

        With `splits_end`, the last piece of a text is as short as possible: whatever follows the text changes
        only the tokens of that piece.
        """
        # Sorted, texts that begin alike are neighbours.
        distinct = sorted(set(texts))
        if self._cuts_texts:
            cut = list(_cut_texts(distinct, splits_end=splits_end))
        else:
            cut = [[text] for text in distinct]
        known = self._learn(piece for pieces in cut for piece in pieces)
        return {text: _join_pieces(pieces, known) for text, pieces in zip(distinct, cut, strict=True)}

    def _learn(self, pieces: Iterable[str]) -> Mapping[str, EncodedPiece]:
        before = self._known
        known = {piece: before.get(piece) for piece in pieces}
        new = [piece for piece, encoded in known.items() if encoded is None]
        if new:
            encodings = self._backend.encode_batch(new, add_special_tokens=False)
            known.update(zip(new, map(EncodedPiece, encodings), strict=True))
        # Assigned at once and returned from here: two threads may encode at the same time.
        self._known = learned = {piece: found for piece, found in known.items() if found is not None}
        return learned


def encodes_words_separately(backend: Any) -> bool:
    """Return whether a text may be cut before any space that follows a visible character."""
    from tokenizers.models import BPE

    model, normalizer, splitter = backend.model, backend.normalizer, backend.pre_tokenizer
    if not isinstance(model, BPE) or model.dropout or model.end_of_word_suffix:
        return False
    if model.continuing_subword_prefix or splitter is None:
        return False
    # A space never merges with the character before it, so composed characters stay whole.
    if normalizer is not None and json.loads(normalizer.__getstate__()).get("type") != "NFC":
        return False
    # A token that takes the white space next to it, or that contains a space, could extend over a cut.
    if any(
        token.lstrip or token.rstrip or token.single_word or any(map(str.isspace, token.content))
        for token in backend.get_added_tokens_decoder().values()
    ):
        return False
    return _splits_words(json.loads(splitter.__getstate__()))


def _splits_words(splitter: Mapping[str, Any]) -> bool:
    """Return whether a pre-tokenizer ends a word before a space that follows a visible character."""
    steps = splitter.get("pretokenizers", []) if splitter.get("type") == "Sequence" else [splitter]
    finds_words = False
    for step in steps:
        match step:
            case {"type": "Digits"}:
                pass
            case {"type": "ByteLevel", "add_prefix_space": False}:
                finds_words |= bool(step.get("use_regex", True))
            case {
                "type": "Split",
                "pattern": {"Regex": str(pattern)},
                "behavior": "Isolated",
                "invert": False,
            }:
                if pattern not in _WORD_PATTERNS:
                    return False
                finds_words = True
            case _:
                return False
    return finds_words


def _cut_texts(texts: Sequence[str], *, splits_end: bool) -> Iterator[list[str]]:
    """Yield the pieces of each text: what it shares with its neighbours, the rest, and maybe its end."""
    cuts: list[int] = []
    n_shared = 0
    for text, following in zip_longest(texts, texts[1:], fillvalue=""):
        cuts = [cut for cut in cuts if cut < n_shared]
        n_following = count_shared_prefix(text, following)
        for limit in sorted((n_shared, n_following)):
            cut = _find_cut(text, limit)
            if cut > (cuts[-1] if cuts else 0):
                cuts.append(cut)
        ends = [*cuts, len(text)]
        if splits_end and (last := _find_cut(text, len(text))) > (cuts[-1] if cuts else 0):
            ends.insert(-1, last)
        yield [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        n_shared = n_following


def _find_cut(text: str, limit: int) -> int:
    """Return the last place before `limit` at which a text may be cut; 0 if there is none."""
    at = text.rfind(" ", 1, limit)
    while at > 0 and not _is_visible(text[at - 1]):
        at = text.rfind(" ", 1, at)
    return max(at, _find_line_start(text, limit), 0)


def _find_line_start(text: str, limit: int) -> int:
    """Return the last start of a line before `limit` at which a text may be cut; 0 if there is none.

    A single line break between a visible character and a letter or digit ends a word in every pattern, and is
    the same word at the end of a text.
    """
    at = text.rfind("\n", 1, max(0, limit - 1))
    while at > 0 and not (_is_visible(text[at - 1]) and text[at + 1].isascii() and text[at + 1].isalnum()):
        at = text.rfind("\n", 1, at)
    return at + 1 if at > 0 else 0


def _is_visible(character: str) -> bool:
    """Return whether a character is certainly not white space, whoever defines white space."""
    return "!" <= character <= "~" or character.isalnum()


def _join_pieces(pieces: Sequence[str], known: Mapping[str, EncodedPiece]) -> EncodedText:
    ids: tuple[int, ...] = ()
    placed: list[PlacedPiece] = []
    begin = 0
    for text in pieces:
        piece = known[text]
        ids += piece.ids
        placed.append(PlacedPiece(begin, begin + len(text), piece))
        begin += len(text)
    return EncodedText(ids, tuple(placed))


def _get_end(offset: Offset) -> int:
    return offset[1]
