"""Parsing of a judge's reply as right, wrong or not attempted.

A letter or a word is a verdict if the reply states it: as its opening, in brackets, after a word such as
`Verdict:`, or as its last clause. A capital letter anywhere else is not a verdict, nor is a letter that the
reply reports as somebody's answer to the question. A reply that contradicts itself has no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from assay.scoring.extract.extraction import Rule, RuleMatch
from assay.scoring.extract.statements import is_supposed

RIGHT, WRONG, NOT_ATTEMPTED = "right", "wrong", "not attempted"
"""The verdicts, independent of a judge's spelling."""

_WORDS: tuple[tuple[str, str], ...] = (
    (r"not[ _-]attempted", NOT_ATTEMPTED),
    (r"not\s+correct", WRONG),
    (r"incorrect", WRONG),
    (r"invalid", NOT_ATTEMPTED),
    (r"correct", RIGHT),
    (r"yes", RIGHT),
    (r"no", WRONG),
)
_CHINESE: tuple[tuple[str, str], ...] = (
    ("未尝试", NOT_ATTEMPTED),
    ("不正确", WRONG),
    ("错误", WRONG),
    ("正确", RIGHT),
)
_OPEN = r"[\s*_`\"'“‘(\[{#【<$]{0,24}"
_CLOSE = r"[\s*_`\"'”’)\]}】>$.,;:!。，；：！]*"
_FRAME = r"(?:\\(?:boxed|text|mathrm|textbf)\s*\{\s*)*"

_STRONG_NOUN = (
    r"verdict|judge?ment|decision|grade|grading|final\s+(?:assessment|evaluation)"
    r"|判断|判定|结论|评判|评分|等级"
)
_NOUN = r"answer|assessment|evaluation|conclusion|result|response|prediction|candidate|solution|it|答案|回答"
_LINK = r"(?:\b(?i:is|are|was|be|as)\b|[:：=]|->|→|是|为|為)"
_VERB = r"(?:grade|rate|judge|mark|classif|label|consider|deem)\w*\b[^.\n;:]{0,60}?\bas\b"
_SO = r"(?:\b(?i:so|therefore|thus|hence|is|be|as|return|choose|select|say)\b|[,;:：，。.!?\n]|->|→)"

_SOMEBODYS = re.compile(
    r"\b(?:candidate|predicted|prediction|model|student|response|respondent|gold|golden|standard|reference"
    r"|official|target|ground|truth|correct|right|true|expected|given|provided|option|choice|their|his|her"
    r"|its|user|assistant)\b|候选|标准|参考|考生|模型|学生",
    re.IGNORECASE,
)
_KNOWN_RIGHT = re.compile(
    r"\b(?:gold|golden|standard|reference|official|target|ground|truth)\b|标准|参考", re.IGNORECASE
)
_CLAUSE_START = re.compile(r"[,;:：，。.!?\n]|\b(?:so|therefore|thus|hence|and|but)\b", re.IGNORECASE)
_ARTICLE = re.compile(r" (?!(?:and|or|is|as|because|since|but|for)\b)[a-z]")
_YES_OR_NO = frozenset({"yes", "no"})
"""Words that can answer any question: in the middle of a text it may be another question."""
_TAIL = 200
"""The number of characters searched for a clause: before a position in a reply, and at its end."""
_ENDS_OPENING = re.compile(r"\Z|[ \t]*(?:[.:;!,\n)—–\-。，：；！]|\((?=\w)|because\b|since\b|as\b)")


class Tags(NamedTuple):
    """What a judge is asked to write."""

    right: str = "A"
    wrong: str = "B"
    not_attempted: str | None = "C"


class _StatedVerdict(NamedTuple):
    verdict: str
    start: int
    end: int
    is_tag: bool


