"""The spellings of labels as tokens: which are one token after the context, and which are longer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.core.response import Failure


class Spelling(NamedTuple):
    """One way to write a label, as tokens after the part of the context that no label changes."""

    ids: tuple[int, ...]
    first_scored: int
    """Index of the first scored token among `ids`."""
    is_next_token: bool
    """Whether it is a single token that follows exactly the context's tokens."""


Spellings = tuple[tuple[Spelling, ...], ...]
"""The distinct spellings of each label."""


@dataclass(frozen=True, slots=True)
class EncodedLabels:
    """A context, and the distinct spellings of each label."""

    context: tuple[int, ...]
    n_kept: int
    """Tokens of the context that no label changes; the `ids` of every spelling follow them."""
    labels: Spellings

    @property
    def n_tokens(self) -> int:
        """Return how much of the context its longest spelling needs."""
        return self.n_kept + max(len(spelling.ids) for label in self.labels for spelling in label)

    def build_whole(self, spelling: Spelling) -> tuple[tuple[int, ...], int]:
        """Return the tokens of the context with one spelling, and the index of the first scored one."""
        return self.context[: self.n_kept] + spelling.ids, self.n_kept + spelling.first_scored


class LabelledEnding(NamedTuple):
    """The end of a context that labels can change, and the labels. Many contexts end alike: `Answer:`."""

    text: str
    is_whole: bool
    """Whether it is the whole context, not only its end."""
    is_templated: bool
    """Whether a whole context comes from a chat template."""
    labels: tuple[tuple[str, ...], ...]

    def iterate_texts(self) -> Iterator[str]:
        """Yield the end alone, and with each spelling."""
        yield self.text
        for label in self.labels:
            for spelling in label:
                yield self.text + spelling


def find_spellings(
    labels: Sequence[Sequence[str]],
    context: tuple[int, ...],
    encode: Callable[[str], tuple[tuple[int, ...], int] | None],
) -> Spellings | Failure:
    """Return the distinct spellings of each label.

    `encode` returns the tokens of the context with a spelling, and the index of the first scored one; None if
    the spelling has no token.
    """
    if not labels or not all(labels):
        return Failure("labels", "there must be at least one label, and each label needs a spelling")
    found: list[tuple[Spelling, ...]] = []
    owner: dict[tuple[int, ...], int] = {}
    for index, spellings in enumerate(labels):
        distinct: dict[tuple[int, ...], Spelling] = {}
        for text in spellings:
            if (encoded := encode(text)) is None:
                what = f"spelling {text!r} of label {index + 1} has no token of its own"
                return Failure("labels", what)
            ids, first_scored = encoded
            if owner.setdefault(ids, index) != index:
                first, second = labels[owner[ids]], spellings
                return Failure("labels", f"labels {first!r} and {second!r} are the same token: {text!r}")
            distinct[ids] = Spelling(ids, first_scored, ids[:-1] == context)
        found.append(tuple(one for ids, one in distinct.items() if not _is_extension(ids, distinct)))
    return tuple(found)


def _is_extension(ids: tuple[int, ...], others: Iterable[tuple[int, ...]]) -> bool:
    """Return whether another spelling begins this one, and so already includes its probability."""
    return any(len(other) < len(ids) and ids[: len(other)] == other for other in others)
