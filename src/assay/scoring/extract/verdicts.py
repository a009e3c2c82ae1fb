"""The option that remains when a reply judges them one by one: 'A? No. B? Yes.', ticks, elimination.

Statements such as 'the answer is B' are read by other rules, which come first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from assay.scoring.extract.extraction import RuleMatch
from assay.scoring.extract.labels import Labels, is_label_rejected

_TICK = re.compile(r"[✅✔☑✓]")
_CROSS = re.compile(r"[❌✗✘❎🚫✖]")
_ANSWERED = re.compile(
    r"[)\]】）}\"'”’*_`$\s]*[?？][\s*_]*(?:(?P<yes>yes|yep|yeah|correct|right|sí|oui|ja|да|sim|是|对|對|네|예|はい|✅|✔)"
    r"|(?P<no>no|nope|wrong|incorrect|not|non|nein|нет|não|不|否|错|아니|いいえ|❌))(?![^\W_])",
    re.IGNORECASE,
)
_GRADED = re.compile(
    r"[)\]】）}\"'”’*_`$\s]*(?:[:：|–—]|\s-)[\s*_|]*(?:this\s+is\s+|is\s+|it['’]s\s+)?"
    r"(?:(?P<yes>correct|right|true|yes|正确|对|對|정답|맞|正解|correcto|correcta|richtig|верно|вірно|correct[eo]?)"
    r"|(?P<no>incorrect|wrong|false|no|not\b|错误|错|不对|不正确|오답|틀|誤り|不正解|incorrecto|incorrecta|falsch|неверно|faux))"
    r"(?![^\W_])",
    re.IGNORECASE,
)
_GRADED_AT_END = re.compile(
    r"[)\].:：|–—\s*_\"'`-]{1,6}(?:[^\n]{0,80}?[–—:：(|-]\s*)?(?:this\s+is\s+|is\s+)?"
    r"(?:(?P<yes>correct|right|true|yes)|(?P<no>incorrect|wrong|false|no))[\s.!)*_]*$",
    re.IGNORECASE | re.MULTILINE,
)
_ALSO_DENIED = re.compile(
    r"[)\]】）}\"'”’*_`$\s]*(?:,?\s*(?:nor|or|and|neither|ni|noch|ни|и|y|et|und|e|oder|ou|not|也不|和|与|、|，|,|/|&)\s*)+"
    r"(?:ни\s+|ni\s+|option\s+|не\s+)?[\s(（\[\"'“‘*_]*",
    re.IGNORECASE,
)
_ORDINALS: dict[str, int] = {
    word: index
    for index, words in enumerate(
        (
            "first 1st one 1 一 1번째 첫 첫번째 primera première premiere erste первый",
            "second 2nd two 2 二 두 두번째 segunda deuxième deuxieme zweite второй",
            "third 3rd three 3 三 세 세번째 tercera troisième troisieme dritte третий",
            "fourth 4th four 4 四 네 네번째 cuarta quatrième quatrieme vierte четвертый четвёртый",
            "fifth 5th five 5 五 다섯 quinta cinquième fünfte пятый",
        )
    )
    for word in words.split()
}
_ORDINAL = re.compile(
    r"(?<![^\W_])(?:(?P<before>first|second|third|fourth|fifth|last|[1-5](?:st|nd|rd|th)|primera|segunda|tercera|cuarta"
    r"|última|première|deuxième|troisième|quatrième|dernière|erste|zweite|dritte|vierte|letzte|первый|второй|третий"
    r"|четв[её]ртый|последний)\s+(?:option|choice|statement|opción|respuesta|réponse|antwort|вариант|alternative|one\b)"
    r"|(?:option|choice|opción|вариант|(?<!.)number)\s+(?:number\s+|no\.?\s*|#|nº\s*)?(?P<after>[1-5]|one|two|three|four|five))(?![^\W_])"
    r"|第(?P<han>[一二三四五1-5])(?:个|個|项|項)?(?:选项|選項|项|項|个|個)"
    r"|(?<![가-힣])(?P<hangul>첫|두|세|네|다섯)\s?번째(?:\s?(?:보기|선택지|답|것))?"
    r"|(?P<kana>[1-5])\s?番目",
    re.IGNORECASE,
)
_NAMES_PLACE = ("ption", "hoice", "tatement", " one", "umber", "pci", "ternative", "ntwort", "espuesta")
_LAST = frozenset(("last", "última", "dernière", "letzte", "последний"))


class _LabelVerdict(NamedTuple):
    is_right: bool
    start: int
    end: int


def find_judged_label(body: str, labels: Labels, tokens: Sequence[re.Match[str]]) -> RuleMatch | None:
    """Return the only option that a reply ticks or answers with yes; no answer if there are several."""
    right: dict[str, _LabelVerdict] = {}
    wrong: set[str] = set()
    for label, judged in _judgements(body, labels, tokens):
        if judged.is_right:
            right[label] = judged
        else:
            wrong.add(label)
    if not right or not (wrong or _has_ticks(body)):
        return None
    spans = [(judged.start, judged.end) for judged in right.values()]
    if len(right) > 1 or wrong & set(right):
        return RuleMatch(None, spans[0][0], spans[-1][1])
    return RuleMatch(next(iter(right)), *spans[0])


def _has_ticks(body: str) -> bool:
    return not body.isascii() and _TICK.search(body) is not None


def _judgements(
    body: str, labels: Labels, tokens: Sequence[re.Match[str]]
) -> list[tuple[str, _LabelVerdict]]:
    found: list[tuple[str, _LabelVerdict]] = []
    has_marks = not body.isascii() and (_TICK.search(body) or _CROSS.search(body))
    for match in tokens:
        start, end = match.span("label")
        if match["label"].islower() and labels.name(match) != match["label"]:
            continue
        graded = _ANSWERED.match(body, end)
        if graded is None and _is_line_start(body, start):
            graded = _GRADED.match(body, end) or _GRADED_AT_END.match(body, end)
        if graded:
            found.append((labels.name(match), _LabelVerdict(graded["yes"] is not None, start, graded.end())))
        elif has_marks and (mark := _read_line_mark(body, labels, start, end)):
            found.append((labels.name(match), mark))
    return found


def _is_line_start(body: str, start: int) -> bool:
    line = body.rfind("\n", max(0, start - 24), start) + 1
    before = body[line:start] if line or start <= 24 else "too long"
    return not before.lower().replace("option", "").strip(" \t>*_-•|([【（\"'#0123456789.")


def _read_line_mark(body: str, labels: Labels, start: int, end: int) -> _LabelVerdict | None:
    """Return the verdict of a tick or cross on a label's line; none if the line has both."""
    first = body.rfind("\n", max(0, start - 200), start) + 1
    last = body.find("\n", end, end + 300)
    last = min(len(body), end + 300) if last < 0 else last
    is_right = _TICK.search(body, first, last) is not None
    is_wrong = _CROSS.search(body, first, last) is not None
    if is_right == is_wrong:
        return None
    lead = body[first:start].strip(" \t>*_-•|([【（\"'#0123456789.✅✔☑✓❌✗✘❎🚫✖\ufe0f")
    if lead and lead.lower() not in ("option", "choice", "选项", "選項", "보기"):
        return None
    return _LabelVerdict(is_right, start, end)