class _Spelling:
    """The tags and words of one reading, as patterns."""

    def __init__(self, tags: Tags) -> None:
        named = {tags.right: RIGHT, tags.wrong: WRONG}
        if tags.not_attempted is not None and tags.not_attempted not in named:
            named[tags.not_attempted] = NOT_ATTEMPTED
        self._named: Mapping[str, str] = named
        tag = "|".join(re.escape(one) for one in sorted(named, key=len, reverse=True))
        words = "|".join(word for word, _ in _WORDS)
        self.tag = rf"(?<![\w'’])(?:{tag})(?![\w'’])"
        self.word = rf"(?:(?<![\w'’])(?i:{words})(?![\w'’])|{'|'.join(word for word, _ in _CHINESE)})"
        self.token = rf"(?P<token>{self.tag}|{self.word})"
        # "A: CORRECT" and "A (CORRECT)" are one verdict in two spellings.
        self.spelled = rf"{self.token}(?:[\s:：(\-*_【]*(?P<again>{self.tag}|{self.word}))?"

    def verdict(self, token: str) -> str:
        if token in self._named:
            return self._named[token]
        for word, verdict in (*_WORDS, *_CHINESE):
            if re.fullmatch(word, token, re.IGNORECASE):
                return verdict
        return self._named[next(tag for tag in self._named if tag.casefold() == token.casefold())]

    def is_tag(self, token: str) -> bool:
        return token in self._named

    def read_match(self, match: re.Match[str]) -> _StatedVerdict | None:
        """Return the verdict of a match of `spelled`; None if its two spellings contradict each other."""
        verdict = self.verdict(match["token"])
        end = match.end("token")
        if match["again"] is not None:
            if self.verdict(match["again"]) != verdict:
                return None
            end = match.end("again")
        return _StatedVerdict(verdict, match.start("token"), end, self.is_tag(match["token"]))


def verdict_rules(tags: Tags) -> tuple[Rule[str], ...]:
    """Return the rules that find a verdict, in order.

    A truncated reply is read only by the first rule: its opening is valid, whatever would follow.
    """
    spelling = _Spelling(tags)
    reader = _VerdictReader(spelling)
    return (
        Rule("opening", reader.find_opening),
        Rule("brackets", reader.brackets),
        Rule("labelled", reader.find_labelled),
        Rule("last_clause", reader.last_clause),
        Rule("statements", reader.statements),
    )


