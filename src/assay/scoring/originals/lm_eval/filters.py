"""The filters of a task file's `filter_list`.

A filter gets the replies to several requests, one list for each, and the document of each request. It returns
one result for each request. Authors subclass these classes, so their attributes are part of the format.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

Replies = Sequence[Any]
"""The replies to one request; a later filter may get a single one."""
Documents = Sequence[Any]

INVALID = "[invalid]"
_TAGGED_WORD = re.compile(r"\('([^']*)', '([^']*)'\)")
_ENTITY_LABELS = {
    **dict.fromkeys(("person", "people", "persons", "per"), "PER"),
    **dict.fromkeys(("location", "counties", "places", "country", "continent", "loc"), "LOC"),
    **dict.fromkeys(("organization", "company", "org"), "ORG"),
    **dict.fromkeys(("time", "date"), "DATE"),
}
_ENTITY_LABEL = re.compile(rf"\b({'|'.join(_ENTITY_LABELS)})\s*:")
_ENTITIES = re.compile(r"\b(PER|LOC|ORG|DATE):\s*([^$]+)")
_NUMBER_AFTER_MARK = r"#### (\-?[0-9\.\,]+)"


class Filter:
    """The base class of all filters."""

    def __init__(self, **kwargs: Any) -> None:
        """Accept any arguments, as authors' subclasses pass them on."""

    def apply(self, resps: Iterable[Replies], docs: Documents) -> Iterable[Any]:
        """Return the replies unchanged."""
        return resps


class _EachReply(Filter):
    """Changes every reply by itself."""

    def apply(self, resps: Iterable[Replies], docs: Documents) -> list[list[Any]]:
        """Return every reply changed."""
        return [[self._change(reply) for reply in replies] for replies in resps]

    def _change(self, reply: Any) -> Any:
        raise NotImplementedError


class RegexFilter(_EachReply):
    """The match of a pattern, selected among all matches."""

    def __init__(
        self, regex_pattern: str = _NUMBER_AFTER_MARK, group_select: int = 0, fallback: str = INVALID
    ) -> None:
        self.regex_pattern = regex_pattern
        self.regex = re.compile(regex_pattern)
        self.group_select = group_select
        self.fallback = fallback

    def _change(self, reply: Any) -> Any:
        found = select_match(self.regex, reply, self.group_select)
        return self.fallback if found is None else found


def select_match(pattern: re.Pattern[str], reply: Any, number: int) -> str | None:
    """Return a match without surrounding white space: its first non-empty group; None without a match."""
    matches = pattern.findall(reply if isinstance(reply, str) else "")
    if not matches:
        return None
    match = matches[number]
    if isinstance(match, tuple):
        match = next(filter(None, match), None)
    return None if match is None else str(match).strip()


class WhitespaceFilter(_EachReply):
    """Replies without surrounding white space."""

    def _change(self, reply: Any) -> Any:
        return reply.strip()


class LowercaseFilter(_EachReply):
    """Replies in lower case."""

    def _change(self, reply: Any) -> Any:
        return reply.lower()


class UppercaseFilter(_EachReply):
    """Replies in upper case."""

    def _change(self, reply: Any) -> Any:
        return reply.upper()


class MapFilter(_EachReply):
    """Values that a dict assigns to replies."""

    def __init__(self, mapping_dict: dict[Any, Any] | None = None, default_value: Any = None) -> None:
        self.mapping_dict = mapping_dict or {}
        self.default_value = default_value

    def _change(self, reply: Any) -> Any:
        return self.mapping_dict.get(reply, self.default_value)


class PartsOfSpeechFilter(_EachReply):
    """The tags of a reply such as `[('cats', 'NOUN'), ('sleep', 'VERB')]`."""

    def __init__(
        self, regex_pattern: str = r"\['(.*?)'\]", group_select: int = 0, fallback: Any = None
    ) -> None:
        self.regex_pattern = regex_pattern
        self.group_select = group_select
        self.fallback = ["invalid"] if fallback is None else fallback

    def _change(self, reply: Any) -> Any:
        words = _TAGGED_WORD.findall(reply) if isinstance(reply, str) else reply
        return [tag for _, tag in words] or self.fallback


class EntitySpanFilter(_EachReply):
    """Named entities of a reply such as `PER: Ann, Ben $$ LOC: none` as `per: ann $ per: ben`."""

    def _change(self, reply: Any) -> Any:
        text = _ENTITY_LABEL.sub(lambda match: f"{_ENTITY_LABELS[match[1]]}:", reply.lower())
        text = text.replace("$$", "$").rstrip("$").replace("\n", "$").strip()
        return " $ ".join(
            f"{label.lower()}: {entity.strip()}"
            for label, entities in _ENTITIES.findall(text)
            for entity in entities.split(",")
            if entity.strip() != "none"
        )


