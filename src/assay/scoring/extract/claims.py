"""What a sentence claims about a phrase: that it is the answer, that it is not, or neither.

A phrase is asserted if it is the only one in its clause, the clause denies and assumes nothing, and the
adjacent words are not part of a longer name. Words of the question count as known: what a reply repeats from
it is neither part of an answer nor another answer.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from assay.scoring.extract.answer_words import (
    AFTER_ANSWER,
    BEFORE_ANSWER,
    CONCESSION,
    COPULAS,
    DENIED_AFTER,
    DETERMINERS,
    HEDGE,
    JOINED,
    JOINS_NEXT,
    NEGATION,
    TURN,
    split_words,
)
from assay.scoring.extract.phrases import LETTER, UNSPACED, Mention, Phrases

_SENTENCE_END = re.compile(
    r"(?<![ .(\n][A-Z])(?<!^[A-Z])(?<!\bSt)(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bJr)(?<!\bSr)(?<!\bMrs)"
    r"(?<!\bvs)(?<!\bNo)"
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bapprox)(?<!\betc)[.!?](?=[\s\"'”’*_)\]]|$)[\"'”’*_)\]]*|[。！？؟।]+"
    r"|\n+"
)
_CLAUSE_END = re.compile(r"[,;:，；：،]|\s[-–—]{1,2}\s|—|–(?=\s)|\s->\s")
_WORD = re.compile(rf"{LETTER}+(?:['.-]{LETTER}+)*")
_QUESTION = re.compile(r"(?:[?？؟]|吗|嗎|呢[?？]?|か[。？]?|까요|인가요|나요)[\s\"'”’*_)\]]*$")
_INVERSION = re.compile(
    r"[\s*_\"'>#-]*(?:is|was|are|were|could|would|might|did|does|do|can|has)\s+(?:it|this|that|he|she|they|there)\b",
    re.IGNORECASE,
)
"""Starts a question that lacks its question mark."""
_NEAR = 60
"""The number of characters in which the word next to a phrase is searched."""
_MOST_MENTIONS = 12
_LONGEST_CLAUSE = 400
"""The number of characters examined before a phrase; limits the cost of one endless sentence."""
_UNSPACED_LINK = re.compile(
    r"(?:是|为|為|叫|叫做|称为|稱為|称作|名为|在|于|於|由|就是|乃|は|が|の名は|：|:|\s|^)[^\s，。、不没非]{0,6}$"
)
_UNSPACED_NEXT = re.compile(rf"\s*[{UNSPACED}]")
_UNSPACED_END = re.compile(
    r"\s*(?:[市省国國](?=[，。；！？,.;!?\s]|$)|$|[，。；！？、.,;!?:：)）\n]|是(?!不)|位于|位於|所?(?:写|寫|著|作|画|说|提出|发明|发现|创作|建造|创立)的?(?:[。，]|$)|です"
    r"|だ(?:。|$|った)"
    r"|である|でした|でござ|は|が|に(?:あ|位)|で(?:あ|し|す)|という|の?こと|[0-9A-Za-z])"
)
_PREFIX = 6
"""The number of letters that two forms of a word share in inflected languages: başkent, başkenti."""
_COUNTRIES = split_words(
    "usa us uk france germany italy spain portugal england scotland ireland wales china japan "
    "india korea canada "
    "australia brazil mexico russia turkey egypt greece austria switzerland belgium netherlands "
    "poland sweden norway "
    "denmark finland ukraine argentina chile peru iran iraq israel kenya nigeria "
    "california texas florida ohio alaska arizona colorado georgia hawaii illinois indiana iowa kansas "
    "kentucky louisiana maine maryland massachusetts michigan minnesota missouri montana nevada oregon "
    "pennsylvania tennessee utah vermont virginia washington wisconsin"
)
_INTRODUCTIONS = split_words(
    "according based yes no so thus therefore hence in well sure not from ok okay "
    "overall today now namely decir between of among both given considering as on at by for "
    "with since during after before"
)
_SUBJECTS = DETERMINERS | split_words("i we you he she it they people one there these those")
"""Words that start a separate clause."""
_APPOSITIVE = split_words("a an the one near with by after before under in following")
_STOP_WORD = 3
"""The maximum length of a word that says nothing about a question's subject."""
_APPOSITION = re.compile(
    r"\b(?:is|was|are|were|by|named|called)\s+(?:a|an|the|his|her|its"
    r"|their)\s+(?:[a-z-]+\s+){0,4}[a-z-]+\s*,$"
)
_PREDICATES = split_words(
    "known considered called correct right indeed clearly also definitely responsible located named widely "
    "generally commonly what where who how one another my our in on at the certainly"
)
"""Words after 'is' in a sentence whose subject is the answer."""
_AUXILIARIES = split_words("has have had does did do will would can could may might should must")
_GENITIVES = split_words("of to with for under about from as over after de du di do da von des der")
_BEFORE_GENITIVES = split_words(
    "known classified classify identified identify described labeled labelled regarded considered "
    "serves acts "
    "defined referred comes come came hails originates taken derives born seen recognized recognised "
    "corresponds correspond corresponding refers equal equals amounts amount belongs way heading "
    "headed going back "
    "wurde wurden went goes given awarded belong city state country kingdom "
    "island name term word made consists called "
    "title "
    "genre form type kind category class topic field domain theme label s'agit trata"
)
_NEXT_ITEM = re.compile(r"\s*[,;]\s*(?P<item>[^,;.!\n]{1,60}?)\s*(?:[,;.!\n]|\b(?:and|or)\b|$)")
_LONGEST_ITEM = 3
_TITLE = re.compile(
    r"\b(?:is|was|are|were|by|to)\s+(?:the|a|an|its|his|her)\s+(?:[A-Z][a-z]+(?:ian|ish|ese|an|ch|ek|ss)\s+)?"
    r"(?:(?!(?:of|to|for|with|in|near|new|next|old|other|second|little|real|so-called)\b)[a-z-]+\s+){1,4}"
    r"(?:the\s+)?$"
)
"""Before a name: the kind of thing it names, as in 'was the Norwegian explorer'."""
_GERMAN_PARTICIPLE = re.compile(r"ge[a-zäöüß]+(?:t|en)|[a-zäöüß]+iert")
_KOREAN_TITLE = re.compile(
    r"\s+(?:시인|작가|선생님?|교수|대통령|박사|장군|감독|씨|님|왕|시|도)(?:입니다|이다|이에요|예요|[은는이가])"
)
_IDENTIFIES = re.compile(r"(?:\b(?:is|are|was|were)|(?<=t)'s)\s+\w", re.IGNORECASE)
_SAYS = re.compile(r"[\s,]*(?:it|that|this|the\s+answer)(?:'s|\s+is|\s+was)\b", re.IGNORECASE)
_CONTINUES = re.compile(
    r"\s*(?:and\s+)?(?:(?:in|by|through|of|to|from|for|with|at|on)\s+which|it|he|she|they|which|who|whose|where"
    r"|when|because|since|as|for|that|this|these|if|although|though|while|whereas|not|so|with)\b",
    re.IGNORECASE,
)
"""Starts a clause with more about the preceding phrase, or an aside."""
_CONCLUDES = re.compile(r"\s*(?:and\s+)?(?:so|thus|therefore|hence|which\s+means)\b", re.IGNORECASE)
_KOREAN_TOPIC = re.compile(r"(?:은|는|이|가|의|에서|에|에게|을|를|로)$")


