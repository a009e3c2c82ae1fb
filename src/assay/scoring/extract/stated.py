"""Whether a reply states one of the targets as its answer. Precision before recall.

Explicit answer marks come first: a box, an answer tag, a JSON field, 'the answer is'. Without such a mark,
the first sentence or the conclusion must assert a target, and no other sentence may deny it, retract it or
conclude something else.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from assay.core.score import Attempt
from assay.scoring.extract.answer_words import (
    CIVILITY,
    CONCLUSION,
    COPULAS,
    DETERMINERS,
    INNER_CONCLUSION,
    OBJECTION,
    REFUSAL,
    RETRACTION,
)
from assay.scoring.extract.claims import (
    Claim,
    QuestionWords,
    Sentence,
    SentenceClaim,
    index_question,
    is_question,
    judge_sentence,
    split_into_sentences,
)
from assay.scoring.extract.extraction import Extraction, Rule, RuleMatch, run_all_rules, run_rules
from assay.scoring.extract.phrases import LETTER, Phrases, blank_decoration, compile_phrases
from assay.scoring.extract.reply import find_searchable_part
from assay.scoring.extract.spelling import compose_reply
from assay.scoring.extract.statements import find_group_end, find_leads, iter_leads_backwards

_CLOSE_TAG = re.compile(r"</(?:final_?)?(?:answer|choice|option)>", re.IGNORECASE)
_JSON = re.compile(
    r"[\"'](?:final_?)?(?:answer|response|result|label|prediction|output|value"
    r"|correct_answer)[\"']\s*:\s*"
    r"(?:\"(?P<text>(?:[^\"\\]|\\.){0,500})\"|(?P<bare>true|false|-?[\d.]+)|\[(?P<list>[^\[\]]{0,500})\])",
    re.IGNORECASE,
)
_OTHER_LEADS = re.compile(
    r"(?:(?:الإجابة|الجواب)(?:\s+(?:الصحيحة|النهائية|الصحيح|النهائي))?|(?:doğru\s+)?(?:cevap|yanıt)"
    r"|vastaus|उत्तर|जवाब"
    r"|(?:đáp\s+án|câu\s+trả\s+lời)|svar(?:et)?|odpowiedź|antwoord|jawaban(?:nya)?|คำตอบ)"
    r"[\s*_]*(?:[:：]|\b(?:هي|هو|on|là|är|er|to|is|adalah)\b|है)[\s*_]*",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    r"(?:^|\n)[\s*_#>\-]*(?:sentiment|label|class(?:ification)?|category|verdict|result|prediction"
    r"|author|title|name"
    r"|(?:final\s+)?decision|judg[e]?ment|conclusion)[\s*_]*[:：][\s*_]*",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"(?:^|\n)[ \t]*#{1,6}[ \t]*(?:final\s+)?(?:answer|response|solution)[\s*_:]*\n+", re.IGNORECASE
)
_BULLET = re.compile(r"[ \t]*(?:[-*•·]|\d{1,2}[.)])[ \t]+\S")
_SEQUENCE = re.compile(
    r"[\s*_]*(?:first|initially|at\s+first|originally|step\s+\d|to\s+begin|let['’]?s|let\s+(?:us"
    r"|me))\b",
    re.IGNORECASE,
)
_IT_IS = re.compile(
    r"[\s*_]*(?:it|that|this|he|she)(?:'s|\s+is|\s+was)\s+(?:actually\s+|really\s+)?(?:the\s+|an?\s+)?[\w'-]+(?:\s+[\w'-]+){0,2}\s*[.!]*\s*",
    re.IGNORECASE,
)
"""A short sentence that identifies something."""
_WORD = re.compile(f"{LETTER}+")
_LONGEST_ANSWER = 2_000
_SHORT_SENTENCE = 6
"""The maximum number of words of a sentence that is only an answer."""
_LONGEST_ITEM = 4


class ReplyView(NamedTuple):
    """What the rules see: the visible reply as written and without decoration, and the phrases to find."""

    body: str
    plain: str
    phrases: Phrases
    known: QuestionWords


def build_view(body: str, targets: Sequence[str], question: str = "") -> ReplyView:
    """Return what the rules see."""
    return ReplyView(body, blank_decoration(body), compile_phrases(tuple(targets)), index_question(question))


def _read_asserted_phrase(view: ReplyView, judged: SentenceClaim) -> RuleMatch | None:
    """Return an asserted phrase; no answer if a sentence that must assert it does not."""
    if judged.mention is None or judged.claim < Claim.OPENING:
        return None
    start, end = judged.mention.start, judged.mention.end
    return RuleMatch(view.body[start:end], start, end)


def _read_segment(view: ReplyView, start: int, stop: int) -> RuleMatch:
    """Return the phrase that a part of a reply gives as the answer; without one, the search ends."""
    segment = Sentence(start, stop)
    found = _read_asserted_phrase(view, judge_sentence(view.plain, segment, view.phrases, view.known))
    return found or RuleMatch(None, start, stop)


def find_framed_part(view: ReplyView) -> tuple[int, int] | None:
    """Return the span of the answer in the last box or answer tag."""
    last: tuple[int, int] | None = None
    for lead in find_leads(view.body, is_strong_only=True):
        if not lead.is_framed:
            continue
        if view.body[lead.end - 1] == ">":
            closing = _CLOSE_TAG.search(view.body, lead.end)
            last = lead.end, closing.start() if closing else len(view.body)
        elif (stop := find_group_end(view.body, lead.end)) is not None:
            last = lead.end, stop
    return last


def _find_framed_phrase(view: ReplyView) -> RuleMatch | None:
    part = find_framed_part(view)
    return None if part is None else _read_segment(view, *part)


def json_part(view: ReplyView) -> tuple[int, int] | None:
    """Return the span of the answer in the last JSON field named as the answer."""
    if "{" not in view.body:
        return None
    last = deque(_JSON.finditer(view.body), maxlen=1)
    return last[0].span(last[0].lastgroup or "text") if last else None


def _json_answer(view: ReplyView) -> RuleMatch | None:
    part = json_part(view)
    return None if part is None else _read_segment(view, *part)


def announcements(view: ReplyView) -> list[Sentence]:
    """Return the text after the last announcement, from each of its links: 'The answer is Paris.'"""
    spots = [[lead.end for lead in phrase] for phrase in iter_leads_backwards(view.body)]
    for pattern in (_OTHER_LEADS, _LABELLED, _HEADING):
        spots += [[match.end()] for match in pattern.finditer(view.body)]
    last = max((spot for spot in spots if _has_content(view.body, spot[0])), default=None)
    return [] if last is None else [_segment(view, begin) for begin in last]


def _find_announced_phrase(view: ReplyView) -> RuleMatch | None:
    segments = announcements(view)
    for segment in segments:
        if found := _read_asserted_phrase(
            view, judge_sentence(view.plain, segment, view.phrases, view.known)
        ):
            return None if _is_retracted(view, segment.end) else found
    return RuleMatch(None, segments[0].start, segments[-1].end) if segments else None


def _has_content(body: str, start: int) -> bool:
    return any(letter.isalnum() for letter in body[start : start + _LONGEST_ANSWER])


def _segment(view: ReplyView, start: int) -> Sentence:
    """Return the sentence or line that starts at a position, skipping marks and empty lines before it."""
    while start < len(view.plain) and not view.plain[start].isalnum() and view.plain[start] not in "-−":
        start += 1
    part = split_into_sentences(view.plain[start : start + _LONGEST_ANSWER])
    return Sentence(start, start + part[0].end) if part else Sentence(start, start)


def _is_retracted(view: ReplyView, start: int) -> bool:
    """Whether a later sentence retracts a statement or concludes without it."""
    return any(
        (RETRACTION.match(view.plain, one.start) or is_conclusion(view, one))
        and judge_sentence(view.plain, one, view.phrases, view.known).claim < Claim.OPENING
        for one in split_spoken_sentences(view, start)
    )


def is_conclusion(view: ReplyView, sentence: Sentence) -> bool:
    """Whether a sentence concludes: 'So it is Paris.'"""
    if CONCLUSION.match(view.plain, sentence.start):
        return True
    return INNER_CONCLUSION.search(view.plain, sentence.start, sentence.end) is not None


def split_spoken_sentences(view: ReplyView, start: int = 0) -> list[Sentence]:
    """Return the sentences from a position on, without greetings, offers and table rows."""
    spans = [Sentence(one.start + start, one.end + start) for one in split_into_sentences(view.plain[start:])]
    return [
        one
        for one in spans
        if not (text := view.plain[one.start : one.end].strip()).startswith("|")
        and not CIVILITY.fullmatch(text)
    ]


def _find_asserted_phrase(view: ReplyView) -> RuleMatch | None:
    """Return the phrase that the first sentence or the conclusion asserts, if nothing contradicts it."""
    if REFUSAL.search(view.body):
        return None
    spans = split_spoken_sentences(view)
    if not spans or _is_list(view, spans):
        return None
    judged = [judge_sentence(view.plain, one, view.phrases, view.known) for one in spans]
    if any(one.claim is Claim.DENIED for one in judged):
        return None
    at = _find_deciding_sentence(view, spans, judged)
    return None if at is None else _read_asserted_phrase(view, judged[at])


def _find_deciding_sentence(
    view: ReplyView, spans: Sequence[Sentence], judged: Sequence[SentenceClaim]
) -> int | None:
    """Return which sentence states the answer; None if they disagree."""
    concluding = [at for at, one in enumerate(spans) if at and is_conclusion(view, one)]
    first, last = judged[0], judged[-1]
    if concluding:
        return concluding[-1] if judged[concluding[-1]].claim >= Claim.ASSERTED else None
    if first.claim >= Claim.OPENING and not (len(spans) > 1 and _SEQUENCE.match(view.plain, spans[0].start)):
        return 0 if not _is_opposed(view, spans, judged) else None
    if _is_bare(view, spans[0]):
        return None  # 'Jupiter. The second largest is Saturn.'
    restating = [at for at, one in enumerate(spans) if view.known.is_known and _is_restatement(view, one)]
    if restating and all(judged[at].claim >= Claim.ASSERTED for at in restating):
        return restating[-1]
    is_last = last.claim >= Claim.ASSERTED and not restating
    return len(spans) - 1 if is_last else None


def _is_bare(view: ReplyView, sentence: Sentence) -> bool:
    """Whether a sentence is only an answer: few words and no verb of identity."""
    words = [word.casefold() for word in _WORD.findall(view.plain[sentence.start : sentence.end])]
    return len(words) <= _SHORT_SENTENCE and not any(word in COPULAS for word in words)


def _is_restatement(view: ReplyView, sentence: Sentence) -> bool:
    """Whether a sentence identifies something in the words of the question."""
    text = view.plain[sentence.start : sentence.end].casefold()
    words = _WORD.findall(text)
    if is_question(view.plain, sentence):
        return False
    links = [at for at, word in enumerate(words) if word in COPULAS]
    if not links:
        return False
    if not view.known.is_known:  # then any short 'The ... is ...' may restate it
        return words[0] in DETERMINERS and links[-1] > 1 and len(words) - links[-1] <= _LONGEST_ITEM
    subject = [word for word in words[: links[-1]] if len(word) > 3]
    return len(subject) > 0 and sum(word in view.known.words for word in subject) * 2 > len(subject)


def _is_opposed(view: ReplyView, spans: Sequence[Sentence], judged: Sequence[SentenceClaim]) -> bool:
    """Whether a later sentence contradicts the first, or says something else in its words."""
    key = _key(view, spans[0], judged[0])
    for sentence, one in zip(spans[1:], judged[1:], strict=True):
        if one.claim >= Claim.MENTIONED:
            continue
        is_objection = OBJECTION.match(view.plain, sentence.start) and judged[0].claim is not Claim.WHOLE
        if is_objection or RETRACTION.match(view.plain, sentence.start):
            return True
        if judged[0].claim is not Claim.WHOLE and _IT_IS.fullmatch(view.plain, *sentence):
            return True
        if _is_restatement(view, sentence) or (key and _has_key_word(view, sentence, key)):
            return True
    return False


def _key(view: ReplyView, sentence: Sentence, judged: SentenceClaim) -> str:
    """Return the last word of the question before a phrase: 'face' in 'you face north'."""
    if judged.mention is None or judged.claim is Claim.OPENING:
        return ""
    before = [word.casefold() for word in _WORD.findall(view.plain[sentence.start : judged.mention.start])]
    return next((word for word in reversed(before) if word in view.known.words and len(word) > 3), "")


def _has_key_word(view: ReplyView, sentence: Sentence, key: str) -> bool:
    words = [word.casefold() for word in _WORD.findall(view.plain[sentence.start : sentence.end])]
    return key in words and words.index(key) < len(words) - 1


def _is_list(view: ReplyView, spans: Sequence[Sentence]) -> bool:
    """Whether a reply lists candidates: several bullets, or several lines of few words."""
    lines = [line for line in view.body.split("\n") if line.strip()]
    if sum(_BULLET.match(line) is not None for line in lines) > 1:
        return True
    return len(lines) > 1 and len(spans) > 1 and all(_is_item(view, one) for one in spans)


def _is_item(view: ReplyView, sentence: Sentence) -> bool:
    """Whether a line may be a list item: few words, and no full stop after more than one."""
    text = view.plain[sentence.start : sentence.end].strip()
    n_words = len(_WORD.findall(text))
    return _is_bare(view, sentence) and n_words <= _LONGEST_ITEM and (n_words == 1 or not text.endswith("."))


def _whole_reply(view: ReplyView) -> RuleMatch | None:
    spans = split_into_sentences(view.plain)
    if len(spans) != 1:
        return None
    judged = judge_sentence(view.plain, spans[0], view.phrases, view.known)
    return _read_asserted_phrase(view, judged) if judged.claim is Claim.WHOLE else None


STATED_RULES: tuple[Rule[ReplyView], ...] = (
    Rule("whole_reply", _whole_reply),
    Rule("framed", _find_framed_phrase),
    Rule("json_answer", _json_answer),
    Rule("announced", _find_announced_phrase),
    Rule("asserted", _find_asserted_phrase),
)
"""The rules, in the order they are tried."""


def extract_stated(
    text: str, targets: Sequence[str], question: str = "", *, explain: bool = False
) -> Extraction:
    """Return the target that a reply states, as the reply spells it."""
    spelled = compose_reply(text)
    region = find_searchable_part(spelled.text)
    if region is None:
        return Extraction(attempts=(Attempt("unfinished_reasoning"),) if explain else ())
    start, end = region
    view = build_view(spelled.text[start:end], targets, question)
    look: Callable[..., Extraction] = run_all_rules if explain else run_rules
    return look(view, STATED_RULES, start).map_spans(spelled.span)