def remaining_label(body: str, labels: Labels, tokens: Sequence[re.Match[str]]) -> RuleMatch | None:
    """Return the option that remains if all others are rejected: 'not A, not C, so B'."""
    if len(tokens) < len(labels.labels) - 1 or not tokens or not labels.are_marks:
        return None
    matches = [
        match for match in tokens if not (match["label"].islower() and labels.name(match) != match["label"])
    ]
    denied: set[str] = set()
    upheld: set[str] = set()
    for group in _groups(body, matches):
        start, end = group[0].start("label"), group[-1].end("label")
        names = {labels.name(match) for match in group}
        is_denied = is_label_rejected(body, start, end) and not _is_open_question(body, end)
        (denied if is_denied else upheld).update(names)
    rest = [label for label in labels.labels if label not in denied]
    if len(rest) != 1 or upheld - set(rest):
        return None
    own = [match.span("label") for match in matches if labels.name(match) == rest[0]]
    return RuleMatch(rest[0], *(own[-1] if own else (matches[0].start("label"), matches[-1].end("label"))))


def _is_open_question(body: str, end: int) -> bool:
    answered = _ANSWERED.match(body, end)
    return body[end : end + 2].strip(" )*\"'”")[:1] in ("?", "？") and (
        answered is None or answered["no"] is None
    )


def _groups(body: str, matches: Sequence[re.Match[str]]) -> list[list[re.Match[str]]]:
    """Return labels that are denied or named together as one group: 'A, B and C are wrong'."""
    groups: list[list[re.Match[str]]] = []
    for match in matches:
        start = match.start("label")
        if groups and _ALSO_DENIED.fullmatch(body, groups[-1][-1].end("label"), start):
            groups[-1].append(match)
        else:
            groups.append([match])
    return groups


def ordinal_option(body: str, labels: Labels) -> RuleMatch | None:
    """Return the option that a reply names by position: 'the second option', 'Option 2' for B."""
    if not labels.are_letters:
        return None
    named: dict[int, tuple[int, int]] = {}
    if body.isascii() and not any(word in body for word in _NAMES_PLACE):
        return None
    for match in _ORDINAL.finditer(body):
        word = next(word for word in match.groups() if word).lower()
        index = len(labels.labels) - 1 if word in _LAST else _ORDINALS.get(word, len(labels.labels))
        if index < len(labels.labels) and not is_label_rejected(body, *match.span()):
            named[index] = match.span()
    if len(named) != 1:
        return None
    index, span = next(iter(named.items()))
    return RuleMatch(labels.labels[index], *span)
