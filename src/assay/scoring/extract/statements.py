"""The words with which models announce an answer, in the languages seen in real outputs.

A *lead* is such a phrase up to the place where the answer itself must follow. What is read there (a
label, an option's text, a number) is the caller's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

_LINK = r"(?:\b(?:is|are|be|es|est|ist|è|é)\b|[:：=]|->|→|⇒|\\to\b)"
_NOUN = (
    r"(?<![A-Za-z])(?:"
    # nouns that only ever announce an answer may stand at some distance from their link
    r"(?P<noun>(?:answer|ans|conclusion|respuesta|réponse|reponse|antwort|risposta|resposta|ответ)\b"
    r"(?!\s+(?:choices|options)\b)(?:[_ ](?:choice|option|letter|key|label|id)\b)?"
    r"|(?:answer|correct|selected|chosen|predicted)_(?:answer|choice|option|letter|label|key))"
    r"[*_\"'`)\]]*(?P<gap>[^.\n:：=!?;]{0,60}?)"
    # nouns that also merely mention an option must be followed by it at once
    r"|(?:option|choice|selection|response|pick|guess|prediction)\b[*_\"'`]*\s*"
    r"(?:would\s+|should\s+|must\s+|will\s+|has\s+to\s+)?(?:be\s*)?"
    r")" + _LINK
)
_FRAME = r"(?P<boxed>\\f?box(?:ed)?(?:\s*\{|\s+(?=\S)))|(?P<tag><(?:final_?)?(?:answer|choice|option)>)"
_ASIAN = (
    # 'the answer is not A but'
    r"(?:答案|정답|답)[^\n.!?。！？]{1,40}?(?:而是|아니라|아니고)\s*"
    r"|(?:正确|標準|标准|最佳)?(?:答案|答え|正解|解答|정답|답안|답)[】\]]?\s*"
    r"(?:应该|应当|應該|就|大概|可能)?\s*(?:是|为|為|选择|選擇|选|選|應為|应为|은|는|は|이)?\s*[:：]?"
    r"|(?<!不)正[确確]的(?:选项|選項|答案)?(?:是|为|為)\s*[:：]?"
    r"|(?:选项|選項)\s*(?:应该|应当|就)?(?:是|为|為|应为|[:：])"
    r"|(?<![不没沒别勿可])(?:选|選)(?:择|擇)?(?:了)?\s*(?:是|为|為)?\s*[:：]?"
)
_VERB = (
    r"(?<![A-Za-z])(?P<verb>choose|chose|pick|select|go(?:ing)?\s+(?:with|for)|opt(?:ing)?\s+for"
    r"|I(?:'d|’d|\s+would)\s+(?:say|suggest|guess)|I\s+(?:think|believe|guess|say)"
    r"|I(?:'m|’m|\s+am)\s+guessing|corresponds?\s+to|matches|not\b(?!\s+only)[^.\n;!?]{1,40}?\bbut(?:\s+rather)?"
    r"|(?:it|that|this|which)(?:'s|’s|\s+is|\s+must\s+be|\s+has\s+to\s+be|\s+should\s+be|\s+would\s+be)"
    r"|lean(?:ing)?\s+towards?|seems\s+to\s+be|leaves(?:\s+us)?(?:\s+with)?|therefore|thus|hence|so)"
    r"(?![A-Za-z])[,:]?"
)
# Such words announce anything; the option must end the phrase.
_ASIAN_VERB = (
    r"(?:所以|因此|因而|显然|而是|[，,：:][故即]"
    r"|(?:认为|認為|觉得|覺得|应该|應該|应当)(?:是|为|為)?)[，,：:]?\s*"
)
# "A: C" on a line of its own: the short form of "Answer: C".
_SHORT = r"(?:^|(?<=\n))\s*A\s*[:：](?=\s*\S)"

# Apart, because a reply without a backslash, a tag or an Asian letter need not be searched for them.
_NOUN_LEAD = re.compile(f"{_NOUN}|{_SHORT}", re.IGNORECASE)
_VERB_LEAD = re.compile(_VERB, re.IGNORECASE)
_FRAME_LEAD = re.compile(_FRAME, re.IGNORECASE)
_ASIAN_LEAD = re.compile(_ASIAN)
_ASIAN_VERB_LEAD = re.compile(_ASIAN_VERB)
_NEXT_LINK = re.compile(_LINK, re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?;\n。！？]")
_SUPPOSED = re.compile(
    r"(?:\b(?:if|whether|unless|suppose|supposing|assume|assuming|imagine|were)\b|如果|假如|假设|要是)"
    r"[^.,;:\n。，；]*$",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\b(?:incorrect|wrong|false|worst)|(?:\b(?:not|never|cannot)|n['’]t)"
    r"(?:\s+(?:think|believe|say|mean)(?:\s+that)?)?(?:\s+the)?(?:\s+(?:correct|right|best|final))*)\s+$"
    r"|不(?:能|应该|应|该|会|要|可以)$",
    re.IGNORECASE,
)
_LONE_LETTER = re.compile(r"(?<![A-Za-z'’])[B-HJ-Z](?![A-Za-z'’])")

LOOKS_BACK = 40
LONGEST_BOX = 500


class Lead(NamedTuple):
    """A phrase that announces an answer."""

    start: int
    end: int
    """Where the answer must follow."""
    is_strong: bool
    """Whether it can only announce an answer; 'I think' and 'so' may announce anything."""
    is_framed: bool
    """Whether it opens a box or a tag made to hold the answer."""


def leads(body: str, *, is_strong_only: bool = False) -> list[Lead]:
    """Return the leads of a reply in order, later links of the same sentence included.

    'The answer to "what is x" is' has two links; each is a place where the answer may follow.
    """
    found: list[Lead] = []
    for match in _NOUN_LEAD.finditer(body):
        gap = match["gap"]
        if gap and _LONE_LETTER.search(gap):
            continue  # 'Answer B: 12' lists the options
        start, end = match.span()
        found.append(Lead(start, end, True, False))
        if match["noun"]:
            sentence = _SENTENCE_END.search(body, end, end + 80)
            stop = sentence.start() if sentence else min(len(body), end + 80)
            for link in _NEXT_LINK.finditer(body, end, stop):
                found.append(Lead(start, link.end(), True, False))
    if not is_strong_only:
        found += [Lead(match.start(), match.end(), False, False) for match in _VERB_LEAD.finditer(body)]
    if "\\" in body or "<" in body:
        found += [Lead(match.start(), match.end(), True, True) for match in _FRAME_LEAD.finditer(body)]
    if not body.isascii():
        found += [Lead(match.start(), match.end(), True, False) for match in _ASIAN_LEAD.finditer(body)]
        if not is_strong_only:
            found += [Lead(*match.span(), False, False) for match in _ASIAN_VERB_LEAD.finditer(body)]
    if len(found) > 1:
        found.sort(key=lambda lead: lead.end)
    return [lead for lead in found if not (is_supposed(body, lead.start) or _is_negated(body, lead.start))]


def last_first(body: str) -> Iterator[list[Lead]]:
    """Yield the strong leads outside boxes and tags, the last phrase first, each with its links in order."""
    for _, phrase in reversed([(start, list(group)) for start, group in groupby(_unframed(body), _start)]):
        yield phrase


def _unframed(body: str) -> list[Lead]:
    found = [lead for lead in leads(body, is_strong_only=True) if not lead.is_framed]
    return sorted(found, key=lambda lead: (lead.start, lead.end))


def _start(lead: Lead) -> int:
    return lead.start


def is_supposed(body: str, at: int) -> bool:
    """Whether the words before a place make it a supposition: 'if the answer is B, then'."""
    return at > 0 and _SUPPOSED.search(body, max(0, at - LOOKS_BACK), at) is not None


def _is_negated(body: str, at: int) -> bool:
    """Whether the words before a lead deny it: 'the incorrect answer is', 'I would not choose'."""
    return at > 0 and _NEGATED.search(body, max(0, at - LOOKS_BACK), at) is not None


def braced(body: str, start: int) -> int | None:
    """Return the end of a LaTeX group whose content begins at `start`; None when it is not closed.

    No answer is longer than LONGEST_BOX; the limit keeps a reply full of open boxes cheap.
    """
    depth = 1
    for at in range(start, min(len(body), start + LONGEST_BOX)):
        if body[at] == "{":
            depth += 1
        elif body[at] == "}":
            depth -= 1
            if depth == 0:
                return at
    return None