class Claim(IntEnum):
    """What a sentence claims about a phrase."""

    ABSENT = 0
    MENTIONED = 1
    """The phrase occurs, and the sentence asserts nothing about it."""
    DENIED = 2
    OPENING = 3
    """Asserted, and the sentence starts with it: 'Paris is the capital.'"""
    ASSERTED = 4
    """Asserted as the identity of something: 'The capital is Paris.'"""
    WHOLE = 5
    """The sentence is only the phrase."""


class Sentence(NamedTuple):
    """A sentence or a line of a reply."""

    start: int
    end: int


class SentenceClaim(NamedTuple):
    """What a sentence claims, and where."""

    claim: Claim
    mention: Mention | None = None


class QuestionWords(NamedTuple):
    """What is known about the question."""

    words: frozenset[str] = frozenset()
    text: str = ""

    @property
    def is_known(self) -> bool:
        """Whether there is a question."""
        return bool(self.text)


def index_question(question: str) -> QuestionWords:
    """Return a question in the form in which its words are looked up."""
    folded = question.casefold()
    words: set[str] = set()
    for word in _WORD.findall(folded):
        words.update((word, word.partition("'")[0], *_stems(word)))
        if len(word) > _PREFIX:
            words.add(word[:_PREFIX])
    return QuestionWords(frozenset(words), folded)


