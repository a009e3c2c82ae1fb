"""Values of inspect's scorers for a reply, and reducers for several replies to one sample.

Each value is from 0 to 1. The rules are inspect's, except that f1 is not rounded to two decimals.
"""

from __future__ import annotations

import re
import statistics
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from assay.scoring.metrics.estimators import pass_at_k

ScoreReply: TypeAlias = Callable[..., float]
_ARTICLES = frozenset({"a", "an", "the"})
_AROUND = string.punctuation + string.whitespace
_CURRENCY = "$€£¥"
_REDUCER = re.compile(r"(?P<name>pass_at|at_least)_(?P<k>\d+)")
PLAIN_REDUCERS = ("mean", "median", "mode", "max")


def includes(reply: str, targets: Sequence[str], *, ignore_case: bool = True) -> float:
    """Return 1 if the reply contains a target."""
    fold = str.lower if ignore_case else str
    return float(any(fold(target) in fold(reply) for target in targets))


def match(
    reply: str,
    targets: Sequence[str],
    *,
    location: str = "end",
    ignore_case: bool = True,
    numeric: bool = False,
) -> float:
    """Return 1 if the reply starts or ends with a target, contains it, or equals it."""
    return float(any(_matches(reply, target, location, ignore_case, numeric) for target in targets))


def pattern(
    reply: str, targets: Sequence[str], *, pattern: str, ignore_case: bool = True, match_all: bool = False
) -> float:
    """Return 1 if a group of the first match is a target; with `match_all`, if every group is."""
    found = re.search(pattern, reply, re.IGNORECASE if ignore_case else 0)
    if found is None:
        return 0.0
    fold = str.lower if ignore_case else str
    wanted = {fold(target) for target in targets}
    groups = [fold(group) for group in found.groups() or (found[0],) if group is not None]
    holds = all if match_all else any
    return float(bool(groups) and holds(group in wanted for group in groups))


def exact(reply: str, targets: Sequence[str]) -> float:
    """Return 1 if the reply equals a target, ignoring case, punctuation, articles and number format."""
    words = _words(reply)
    return float(any(words == _words(target) for target in targets) and bool(words))


def f1(reply: str, targets: Sequence[str]) -> float:
    """Return the F1 of words between the reply and the best target."""
    return max((_f1(_words(reply), _words(target)) for target in targets), default=0.0)


REPLY_SCORERS: Mapping[str, ScoreReply] = {
    "includes": includes,
    "match": match,
    "pattern": pattern,
    "exact": exact,
    "f1": f1,
}


def reduce_values(values: Sequence[float], reducer: str) -> float:
    """Return one value for several replies, as inspect's reducer of that name does."""
    if parts := _REDUCER.fullmatch(reducer):
        n_right, k = sum(value >= 1.0 for value in values), int(parts["k"])
        if parts["name"] == "at_least":
            return float(n_right >= k)
        return pass_at_k(len(values), n_right, k)
    if reducer not in PLAIN_REDUCERS:
        raise ValueError(f"unknown reducer {reducer!r}")
    if reducer == "mode":
        return Counter(values).most_common(1)[0][0]
    reducers: dict[str, Callable[[Sequence[float]], float]] = {
        "mean": statistics.fmean,
        "median": statistics.median,
        "max": max,
    }
    return float(reducers[reducer](values))


def _matches(reply: str, target: str, location: str, ignore_case: bool, numeric: bool) -> bool:
    answer, wanted = reply.strip(), target.strip()
    if ignore_case:
        answer, wanted = answer.casefold(), wanted.casefold()
    if numeric and (number := _number(wanted)) is not None:
        return _matches_number(answer, number, location)
    answer, wanted = answer.strip(_AROUND), wanted.strip(_AROUND)
    checks: dict[str, Callable[[], bool]] = {
        "begin": lambda: answer.startswith(wanted),
        "end": lambda: answer.endswith(wanted),
        "any": lambda: wanted in answer,
        "exact": lambda: answer == wanted,
    }
    return checks[location]()


def _matches_number(answer: str, wanted: float, location: str) -> bool:
    """Whether the first or last number in a reply, or any of them, equals the target."""
    numbers = [number for word in answer.split() if (number := _number(word)) is not None]
    if location == "exact":
        return _number(answer) == wanted
    if location == "any":
        return wanted in numbers
    return bool(numbers) and numbers[0 if location == "begin" else -1] == wanted


def _number(word: str) -> float | None:
    """Return the number in a word, without currency sign, thousands separators and final full stop."""
    text = word.strip("*_`()[]{}\"'").rstrip(".,;:!?").lstrip(_CURRENCY).replace(",", "")
    if len(text) == 1 and not text.isdecimal() and text.isnumeric():
        return unicodedata.numeric(text)
    try:
        return float(text) if text[:1].isdigit() or text[:1] in "+-." else None
    except ValueError:
        return None


def _words(text: str) -> list[str]:
    words = []
    for piece in re.split(r"[\s-]+", text.lower()):
        bare = piece.strip(string.punctuation)
        try:
            word = str(float(bare.replace(",", "")))
        except ValueError:
            word = "".join(char for char in bare if char not in string.punctuation)
        if word and word not in _ARTICLES:
            words.append(word)
    return words


def _f1(given: Sequence[str], wanted: Sequence[str]) -> float:
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted)) if shared else 0.0
