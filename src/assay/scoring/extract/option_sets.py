"""Extraction of several options: all options that a reply names together are the answer.

The answer is searched in the same places as in `stated`; what is read there is a chain of labels: 'A and C',
'A, C', `["A", "C"]`, 'AC'. Labels joined by 'or' are not an answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from assay.core.names import compose_name
from assay.core.score import Attempt
from assay.scoring.extract.choices import equal_choice
from assay.scoring.extract.extraction import Extraction, Rule, RuleMatch, run_all_rules, run_rules
from assay.scoring.extract.labels import Labels, compile_labels, is_label_rejected
from assay.scoring.extract.options import extract_option
from assay.scoring.extract.reply import find_searchable_part
from assay.scoring.extract.spelling import simplify_letters, simplify_reply
from assay.scoring.extract.stated import ReplyView, announcements, build_view, find_framed_part, json_part
from assay.scoring.normalize import normalize

SEPARATOR = ", "
"""Between the labels of an answer."""

_BEFORE = re.compile(
    r"(?:[\s*_`\"'“”‘’()\[\]{}$（）【】「」:：#>-]|\\(?:text|textbf|mathrm)\s*\{|\\[()\[\]]"
    r"|(?:the|both|all\s+of|options?|choices?|answers?|letters?|statements?|numbers?|only|are|is|选项"
    r"|選項|보기|las|los|les|die)"
    r"(?![A-Za-z]))*+",
    re.IGNORECASE,
)
_JOIN = re.compile(
    r"[\s*_`\"'“”‘’()\[\]{}$（）【】}]*"
    r"(?:[,，、;+&/]\s*(?:and|as\s+well\s+as|y|et|und|e)?|(?:and|plus|as\s+well\s+as|y|et|und|e|и|و|和"
    r"|与|及|と|와|과|및|그리고)(?=[\s(\[*A-Z]|$)"
    r"|\s(?=\s*$))\s*",
    re.IGNORECASE,
)
_END = re.compile(
    r"[\s*_`\"'“”‘’()\[\]{}$（）【】]*(?:$|[.,;:!\n。，；！—–(（]|-\s|because\b|since\b|as\b|are\b|is\b"
    r"|were\b|both\b|입니다|이다|です|都|均|是|which\b|for\b)",
    re.IGNORECASE,
)
_OR = re.compile(
    r"[\s*_`\"'“”‘’()\[\]]*(?:,\s*)?(?:or|o|ou|oder|или|أو|或|または|또는|혹은|아니면)(?![A-Za-z])",
    re.IGNORECASE,
)
_PRAISE = re.compile(
    r"[\s*_`\"'“”‘’()\[\]]*(?:are|is)\s+(?:both\s+|all\s+|the\s+)?(?:only\s+)?(?:correct|right|true"
    r"|accurate|valid|answers?)"
    r"|[\s*_)\]]*(?:都|均)?(?:是)?(?:正确|正確|对)|\s*(?:이|가|번이)?\s*(?:모두\s*)?(?:정답|맞|옳)",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"\b(?:all\s+(?:of\s+)?(?:the\s+)?(?:above|them|these|options|choices|statements|answers|four"
    r"|three|five))\b"
    r"(?:\s+(?:are|is)\s+(?:correct|right|true))?",
    re.IGNORECASE,
)
_YES = re.compile(r"[✅✓✔☑🗹✔️]|\[[xX✓]\]|\b(?:correct|true|right|yes)\b(?!\s*\?)", re.IGNORECASE)
_NO = re.compile(
    r"[❌✗✘☒✖×]|\[\s\]|\b(?:incorrect|false|wrong|no|not\s+(?:correct|true|right)|isn['’]t"
    r"|untrue)\b",
    re.IGNORECASE,
)
_PLURAL = re.compile(
    r"\b(?:answers|options|choices|statements|ones|letters|selections|respuestas|opciones|réponses"
    r"|antworten|respostas"
    r"|risposte|ответы)\b(?P<rest>[^.\n!?]{0,80})",
    re.IGNORECASE,
)
_LINK = re.compile(r"\b(?:are|son|sont|sind|são|sono)\b|[:：—]", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*(?:[,;\n/&+]|\band\b|\by\b|\bet\b|\bund\b|和|、)\s*(?:and\s+)?", re.IGNORECASE)
_RUN = re.compile(r"[A-Z]{2,12}(?![A-Za-z])")


class OptionSetView(NamedTuple):
    """What the rules see."""

    view: ReplyView
    labels: Labels
    choices: Sequence[str]


class _Chain(NamedTuple):
    labels: tuple[str, ...]
    start: int
    end: int
    is_open: bool
    """Whether the chain does not end its phrase, or continues with 'or'."""


@lru_cache(maxsize=128)
def _label_line(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a line that starts with a label."""
    names = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    return re.compile(
        r"^[ \t>*•\-]*+(?:\d{1,2}[.)][ \t]+)?(?P<box>\[[ xX✓]\]|[✅❌✓✗✔✘☑☐])?[ \t]*+"
        r"(?:option[ \t]+)?[*_(\[]*+"
        rf"(?P<label>{names})[*_)\]]*+[.):： \t*_\-–—]*+(?P<rest>(?:(?<=[.):： \t*_\-–—])[^\n]*)?)$",
        re.MULTILINE | re.IGNORECASE,
    )