def _stems(word: str) -> Iterator[str]:
    """Yield a word without an English ending or the Arabic article: 'released' repeats 'release'."""
    if word.startswith("ال") and len(word) > _STOP_WORD + 1:
        yield word[2:]
    for ending in ("'s", "s", "es", "ed", "d", "ing", "er", "r", "ly"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            yield word[: -len(ending)]


def split_into_sentences(body: str) -> list[Sentence]:
    """Return the sentences and lines of a reply, each with its final punctuation."""
    spans: list[Sentence] = []
    start = 0
    for match in _SENTENCE_END.finditer(body):
        if any(letter.isalnum() for letter in body[start : match.start()]):
            spans.append(Sentence(start, match.end()))
        start = match.end()
    if any(letter.isalnum() for letter in body[start:]):
        spans.append(Sentence(start, len(body)))
    return spans


def is_question(body: str, sentence: Sentence) -> bool:
    """Whether a sentence is a question."""
    end = body[max(sentence.start, sentence.end - _NEAR) : sentence.end].rstrip()
    return _QUESTION.search(end) is not None or _INVERSION.match(body, *sentence) is not None


def judge_sentence(body: str, sentence: Sentence, phrases: Phrases, known: QuestionWords) -> SentenceClaim:
    """Return a sentence's claim about the phrases; an assertion takes precedence over a mention."""
    best = SentenceClaim(Claim.ABSENT)
    for at, mention in enumerate(phrases.find(body, sentence.start, sentence.end)):
        if at >= _MOST_MENTIONS:
            return SentenceClaim(Claim.MENTIONED, mention)  # a reply that repeats itself endlessly
        claim = _claim(body, sentence, mention, phrases, known)
        if claim is Claim.DENIED:
            return SentenceClaim(claim, mention)
        if claim > best.claim:
            best = SentenceClaim(claim, mention)
    return best


def _claim(body: str, sentence: Sentence, mention: Mention, phrases: Phrases, known: QuestionWords) -> Claim:
    start = max(sentence.start, mention.start - _LONGEST_CLAUSE)
    before = body[start : mention.start]
    after = body[mention.after : min(sentence.end, mention.after + _LONGEST_CLAUSE)]
    if not _content(before) and not _content(after):
        return Claim.MENTIONED if is_question(body, sentence) else Claim.WHOLE
    before = _cut_before_turn(before)
    clause = _last_clause(before)
    if DENIED_AFTER.match(body, mention.end, sentence.end) or NEGATION.search(clause):
        return Claim.DENIED
    if is_question(body, sentence) or HEDGE.search(before) or HEDGE.search(_first_clause(after)):
        return Claim.MENTIONED
    if _is_outweighed(after, phrases, known):
        return Claim.MENTIONED
    if JOINED.search(before[-_NEAR:]) or JOINS_NEXT.match(after) or _is_listed(after):
        return Claim.MENTIONED
    is_opening = not _content(clause) and clause == before
    if CONCESSION.match(before if is_opening else clause) or _is_aside(before, clause, known):
        return Claim.MENTIONED
    if _is_identified_before(before, clause) or _is_identified_after(after, phrases):
        return Claim.MENTIONED
    if is_opening and _content(after) and not _is_predicated(after, known):
        return Claim.MENTIONED
    if not (_may_precede(before, body[mention.start], known) and _may_follow(after, mention, known)):
        return Claim.MENTIONED
    if _has_rival(clause, after, phrases, known):
        return Claim.MENTIONED
    return Claim.OPENING if is_opening and _content(after) else Claim.ASSERTED


def _content(text: str) -> bool:
    return any(letter.isalnum() for letter in text)


def _cut_before_turn(before: str) -> str:
    """Return the part after the last 'but': the part before it is not the claim."""
    last = None
    for match in TURN.finditer(before):
        last = match
    return before if last is None else before[last.end() :]


def _is_outweighed(after: str, phrases: Phrases, known: QuestionWords) -> bool:
    """Whether a 'but' after a phrase introduces the actual answer: '..., but the winner was Lyon'."""
    turn = TURN.search(after)
    if turn is None:
        return False
    rest = after[turn.end() :]
    words = _WORD.findall(rest)
    if next(phrases.find(after, turn.end(), len(after)), None) is not None or HEDGE.search(rest):
        return False
    if _SAYS.match(rest) or (phrases.are_names and any(_is_foreign_name(word, known) for word in words)):
        return True
    return any(len(word) > _STOP_WORD and (_is_known(word, known) or word == "answer") for word in words)


def _is_foreign_name(word: str, known: QuestionWords) -> bool:
    """Whether a word may be a name that does not occur in the question."""
    plain = word.partition("'")[0]
    if not word[0].isupper() or plain.casefold() in BEFORE_ANSWER | AFTER_ANSWER:
        return False
    return not _is_known(plain, known)


def _last_clause(before: str) -> str:
    last = 0
    for match in _CLAUSE_END.finditer(before):
        last = match.end()
    return before[last:]


def _first_clause(after: str) -> str:
    match = _CLAUSE_END.search(after, 0, _LONGEST_CLAUSE)
    return after[: match.start()] if match else after[:_LONGEST_CLAUSE]


def _is_listed(after: str) -> bool:
    """Whether another phrase follows in a list: 'Mars, Jupiter and Saturn'."""
    match = _NEXT_ITEM.match(after)
    if match is None:
        return False
    words = _WORD.findall(match["item"])
    folded = [word.casefold() for word in words]
    if not words or len(words) > _LONGEST_ITEM or folded[0] in _COUNTRIES or folded[0].endswith("ly"):
        return False
    return not any(word in AFTER_ANSWER | BEFORE_ANSWER for word in folded)


def _is_aside(before: str, clause: str, known: QuestionWords) -> bool:
    """Whether a clause depends on an earlier one: ', a contemporary of', ', having started'."""
    lead = before[: len(before) - len(clause)]
    if not _content(lead):
        return False
    words = [word.casefold() for word in _WORD.findall(clause)]
    if not words:
        return _is_bare_apposition(before)
    if words[0].endswith("ing") and words[0] != "according":
        return True
    if any(word in COPULAS for word in words) or lead.rstrip()[-1:] in ":：":
        return False
    if _is_introduction(lead):
        return words[0] not in _SUBJECTS and not words[0][0].isupper() and not _is_known(words[0], known)
    is_known = any(len(word) > _STOP_WORD and _is_known(word, known) for word in words)
    return not is_known or words[0] in _APPOSITIVE


def _is_identified_before(before: str, clause: str) -> bool:
    """Whether an earlier clause of the sentence already identifies something: 'It is in Lyon; ...'."""
    lead = before[: len(before) - len(clause)].rstrip()
    if not lead or lead[-1] in ":：" or _CONCLUDES.match(clause) or _APPOSITION.search(lead):
        return False
    return any(
        part.strip() and not CONCESSION.match(part) and _IDENTIFIES.search(part) is not None
        for part in _CLAUSE_END.split(lead)
    )


def _is_identified_after(after: str, phrases: Phrases) -> bool:
    """Whether a later clause of the sentence identifies something else: '..., the second is Lyon'."""
    parts = _CLAUSE_END.split(after[:_LONGEST_CLAUSE])[1:]
    return any(
        (link := _IDENTIFIES.search(part)) is not None
        and _content(part[: link.start()])
        and _CONTINUES.match(part) is None
        and next(phrases.find(part, 0, len(part)), None) is None
        for part in parts
    )


def _is_predicated(after: str, known: QuestionWords) -> bool:
    """Whether the words after a phrase that opens a sentence describe an answer."""
    words = [word.casefold() for word in _WORD.findall(_first_clause(after))[:6]]
    mark = after.strip()[:1]
    if not words or mark in ",.;:!-—–)" or not mark.isascii():
        return True  # other scripts have no articles to rely on
    first, rest = words[0], words[1:]
    if first in COPULAS:
        return not rest or rest[0] in DETERMINERS | _PREDICATES or _is_known(rest[0], known)
    if first in _AUXILIARIES:
        return any(_is_known(word, known) or word in DETERMINERS for word in rest)
    return True


def _is_introduction(lead: str) -> bool:
    words = _WORD.findall(lead.casefold())
    return bool(words) and words[0] in _INTRODUCTIONS and not any(word in COPULAS for word in words)


def _is_bare_apposition(before: str) -> bool:
    """Whether a phrase directly follows something that does not introduce it: 'Lyon, Paris'."""
    lead = before.rstrip()
    mark, words = lead[-1:], _WORD.findall(lead[:-1].casefold())
    if mark in ":：" or not words:
        return False
    if mark in "-–—":
        return any(word in COPULAS for word in words)
    return words[0] not in _INTRODUCTIONS and _APPOSITION.search(lead) is None


def _neighbour(text: str, *, is_last: bool) -> tuple[str, str]:
    """Return the nearest word of a text, and the text between it and the phrase."""
    if is_last:
        tail = text[-_NEAR:]
        last = deque(_WORD.finditer(tail), maxlen=1)
        return (last[0][0], tail[last[0].end() :]) if last else ("", text)
    found = _WORD.search(text, 0, _NEAR)
    return (found[0], text[: found.start()]) if found else ("", text)


def _is_spaced(letter: str) -> bool:
    return re.match(f"[{UNSPACED}]", letter) is None


def _is_known(word: str, known: QuestionWords) -> bool:
    folded = word.casefold()
    if folded in known.words or any(stem in known.words for stem in _stems(folded)):
        return True
    return len(folded) >= _PREFIX and folded[:_PREFIX] in known.words


def _may_precede(before: str, first: str, known: QuestionWords) -> bool:
    word, gap = _neighbour(before, is_last=True)
    if not _is_spaced(first):
        if not before.strip() or _UNSPACED_LINK.search(before[-40:]):
            return True
        return len(known.text) > 1 and before.rstrip()[-2:].casefold() in known.text
    if not word or gap.strip() or "\n" in gap:
        return True
    folded = word.casefold()
    if "\uac00" <= first <= "\ud7a3":
        return bool(_KOREAN_TOPIC.search(word)) or _is_known(word, known)
    if folded in _GENITIVES:
        return _word_before_is_known(before, word, known)
    if first.isupper() and _TITLE.search(before):
        return True
    return folded in BEFORE_ANSWER or _is_known(word, known) or len(gap) > 1


def _word_before_is_known(before: str, word: str, known: QuestionWords) -> bool:
    near = [one.casefold() for one in _WORD.findall(before[-_NEAR:])][-5:-1]
    if word.casefold() in ("as", "from") and any(one in _BEFORE_GENITIVES for one in near):
        return True
    earlier, _ = _neighbour(before.rstrip()[: -len(word)], is_last=True)
    if word.casefold() == "da" and earlier.endswith(("ta", "to", "te", "ti", "sa", "so")):
        return True  # 'scritta da'
    if word.casefold() not in ("after", "over") and earlier.casefold() in COPULAS | _BEFORE_GENITIVES:
        return True
    return len(earlier) > _STOP_WORD and _is_known(earlier, known)


def _may_follow(after: str, mention: Mention, known: QuestionWords) -> bool:
    word, gap = _neighbour(after, is_last=False)
    if mention.particle:
        return mention.particle not in ("도", "라고", "이라고", "이라")
    if _KOREAN_TITLE.match(after):
        return True
    last = after[:1]
    if (last and not _is_spaced(last)) or _UNSPACED_NEXT.match(after):
        return _UNSPACED_END.match(after) is not None or (
            len(known.text) > 1 and after.strip()[:2].casefold() in known.text
        )
    if not word or gap.strip() or "\n" in gap:
        return True
    folded = word.casefold()
    if folded == "of":
        near = _WORD.findall(after[:_NEAR])[1:4]
        return any(len(one) > _STOP_WORD and _is_known(one, known) for one in near)
    if word[0].isupper() and not _is_known(word, known):
        return folded in ("river", "i") or len(gap) > 1
    is_participle = _GERMAN_PARTICIPLE.fullmatch(word) is not None
    return folded in AFTER_ANSWER or is_participle or _is_known(word, known) or len(gap) > 1


def _has_rival(clause: str, after: str, phrases: Phrases, known: QuestionWords) -> bool:
    """Whether a clause names something else that could also be the answer."""
    if not phrases.are_names:
        return False
    words = _WORD.findall(clause)
    trimmed = [one for one in words if one.casefold() not in DETERMINERS]
    if (trimmed and trimmed[-1].casefold() in COPULAS) or _TITLE.search(clause):
        return False
    rest = _WORD.findall(_first_clause(after))
    if not _content(clause) and _is_predicate(rest, known):
        return False
    is_identified = not known.is_known and any(one.casefold() in COPULAS for one in words)
    names = [] if is_identified else [one for one in words if _is_foreign_name(one, known)]
    others = [one for one in rest if _is_foreign_name(one, known) and one.casefold() not in _COUNTRIES]
    return bool(names or others)


def _is_predicate(words: Sequence[str], known: QuestionWords) -> bool:
    """Whether the words after a phrase that opens a sentence answer the question: 'is the', 'won'."""
    if not words:
        return False
    first, second = words[0].casefold(), words[1].casefold() if len(words) > 1 else ""
    if first in COPULAS:
        return second in DETERMINERS
    return _is_known(first, known)
