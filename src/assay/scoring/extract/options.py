"""Extraction of the chosen option. Named rules from the most to the least reliable; none if unsure.

A rule that guesses would turn an unanswered sample into a right or wrong one, so every rule prefers no
answer. Label rules come first; option texts are compared only if those fail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import msgspec

from assay.core.names import compose_name
from assay.core.score import Attempt
from assay.scoring.extract.choices import (
    equal_choice,
    find_choice_at,
    has_joined_choice,
    is_choice_rejected,
    occurrences,
    split_sentences,
)
from assay.scoring.extract.extraction import Extraction, Rule, RuleMatch, run_all_rules, run_rules
from assay.scoring.extract.labels import (
    CLOSING,
    DECORATION,
    LabelMatch,
    Labels,
    compile_labels,
    ends_phrase,
    is_label_rejected,
)
from assay.scoring.extract.reply import REFUSAL, find_searchable_part
from assay.scoring.extract.spelling import simplify_letters, simplify_reply
from assay.scoring.extract.statements import (
    Lead,
    find_doubt,
    find_leads,
    is_conditional,
    is_denied_after,
    is_supposed,
)
from assay.scoring.extract.verdicts import find_judged_label, ordinal_option, remaining_label
from assay.scoring.normalize import normalize

_FOREIGN = re.compile(rf"{DECORATION}(?P<letter>[A-Z])(?![A-Za-z0-9'’+#=&\-]|\.[A-Za-z]|\s[a-z])")
_FOREIGN_OPENING = re.compile(r"\s*[(\[]?(?P<letter>[A-Z])(?P<mark>[)\].:])(?=\s)")
_MULTIPLE_IN_FRAME = re.compile(r"[A-Z]{2,}(?![A-Za-z])")
_ASKED = re.compile(r"[\s\"'”’*)]*(?:吗|嗎|[?？]|(?:only\s+)?if\b)")
_AT_FIRST = re.compile(
    r"\b(?:at\s+first|initially|originally|first\s+glance|might\s+think|may\s+think)\b[^.\n]*$", re.IGNORECASE
)
_ELIDED = re.compile(r"[*_]*[.!](?:\s|$)|[*_]*$")
_DENIAL = re.compile(r"\b(?:not|neither|nor|wrong|incorrect|no|none)\b|n['’]t\b", re.IGNORECASE)
_LONGEST_SENTENCE = 400
_JOINS_LABEL = re.compile(
    r"[\s\"'”’*_]*[,(（\[–—-]?\s*(?:which\s+is\s+)?(?:option|choice|选项|보기)?\s*[(（\[\"'“*_]*$"
)
_HASHES = "####"
_PRAISING = (
    " is ",
    " be ",
    " seems ",
    " appears ",
    " looks ",
    " ist ",
    " es ",
    " est ",
    " stimmt",
    " trifft ",
)
_N_BEFORE = 24
"""How far before a label another one can be joined."""
_INITIAL = re.compile(r"\s*[A-Z]\.(?:\s|$)")
_DOUBT = re.compile(r"\b(?:wait|actually|hmm|no|however|but)\b", re.IGNORECASE)
_DELIBERATION = re.compile(
    r"\s*[*_#]*\s*(?:let['’]?s|let\s+us|let\s+me|first\b|step\b|to\s+(?:determine|find|solve|answer|figure)"
    r"|okay|ok\b|alright|hmm|we\s+(?:need|have|know|can)|the\s+question|consider|looking\s+at|given)",
    re.IGNORECASE,
)
_BEFORE_LAST_TOKEN = re.compile(
    r"(?:^|[\n:：.,;!?。，—–\-（\[【\"'“‘*_`$~{]|(?<![A-Za-z])\("
    r"|\b(?:is|be|option|choice|answer|letter|choose|with|say|therefore|thus|so|hence))\s*"
    r"[\"'“‘*_`$(（\[【{\s]*$",
    re.IGNORECASE,
)
_CLOSES_REPLY = re.compile(f"{CLOSING}$")


class OptionView:
    """What the rules see. Data that several rules need is computed once."""

    def __init__(self, body: str, labels: Labels, choices: Sequence[str]) -> None:
        self.body = body
        self.labels = labels
        self.choices = choices

    @cached_property
    def is_refusal(self) -> bool:
        """Whether the reply declines to answer."""
        return REFUSAL.search(self.body) is not None

    @cached_property
    def tokens(self) -> list[re.Match[str]]:
        """Return every position where a label is written, in any meaning."""
        return list(self.labels.token.finditer(self.body))

    @cached_property
    def list_leads(self) -> list[Lead]:
        """Return the phrases that announce an answer."""
        return find_leads(self.body)

    def choice(self, label: str) -> str | None:
        """Return the text that belongs to a label."""
        index = self.labels.order[label]
        return self.choices[index] if index < len(self.choices) else None

    def label(self, index: int) -> str:
        """Return the label of an option."""
        return self.labels.labels[index]


def _whole_reply(view: OptionView) -> RuleMatch | None:
    match = view.labels.whole.fullmatch(view.body)
    return RuleMatch(view.labels.name(match), match.start("label"), match.end("label")) if match else None


def _hash_label(view: OptionView) -> RuleMatch | None:
    """Return the label of a last line that is marked as the answer: '#### B'. Headings do not count."""
    at = view.body.find(_HASHES)
    if at < 0 or view.body.find(_HASHES, at + 1) >= 0 or view.body[:at].strip(" ")[-1:] not in ("", "\n"):
        return None
    line = view.body[at:].rstrip()
    match = view.labels.whole.fullmatch(line) or view.labels.line.match(line, len(_HASHES))
    if match is None or "\n" in line:
        return None
    return RuleMatch(view.labels.name(match), at + match.start("label"), at + match.end("label"))


def _find_stated_label(view: OptionView) -> RuleMatch | None:
    """Return the label of the last statement. Several labels in one statement, or one that does not
    exist, are a statement too: nothing weaker may overrule it.
    """
    last: RuleMatch | None = None
    for lead in view.list_leads:
        if last is not None and (lead.end <= last.end or lead.start == last.start):
            continue  # a later link of a sentence that was already read
        last = _read_statement(view, lead) or last
        if last is not None and _is_retracted(view.body, last.end, lead):
            last = RuleMatch(None, last.start, lead.end)
    return _unless_withdrawn(view.body, _last_upheld(view, _find_later_praised(view, last)))


def _unless_withdrawn(body: str, last: RuleMatch | None) -> RuleMatch | None:
    """Return no answer for a statement that is only retracted: 'B. Hmm, actually no, that is wrong.'"""
    if last is None or last.answer is None or (doubt := find_doubt(body, last.end)) is None:
        return last
    return RuleMatch(None, last.start, doubt) if is_denied_after(body, doubt) else last


def _last_upheld(view: OptionView, last: RuleMatch | None) -> RuleMatch | None:
    """Return the later of a statement and 'only B fits', 'B remains' or, after a denial, 'B is.'"""
    body, labels = view.body, view.labels
    for match in labels.upheld.finditer(body) if view.tokens else ():
        start, end = match.span("label")
        is_elided = match["fits"] == "is" and not match["only"]
        if is_elided and not (
            _ELIDED.match(body, match.end()) and _DENIAL.search(body, max(0, start - 120), start)
        ):
            continue
        if match["fits"] and not (match["only"] or is_elided):
            continue
        read = LabelMatch(labels.name(match), start, end, False)
        if (len(match["label"]) == 1 and match["label"].islower()) or is_label_rejected(body, start, end):
            continue
        if (last is None or end > last.end) and not is_supposed(body, start):
            last = RuleMatch(None if _is_joined(view, read) else read.label, start, match.end())
    return last


def _is_retracted(body: str, since: int, lead: Lead) -> bool:
    """Whether a statement was retracted and its replacement is truncated: 'A. No wait, the answer is'."""
    return lead.is_strong and not body[lead.end :].strip() and bool(_DOUBT.search(body, since, lead.start))


def _read_statement(view: OptionView, lead: Lead) -> RuleMatch | None:
    body, labels = view.body, view.labels
    read = labels.read(body, lead.end)
    if read is None or not labels.is_meant(body, read, view.choice(read.label)):
        return _read_foreign(view, lead)
    if is_label_rejected(body, read.start, read.end):
        return None
    if not lead.is_strong and not (read.is_decorated or ends_phrase(body, read.end)):
        return None
    if "\n" in body[lead.end : read.start] and _is_option_list(view, read.label, read.end):
        return None  # 'Let's look at each option:' and the list of them
    named, _ = _read_joined_labels(view, read)
    if len(named) == 1:
        return RuleMatch(read.label, lead.start, read.end)
    if not lead.is_strong or (len(named) > 2 and len(named) == len(labels.labels)):
        return None  # 'choose A, B, C or D' repeats the task
    return RuleMatch(None, lead.start, read.end)


def _read_joined_labels(view: OptionView, read: LabelMatch) -> tuple[set[str], int]:
    """Return the labels joined to one, itself included, and the end of the last of them."""
    named, end = {read.label}, read.end
    while another := view.labels.another.match(view.body, end):
        named.add(view.labels.name(another))
        end = another.end()
    return named, end


def _read_foreign(view: OptionView, lead: Lead) -> RuleMatch | None:
    if not (view.labels.are_letters and lead.is_strong):
        return None
    foreign = _FOREIGN.match(view.body, lead.end)
    if foreign and foreign["letter"] not in view.labels.exact and foreign["letter"] not in view.choices:
        return RuleMatch(None, lead.start, foreign.end())
    if lead.is_framed and (several := _MULTIPLE_IN_FRAME.match(view.body, lead.end)):
        is_known = all(letter in view.labels.exact for letter in several[0])
        if is_known and several[0] not in view.choices:
            return RuleMatch(None, lead.start, several.end())
    return None


def _find_later_praised(view: OptionView, last: RuleMatch | None) -> RuleMatch | None:
    """Return the later of a statement and 'B is correct'."""
    body, labels, at = view.body, view.labels, 0
    # The pattern is expensive, and without a label or one of these words it cannot match.
    if not view.tokens or (body.isascii() and not any(word in body for word in _PRAISING)):
        return last
    while match := labels.praised.search(body, at):
        label, end = labels.name(match), match.end()
        at = match.end("label")
        read = LabelMatch(label, match.start("label"), match.end("label"), False)
        spelled = match["label"]
        is_clear = (
            (len(spelled) > 1 or not spelled.isascii() or not spelled.islower())
            and labels.token.match(body, read.start) is not None
            and labels.token.search(match["middle"]) is None
            and not is_label_rejected(body, read.start, read.end)
            and not is_supposed(body, read.start)
            and not _AT_FIRST.search(body, max(0, read.start - _N_BEFORE), read.start)
            and not _ASKED.match(body, end)
        )
        if is_clear and (last is None or end > last.end):
            last = RuleMatch(None if _is_joined(view, read) else label, read.start, end)
    return last


def _is_joined(view: OptionView, read: LabelMatch) -> bool:
    """Whether another label is joined before a label: 'A or B is correct'."""
    body, labels = view.body, view.labels
    return any(
        labels.name(match) != read.label
        and labels.joint.fullmatch(body, match.end(), read.start) is not None
        and not is_label_rejected(body, match.start(), match.end())
        for match in labels.token.finditer(body, max(0, read.start - _N_BEFORE), read.start)
    )


_KEY = re.compile(r"""["'](\w+)["']\s*:""")
"""A key of a JSON object."""


def _opening_label(view: OptionView) -> RuleMatch | None:
    """Return the label that opens a reply, written as an option: 'B. 2635', 'B) ...', 'B' + line."""
    body, labels = view.body, view.labels
    match = labels.opening.match(body)
    if match is None:
        return _opening_foreign(view)
    start, end = match.span("label")
    if body.startswith("{") and len({key[1] for key in _KEY.finditer(body)} & labels.exact.keys()) > 1:
        return RuleMatch(None, start, end)  # an object that says something about each option
    close = match["close"]
    label, sep = labels.name(match), match["sep"]
    if sep is None and ")" in close:
        sep = ")"
    ends_line = "\n" in close
    is_wrapped = bool(match["open"].strip()) and bool(close.strip())
    if not (sep is not None or ends_line or is_wrapped) or is_label_rejected(body, start, end):
        return None
    spelled, rest = match["label"], body[match.end() :]
    if not _is_option_opening(view, label, spelled, sep, rest, is_wrapped or ends_line):
        return None
    named, last = _read_joined_labels(view, LabelMatch(label, start, end, is_wrapped))
    if len(named) > 1:
        return None if is_label_rejected(body, start, last) else RuleMatch(None, start, end)
    return None if _is_option_list(view, label, end) else RuleMatch(label, start, end)


def _opening_foreign(view: OptionView) -> RuleMatch | None:
    """Return no answer for a reply that opens with a nonexistent option: '(E) 2632'."""
    match = _FOREIGN_OPENING.match(view.body) if view.labels.are_letters else None
    if match is None or match["letter"] in view.labels.exact:
        return None
    is_option = match["mark"] in ")]" or equal_choice(view.body[match.end() :], view.choices) is not None
    return RuleMatch(None, match.start("letter"), match.end()) if is_option else None


def _is_option_opening(
    view: OptionView, label: str, spelled: str, sep: str | None, rest: str, is_sure: bool
) -> bool:
    own = view.choice(label)
    repeats_own = bool(own) and normalize(rest).startswith(normalize(own or ""))
    if not repeats_own and sep == "." and _INITIAL.match(rest):
        return False  # 'D. H. Lawrence'
    if repeats_own or is_sure or not rest.strip():
        return True
    if spelled.isdigit():
        return False  # '1. First, ...' is a step of reasoning
    if spelled in ("A", "a", "I", "i") and sep in (":", "：", ",", "，", ""):
        return False  # 'A: 42' answers a 'Q:', 'I, for one'
    return not (spelled.islower() and spelled != label and sep not in (".", ")"))


def _is_option_list(view: OptionView, label: str, at: int) -> bool:
    line_end = view.body.find("\n", at)
    first = view.body[at : line_end if line_end >= 0 else len(view.body)]
    if any(view.labels.name(match) != label for match in view.labels.inline.finditer(first)):
        return True
    rest = view.body[line_end:].lstrip() if line_end >= 0 else ""
    following = view.labels.line.match(rest)
    if following is None or view.labels.name(following) == label:
        return False
    return not is_label_rejected(rest, *following.span("label"))  # '(A) is wrong' discusses, it does not list


def _equals_choice(view: OptionView) -> RuleMatch | None:
    index = equal_choice(view.body, view.choices)
    if index is None:
        return None
    start = len(view.body) - len(view.body.lstrip())
    return RuleMatch(view.label(index), start, len(view.body.rstrip()))


def _find_stated_choice(view: OptionView) -> RuleMatch | None:
    """Return the option whose text follows the last announcement: 'The answer is Paris, not London.'"""
    last: RuleMatch | None = None
    for lead in view.list_leads:
        if not lead.is_strong:
            continue
        if last is not None and (lead.end <= last.end or lead.start == last.start):
            continue
        at = find_choice_at(view.body, lead.end, view.choices)
        if at is None or is_label_rejected(view.body, at.start, at.end) or _is_repeated(view, at.option):
            continue
        last = RuleMatch(view.label(at.option), lead.start, at.end)
        if has_joined_choice(view.body, at, view.choices):
            last = RuleMatch(None, lead.start, at.end)
    return last


def _last_line_label(view: OptionView) -> RuleMatch | None:
    """Return the label that is the last paragraph of a longer reply, whatever comes before it."""
    before, blank, line = view.body.rstrip().rpartition("\n\n")
    match = view.labels.whole.fullmatch(line) if blank else None
    if match is None or view.labels.whole.fullmatch(before.rpartition("\n")[2]) or view.is_refusal:
        return None
    offset = len(before) + len(blank)
    return RuleMatch(view.labels.name(match), offset + match.start("label"), offset + match.end("label"))


def _find_contained_choice(view: OptionView) -> RuleMatch | None:
    """Return the only option whose text occurs in the reply as an answer."""
    if not view.choices or view.is_refusal:
        return None
    found = occurrences(view.body, view.choices)
    if not found or len({at.option for at in found}) > 1 or _is_repeated(view, found[0].option):
        return None
    if _has_other_label(view, view.label(found[0].option)):
        return None
    spans = split_sentences(view.body)
    (first_start, first_end), (last_start, _) = spans[0], spans[-1]
    at = max(found, key=lambda occurrence: occurrence.start)
    is_cut_off = view.body.rstrip()[-1] not in ".!。*)\"'”}]$`" and view.body[at.end :].strip() != ""
    is_pondering = _DELIBERATION.match(view.body) is not None
    is_concluding = at.start >= last_start and not (is_pondering and (is_cut_off or len(spans) == 1))
    is_first = not is_pondering and any(first_start <= one.start < first_end for one in found)
    return RuleMatch(view.label(at.option), at.start, at.end) if is_concluding or is_first else None


def _has_other_label(view: OptionView, own: str) -> bool:
    """Whether a reply also names another option by its label: 'D. The waves are mechanical'."""
    for match in view.labels.inline.finditer(view.body):
        start, end = match.span("label")
        read = LabelMatch(view.labels.name(match), start, end, False)
        if read.label != own and not is_label_rejected(view.body, start, end) and not _is_joined(view, read):
            return True
    closing = _lone_label(view)
    return closing is not None and closing.answer != own


def _is_repeated(view: OptionView, index: int) -> bool:
    wanted = normalize(view.choices[index])
    return sum(normalize(choice) == wanted for choice in view.choices) > 1


def _lone_label(view: OptionView) -> RuleMatch | None:
    """Return the label that closes the reply or is alone on a line, if no other label is named."""
    body, labels = view.body, view.labels
    if view.is_refusal:
        return None
    seen: list[LabelMatch] = []
    for match in view.tokens:
        start, end = match.span("label")
        is_decorated = start > 0 and body[start - 1] in "(（[【{*_\"'“‘`$"
        read = LabelMatch(labels.name(match), start, end, is_decorated)
        if is_label_rejected(body, start, end):
            return None
        spelled = match["label"]
        is_same_case = len(spelled) > 1 or not spelled.islower() or spelled == read.label
        if is_same_case and labels.is_meant(body, read, view.choice(read.label)):
            seen.append(read)
    if not seen or len({read.label for read in seen}) > 1:
        return None
    for read in reversed(seen):
        if _has_own_line(view, read) or _is_reply_end(view, read, len(seen)):
            return RuleMatch(read.label, read.start, read.end)
    return None


def _has_own_line(view: OptionView, read: LabelMatch) -> bool:
    start = view.body.rfind("\n", 0, read.start) + 1
    stop = view.body.find("\n", read.end)
    line = view.body[start : stop if stop >= 0 else len(view.body)]
    if view.labels.whole.fullmatch(line):
        return True
    match, own = view.labels.line.match(line), view.choice(read.label)
    return match is not None and own is not None and normalize(line[match.end() :]) == normalize(own) != ""


def _is_reply_end(view: OptionView, read: LabelMatch, n_seen: int) -> bool:
    if not _CLOSES_REPLY.match(view.body, read.end) or is_supposed(view.body, read.start):
        return False
    if is_conditional(view.body, read.start):
        return False
    before = view.body[: read.start]
    if n_seen > 1 and not before.replace(view.body[read.start : read.end], "").strip(" ,\n"):
        return True  # the label repeated
    if view.body[read.start : read.end].isdigit():
        return False  # a number at the end of a sentence is a number
    return _BEFORE_LAST_TOKEN.search(before) is not None


_REJECTION = re.compile(
    r"\b(?:not|nicht|pas|no\s+es|não\s+é|non\s+è)\s+(?:the\s+)?(?:option\s+|answer\s+)?[(\[*\"']*$",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"[)\]*\"']*,?\s*(?:but(?:\s+rather)?|sondern|mais|sino|mas|ma|bensì)\s+(?:option\s+)?[(\[*\"']*",
    re.IGNORECASE,
)
_END = re.compile(r"[)\]*\"']*\s*[.!]?\s*")


def _contrasted_label(view: OptionView) -> RuleMatch | None:
    """Return the label that replaces a rejected one at the end of a reply: 'It is not A but B.'"""
    if len(view.tokens) < 2 or view.is_refusal:
        return None
    rejected, last = view.tokens[-2:]
    body, start, end = view.body, *last.span("label")
    is_contrast = (
        _REJECTION.search(body, 0, rejected.start("label"))
        and _CONTRAST.fullmatch(body, rejected.end("label"), start)
        and _END.fullmatch(body, end)
    )
    return RuleMatch(view.labels.name(last), start, end) if is_contrast else None


def _find_paired_choice(view: OptionView) -> RuleMatch | None:
    """Return the option that the last sentence names by text and label: 'So it is Venus, option B.'"""
    if not view.tokens or not view.choices or view.is_refusal:
        return None
    body = view.body
    start, stop = split_sentences(body)[-1]
    start = max(start, stop - _LONGEST_SENTENCE)
    paired: dict[str, tuple[int, int]] = {}
    for match in view.labels.token.finditer(body, start, stop):
        own = (view.choice(view.labels.name(match)) or "").strip().rstrip(".").casefold()
        if match["label"].islower() and view.labels.name(match) != match["label"]:
            continue
        before = _JOINS_LABEL.sub("", body[start : match.start("label")])
        if own and before.casefold().endswith(own) and not is_choice_rejected(body, *match.span("label")):
            paired[view.labels.name(match)] = match.span("label")
    if len(paired) != 1:
        return None
    label, span = next(iter(paired.items()))
    return RuleMatch(label, *span)


def _find_judged_label(view: OptionView) -> RuleMatch | None:
    return find_judged_label(view.body, view.labels, view.tokens)


def _remaining_label(view: OptionView) -> RuleMatch | None:
    found = remaining_label(view.body, view.labels, view.tokens)
    return None if found is None or view.is_refusal else found


def _ordinal_option(view: OptionView) -> RuleMatch | None:
    found = ordinal_option(view.body, view.labels)
    if found is None or found.answer is None or view.is_refusal or _has_other_label(view, found.answer):
        return None
    return found


OPTION_RULES: tuple[Rule[OptionView], ...] = (
    Rule("whole_reply", _whole_reply),
    Rule("hash_label", _hash_label),
    Rule("stated_label", _find_stated_label),
    Rule("opening_label", _opening_label),
    Rule("equals_choice", _equals_choice),
    Rule("stated_choice", _find_stated_choice),
    Rule("last_line_label", _last_line_label),
    Rule("contrasted_label", _contrasted_label),
    Rule("judged_label", _find_judged_label),
    Rule("remaining_label", _remaining_label),
    Rule("ordinal_option", _ordinal_option),
    Rule("paired_choice", _find_paired_choice),
    Rule("contained_choice", _find_contained_choice),
    Rule("lone_label", _lone_label),
)
"""The rules, in the order they are tried."""


def extract_option(
    text: str, labels: Sequence[str], choices: Sequence[str] = (), *, explain: bool = False
) -> Extraction:
    """Return the label of the option that a reply chooses.

    With `explain`, every rule is tried and listed; without it, the first match ends the search.
    """
    if not text.isascii():
        spelled = simplify_reply(text)
        choices = [simplify_letters(compose_name(choice)) for choice in choices]
        return _extract(spelled.text, labels, choices, explain=explain).map_spans(spelled.span)
    return _extract(text, labels, choices, explain=explain)


def _extract(text: str, labels: Sequence[str], choices: Sequence[str], *, explain: bool) -> Extraction:
    names = compile_labels(tuple(labels))
    if not explain:
        spelled = text.strip()
        if label := names.exact.get(spelled):
            start = text.index(spelled)
            return Extraction(label, "whole_reply", (start, start + len(spelled)))
        if quick := names.read_quickly(text, choices):
            rule, label, start, end = quick
            return Extraction(label, rule, (start, end))
    region = find_searchable_part(text)
    if region is None:
        return Extraction(attempts=(Attempt("unfinished_reasoning"),) if explain else ())
    start, end = region
    body = text if region == (0, len(text)) else text[start:end]
    view = OptionView(body, names, choices)
    if not explain:
        return run_rules(view, OPTION_RULES, start)
    found = run_all_rules(view, OPTION_RULES, start)
    if body is not text:
        searched = Attempt("searched_part", None, start, end)
        found = msgspec.structs.replace(found, attempts=(searched, *found.attempts))
    return found