def _read_chain(view: OptionSetView, start: int, stop: int) -> _Chain | None:
    """Return the labels in sequence at a position."""
    body, at = view.view.body, start
    found: list[str] = []
    first: int | None = None
    while True:
        lead = _BEFORE.match(body, at, stop)
        at = lead.end() if lead else at
        if not found and (run := _read_letter_run(view, at, stop)):
            return run
        match = view.labels.token.match(body, at, stop)
        if match is None or not _is_written_as_label(view, match):
            break
        if first is None:
            first = match.start()
        if is_label_rejected(body, *match.span("label")):
            break
        found.append(view.labels.name(match))
        at = _skip_choice_text(view, found[-1], match.end(), stop)
        if _OR.match(body, at, stop):
            return _Chain(tuple(found), first, at, True)
        join = _JOIN.match(body, at, stop)
        if join is None or join.end() == at:
            break
        at = join.end()
    if not found or first is None:
        return None
    return _Chain(tuple(dict.fromkeys(found)), first, at, not _ends(body, at, stop))


def _is_written_as_label(view: OptionSetView, match: re.Match[str]) -> bool:
    """Whether a letter is a label; a lower-case one only before a bracket or a full stop."""
    is_lower = len(match["label"]) == 1 and match["label"].islower() and view.labels.are_letters
    return (
        not is_lower
        or match["label"] in view.labels.exact
        or view.view.body[match.end() : match.end() + 1] in (")", "]")
    )


def _ends(body: str, at: int, stop: int) -> bool:
    return at >= stop or _END.match(body, at, stop) is not None or body[at - 1] in " ,\n"


def _read_letter_run(view: OptionSetView, at: int, stop: int) -> _Chain | None:
    """Return labels written together: 'AC'."""
    run = _RUN.match(view.view.body, at, stop) if view.labels.are_letters else None
    if run is None or len(set(run[0])) != len(run[0]):
        return None
    is_known = all(letter in view.labels.exact for letter in run[0])
    is_open = not _ends(view.view.body, run.end(), stop)
    return _Chain(tuple(run[0]), run.start(), run.end(), is_open) if is_known else None


def _skip_choice_text(view: OptionSetView, label: str, end: int, stop: int) -> int:
    """Return the end of a label, including its option's own text: 'A. Paris and C. Rome'."""
    index = view.labels.order[label]
    own = view.choices[index].strip().casefold() if index < len(view.choices) else ""
    mark = re.compile(r"[*_)\]]*\s*[.):：\-–—]*\s*[*_\"'“(]*").match(view.view.body, end, stop)
    at = mark.end() if mark else end
    if own and view.view.body[at : at + len(own)].casefold() == own:
        return at + len(own)
    return end