class _VerdictReader:
    def __init__(self, spelling: _Spelling) -> None:
        self._spelling = spelling
        spelled, token = spelling.spelled, spelling.token
        label = rf"(?:(?:{_STRONG_NOUN}|{_NOUN})[*_]{{0,2}}[:：])?"
        self._whole = re.compile(rf"{_OPEN}{label}{_OPEN}{_FRAME}{spelled}{_CLOSE}", re.IGNORECASE)
        self._opening = re.compile(rf"{_OPEN}{_FRAME}{spelled}[*_`\"'”’)\]}}】>$]*")
        self._enumerated = re.compile(rf"(?:^|\n)[ \t]{{0,8}}{spelling.tag}[ \t]?[.:)]")
        self._listed = re.compile(rf"\s*(?:,|/|、|or\b|and\b|和|或)\s*(?:or\s+)?{spelling.tag}")
        self._brackets = re.compile(
            rf"\[\[\s*{token}\s*\]\]|\\boxed\s*\{{\s*(?:\\text\s*\{{\s*)?(?P<boxed>{spelling.tag}|{spelling.word})"
            rf"|<(?:answer|verdict|judge?ment|grade)>\s*(?P<tagged>{spelling.tag}|{spelling.word})\s*</"
        )
        self._labelled = re.compile(
            rf"(?:(?<![A-Za-z])(?i:{_STRONG_NOUN})(?![A-Za-z])[^.\n;:：]{{0,40}}?{_LINK}|(?i:\b{_VERB}))"
            rf"{_OPEN}{_FRAME}{spelled}"
        )
        self._weak = re.compile(
            rf"(?<![A-Za-z])(?i:{_NOUN})(?![A-Za-z])[^.\n;:：]{{0,60}}?{_LINK}{_OPEN}{_FRAME}{spelled}"
        )
        self._loud = re.compile(r"(?<!\w)(?:(?P<not>(?i:not)\s+)?CORRECT|INCORRECT|NOT[_ ]ATTEMPTED)(?!\w)")
        self._last = re.compile(rf"(?:^|{_SO}){_OPEN}{_FRAME}{spelled}{_CLOSE}\Z")

    def find_opening(self, body: str) -> RuleMatch | None:
        """Return the verdict that opens a reply, or is the whole reply."""
        whole = self._whole.fullmatch(body)
        if whole is not None:
            return _build_match(self._spelling.read_match(whole), whole)
        match = self._opening.match(body)
        if match is None or not _ENDS_OPENING.match(body, match.end()):
            return None
        if self._listed.match(body, match.end("token")) or len(self._enumerated.findall(body)) > 1:
            return None  # 'A, B or C' and a list of points name no verdict
        stated = self._spelling.read_match(match)
        later = self.brackets(body) or self.find_labelled(body)
        if stated is not None and later is not None and later.answer != stated.verdict:
            stated = None
        return _build_match(stated, match)

    def brackets(self, body: str) -> RuleMatch | None:
        """Return the last verdict in double brackets, in a box or between tags."""
        match = max(self._brackets.finditer(body), key=re.Match.start, default=None)
        if match is None:
            return None
        token = match["token"] or match["boxed"] or match["tagged"]
        return RuleMatch(self._spelling.verdict(token), match.start(), match.end())

    def find_labelled(self, body: str) -> RuleMatch | None:
        """Return the last verdict that follows a word for one: `Verdict:`, `I grade this as`."""
        found = None
        for match in self._labelled.finditer(body):
            if self._is_meant(body, match):
                found = _build_match(self._spelling.read_match(match), match)
        return found

    def last_clause(self, body: str) -> RuleMatch | None:
        """Return the verdict in a reply's last clause: `Based on all this, A`."""
        match = self._last.search(body, max(0, len(body.rstrip()) - _TAIL))
        if match is None or not self._is_meant(body, match) or match["token"].casefold() in _YES_OR_NO:
            return None
        stated = self._spelling.read_match(match)
        if stated is not None and stated.is_tag and self._is_somebodys(body, stated.start):
            return None
        if stated is not None and any(one.verdict != stated.verdict for one in self._statements(body)):
            stated = None
        return _build_match(stated, match)

    def statements(self, body: str) -> RuleMatch | None:
        """Return the verdict of statements such as `it is not correct`; all statements must agree."""
        every = list(self._statements(body))
        if not every:
            return None
        verdicts = {one.verdict for one in every}
        return RuleMatch(every[-1].verdict if len(verdicts) == 1 else None, every[-1].start, every[-1].end)

    def _statements(self, body: str) -> Iterator[_StatedVerdict]:
        for match in self._weak.finditer(body):
            stated = self._spelling.read_match(match)
            is_meant = self._is_meant(body, match) and match["token"].casefold() not in _YES_OR_NO
            if stated is None or not is_meant:
                continue
            at = match.start("token")
            if stated.is_tag and self._is_somebodys(body, at):
                continue  # 'the candidate's answer is B' reports somebody's answer
            if not stated.is_tag and _KNOWN_RIGHT.search(body, _clause_start(body, match.start()), at):
                continue
            yield stated
        for match in self._loud.finditer(body):
            verdict = WRONG if match["not"] else self._spelling.verdict(match[0].replace("_", " "))
            yield _StatedVerdict(verdict, match.start(), match.end(), is_tag=False)

    def _is_meant(self, body: str, match: re.Match[str]) -> bool:
        """Whether a match states a verdict and does not assume one, list several or start a sentence."""
        token, end = match["token"], match.end("token")
        if is_supposed(body, match.start("token")) or self._listed.match(body, end):
            return False
        return not (self._spelling.is_tag(token) and _ARTICLE.match(body, end) and token in ("A", "I"))

    def _is_somebodys(self, body: str, at: int) -> bool:
        return _SOMEBODYS.search(body, _clause_start(body, at), at) is not None


def _clause_start(body: str, at: int) -> int:
    """Return the start of the clause around a position; a link right before it is part of the clause."""
    start = max(0, at - _TAIL)
    before = body[start:at].rstrip(" \t*_`\"'“‘(\n:：")
    return start + max((match.end() for match in _CLAUSE_START.finditer(before)), default=0)


def _build_match(stated: _StatedVerdict | None, match: re.Match[str]) -> RuleMatch:
    if stated is None:
        return RuleMatch(None, match.start("token"), match.end("token"))
    return RuleMatch(stated.verdict, stated.start, stated.end)