class TakeFirstFilter(Filter):
    """The first reply of each request."""

    def apply(self, resps: Iterable[Replies], docs: Documents) -> list[Any]:
        """Return one reply for each request."""
        return [replies[0] for replies in resps]


class TakeFirstKFilter(Filter):
    """The first replies of each request."""

    def __init__(self, k: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.k = k

    def apply(self, resps: Iterable[Replies], docs: Documents) -> list[Replies]:
        """Return the first replies; raise if a request has fewer."""
        several = list(resps)
        for replies in several:
            if len(replies) < self.k:
                raise ValueError(
                    f"take_first_k needs {self.k} replies, found {len(replies)}: increase repeats"
                )
        return [replies[: self.k] for replies in several]


class MajorityVoteFilter(Filter):
    """The most frequent reply of each request; of equally frequent ones the first."""

    def apply(self, resps: Iterable[Replies], docs: Documents) -> list[list[Any]]:
        """Return a list with one reply for each request."""
        return [[Counter(replies).most_common(1)[0][0]] for replies in resps]


class CustomFilter(Filter):
    """A function of the author."""

    def __init__(self, filter_fn: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.filter_fn = filter_fn

    def apply(self, resps: Iterable[Replies], docs: Documents) -> Iterable[Any]:
        """Return what the function returns."""
        result: Iterable[Any] = self.filter_fn(resps, docs)
        return result


class MultiChoiceRegexFilter(RegexFilter):
    """The letter of an option as `(A)`: by a pattern, by an option's text, or by a letter after a colon."""

    def __init__(
        self,
        regex_pattern: str = _NUMBER_AFTER_MARK,
        group_select: int = 0,
        fallback: str = INVALID,
        ignore_case: bool = False,
        ignore_punctuation: bool = False,
        regexes_to_ignore: Sequence[str] | None = None,
    ) -> None:
        super().__init__(regex_pattern, group_select, fallback)
        self.ignore_case = ignore_case
        self.ignore_punctuation = ignore_punctuation
        self.regexes_to_ignore = regexes_to_ignore

    def apply(self, resps: Iterable[Replies], docs: Documents) -> list[list[Any]]:
        """Return the letters; every document needs `choices`."""
        return [self._read_letters(replies, doc["choices"]) for replies, doc in zip(resps, docs, strict=True)]

    def _read_letters(self, replies: Replies, choices: Sequence[str]) -> list[str]:
        letters = [chr(ord("A") + number) for number in range(len(choices))]
        by_text = {
            self._clean(choice.strip()): f"({letter})"
            for choice, letter in zip(choices, letters, strict=True)
        }
        # Longest first: a text that begins another must not hide it.
        texts = re.compile("|".join(map(re.escape, sorted(by_text, key=len, reverse=True))))
        after_colon = re.compile(rf":[\s]*({'|'.join(letters)})")
        return [
            select_match(self.regex, reply, self.group_select)
            or self._look_up(texts, self._clean(reply if isinstance(reply, str) else ""), by_text)
            or self._look_up(after_colon, reply, {letter: f"({letter})" for letter in letters})
            or self.fallback
            for reply in replies
        ]

    def _look_up(self, pattern: re.Pattern[str], reply: Any, letters: dict[str, str]) -> str | None:
        found = select_match(pattern, reply, self.group_select)
        return None if not found else letters.get(found, found)

    def _clean(self, text: str) -> str:
        for pattern in self.regexes_to_ignore or ():
            text = re.sub(pattern, "", text)
        if self.ignore_case:
            text = text.lower()
        return text.translate(_punctuation()) if self.ignore_punctuation else text


@lru_cache(maxsize=1)
def _punctuation() -> dict[int, None]:
    """Return a table that removes all punctuation of Unicode."""
    return dict.fromkeys(code for code in range(0x110000) if unicodedata.category(chr(code)).startswith("P"))


FILTERS: dict[str, type[Filter]] = {
    "regex": RegexFilter,
    "remove_whitespace": WhitespaceFilter,
    "take_first": TakeFirstFilter,
    "take_first_k": TakeFirstKFilter,
    "majority_vote": MajorityVoteFilter,
    "multi_choice_regex": MultiChoiceRegexFilter,
    "map": MapFilter,
    "lowercase": LowercaseFilter,
    "uppercase": UppercaseFilter,
    "regex_pos": PartsOfSpeechFilter,
    "format_span": EntitySpanFilter,
    "custom": CustomFilter,
}
"""The filters by the names that task files use."""