def _answer(view: OptionSetView, labels: Sequence[str], start: int, end: int) -> RuleMatch:
    ordered = sorted(set(labels), key=lambda label: view.labels.order[label])
    return RuleMatch(SEPARATOR.join(ordered), start, end)


def _own_texts(view: OptionSetView, start: int, stop: int) -> RuleMatch | None:
    """Return the labels of a part that lists option texts: 'Paris and Rome'."""
    text = view.view.body[start:stop]
    pieces = [piece for piece in _BETWEEN.split(text) if normalize(piece)]
    found = [equal_choice(piece, view.choices) for piece in pieces]
    if not found or any(index is None for index in found):
        return None
    return _answer(view, [view.labels.labels[index] for index in found if index is not None], start, stop)


def _read_part(view: OptionSetView, start: int, stop: int) -> RuleMatch | None:
    if found := _own_texts(view, start, stop):
        return found
    chain = _read_chain(view, start, stop)
    if chain is not None:
        return (
            RuleMatch(None, start, stop)
            if chain.is_open
            else _answer(view, chain.labels, chain.start, chain.end)
        )
    if _ALL.match(view.view.body[start:stop].lstrip(" *_")) and not _is_option(view, "all"):
        return _answer(view, view.labels.labels, start, stop)
    return None


def _is_option(view: OptionSetView, word: str) -> bool:
    return any(normalize(choice).startswith(f"{word} of") for choice in view.choices)


def _find_framed_set(view: OptionSetView) -> RuleMatch | None:
    part = find_framed_part(view.view) or json_part(view.view)
    return None if part is None else _read_part(view, *part)


def _find_announced_set(view: OptionSetView) -> RuleMatch | None:
    """Return the labels after the last announcement: 'the answer is A and C', 'the true ones are A and C'."""
    body = view.view.body
    places = [segment.start for segment in announcements(view.view)]
    last = places[0] if places else 0
    for plural in _PLURAL.finditer(body):
        if plural.start() >= last:
            places = [link.end() for link in _LINK.finditer(body, plural.start("rest"), plural.end())]
            last = plural.start()
    for start in places:
        stop = body.find("\n", start)
        found = _read_part(view, start, len(body) if stop < 0 else stop) if body[start:stop].strip() else None
        if found := found or (_lines(view, start) if not body[start:stop].strip(" *_:") else None):
            return found
    return None


def _lines(view: OptionSetView, start: int) -> RuleMatch | None:
    """Return the labels of the lines after an announcement, one option on each."""
    named: list[str] = []
    end = start
    for line in re.finditer(r"[^\n]*\S[^\n]*", view.view.body[start:]):
        if not re.search(r"\w", line[0]):
            continue
        match = _label_line(view.labels.labels).match(line[0])
        if match is None:
            break
        named.append(_name(view, match))
        end = start + line.end()
    is_choice = 0 < len(set(named)) < len(view.labels.labels)
    return _answer(view, named, start, end) if is_choice else None


def _name(view: OptionSetView, match: re.Match[str]) -> str:
    return next(one for one in view.labels.labels if one.casefold() == match["label"].casefold())


def _find_opening_labels(view: OptionSetView) -> RuleMatch | None:
    """Return the labels that open a reply, if no other one is named: 'A and C, not B.'"""
    body = view.view.body
    chain = _read_chain(view, 0, len(body))
    if chain is None or chain.is_open or len(chain.labels) < 2:
        return None
    others = {
        view.labels.name(match)
        for match in view.labels.token.finditer(body, chain.end)
        if not is_label_rejected(body, *match.span("label")) and match["label"].isupper()
    }
    return None if others - set(chain.labels) else _answer(view, chain.labels, chain.start, chain.end)


def _whole_reply(view: OptionSetView) -> RuleMatch | None:
    """Return the labels of a reply that consists of labels."""
    body = view.view.body
    apart = body.split()
    if len(apart) > 1 and all(one.strip(".,;()") in view.labels.exact for one in apart):
        return _answer(view, [view.labels.exact[one.strip(".,;()")] for one in apart], 0, len(body))
    chain = _read_chain(view, 0, len(body))
    if chain is not None and not chain.is_open and not _has_content(body[chain.end :]):
        return _answer(view, chain.labels, chain.start, chain.end)
    is_all = _ALL.match(body.strip(" *_\n")) is not None and not _is_option(view, "all")
    return _answer(view, view.labels.labels, 0, len(body)) if is_all else _own_texts(view, 0, len(body))


def _has_content(text: str) -> bool:
    return any(letter.isalnum() for letter in text)


def _find_marked_lines(view: OptionSetView) -> RuleMatch | None:
    """Return the labels whose lines are marked as right, if every option's line is marked."""
    marks: dict[str, bool] = {}
    start = end = 0
    for match in _label_line(view.labels.labels).finditer(view.view.body):
        text = f"{match['box'] or ''} {match['rest']}"
        label = _name(view, match)
        is_wrong, is_right = _NO.search(text) is not None, _YES.search(text) is not None
        if not (is_wrong or is_right):
            return None
        if label in marks:
            return None
        marks[label] = is_right and not is_wrong
        start, end = (match.start() if len(marks) == 1 else start), match.end()
    chosen = [label for label, is_right in marks.items() if is_right]
    return _answer(view, chosen, start, end) if len(marks) > 1 and chosen else None


def _find_praised_set(view: OptionSetView) -> RuleMatch | None:
    """Return the labels that the last sentence about them calls right: 'A and C are correct'."""
    body, last = view.view.body, None
    at = 0
    while (match := view.labels.token.search(body, at)) is not None:
        at = match.end()
        chain = _read_chain(view, match.start(), len(body))
        if chain is None:
            continue
        at = max(at, chain.end)
        if _PRAISE.match(body, chain.end) and not is_label_rejected(body, match.start(), match.end()):
            last = RuleMatch(None, chain.start, chain.end) if chain.is_open else _answer(view, *chain[:3])
    return last


def _find_listed_set(view: OptionSetView) -> RuleMatch | None:
    """Return the labels of a reply whose lines are options, but not all of them."""
    lines = [line for line in view.view.body.split("\n") if line.strip()]
    matches = list(_label_line(view.labels.labels).finditer(view.view.body))
    named = [_name(view, match) for match in matches]
    is_list = len(lines) - len(matches) <= 1 and 1 < len(set(named)) < len(view.labels.labels)
    return _answer(view, named, matches[0].start(), matches[-1].end()) if is_list else None


SET_RULES: tuple[Rule[OptionSetView], ...] = (
    Rule("whole_set", _whole_reply),
    Rule("framed_set", _find_framed_set),
    Rule("announced_set", _find_announced_set),
    Rule("marked_lines", _find_marked_lines),
    Rule("praised_set", _find_praised_set),
    Rule("opening_set", _find_opening_labels),
    Rule("listed_set", _find_listed_set),
)
"""The rules, in the order they are tried; if none matches, the reply is read for one option."""


def extract_options(
    text: str, labels: Sequence[str], choices: Sequence[str] = (), *, explain: bool = False
) -> Extraction:
    """Return the labels of all options that a reply names as its answer, in order: `A, C`."""
    spelled = simplify_reply(text)
    region = find_searchable_part(spelled.text)
    if region is None:
        return Extraction(attempts=(Attempt("unfinished_reasoning"),) if explain else ())
    start, end = region
    own = [simplify_letters(compose_name(choice)) for choice in choices]
    view = OptionSetView(build_view(spelled.text[start:end], ()), compile_labels(tuple(labels)), own)
    found = (run_all_rules if explain else run_rules)(view, SET_RULES, start).map_spans(spelled.span)
    if found.rule is not None:
        return found
    one = extract_option(text, labels, choices, explain=explain)
    return Extraction(one.answer, one.rule, one.span, (*found.attempts, *one.attempts))
