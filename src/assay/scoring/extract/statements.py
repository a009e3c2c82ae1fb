"""Phrases with which models announce an answer, in the languages of real outputs.

A *lead* is such a phrase up to the position where the answer must follow. The caller decides what is read
there: a label, an option's text, a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

_LINK = r"(?:\b(?:is|are|be|es|est|ist|lautet|è|é)\b|=>|[:：=]|->|[→⇒➜➔➡⟶⟹]\ufe0f?|\\to\b)"
_NOUN = (
    r"(?<![A-Za-z])(?:"
    # nouns that only announce an answer may be some distance from their link
    r"(?P<noun>(?:(?<!-)answer|ans|conclusion|respuesta|réponse|reponse|antwort|risposta|resposta|ответ)\b"
    r"(?!\s+(?:choices|options|questions|sheets?)\b)(?:[_ ](?:choice|option|letter|key|label|id)\b)?"
    r"|(?:answer|correct|selected|chosen|predicted)_(?:answer|choice|option|letter|label|key))"
    r"[*_\"'`)\]]*(?P<gap>[^.\n:：=!?;]{0,60}?)"
    # nouns that may also just mention an option must be directly followed by it
    r"|(?:option|choice|selection|response|pick|guess|prediction)\b[*_\"'`]*\s*"
    r"(?:would\s+|should\s+|must\s+|will\s+|has\s+to\s+)?(?:be\s*)?"
    r")" + _LINK
)
_FRAME = (
    r"(?P<boxed>\\f?box(?:ed)?(?:\s*\{|\s+(?=\S)))|(?P<tag><(?:(?:final_?)?(?:answer|choice|option)|final)>)"
)
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
    r"|(?:this|that|which|it)\s+gives|we\s+get|(?:no,?\s+wait|wait,?\s+no|i\s+mean|or\s+rather|make\s+that|(?<=\?\s)no),?"
    r"|(?:after|on|upon)\s+(?:reconsidering|reflection|second\s+thought)|correct(?:\s+(?:one|option))?(?=:)|lean(?:ing)?\s+towards?|seems\s+to\s+be|leaves(?:\s+us)?(?:\s+with)?|therefore|thus|hence|so)"
    r"(?![A-Za-z])[,:]?"
)
# These words announce anything; the option must end the phrase.
_ASIAN_VERB = (
    r"(?:所以|因此|因而|显然|而是|[，,：:][故即]"
    r"|(?:认为|認為|觉得|覺得|应该|應該|应当)(?:是|为|為)?)[，,：:]?\s*"
)
# Languages whose word for 'answer' or 'option' is followed by the answer, with or without a link.
_OTHER = (
    r"(?:الإجابة|الاجابة|الجواب|الخيار|پاسخ|گزینه)[^.\n:،؟!]{0,30}?(?:\s(?:هي|هو|است)\s|[:：])|(?:الإجابة|الجواب|پاسخ)\s"
    r"|(?:उत्तर|जवाब|विकल्प)\s*(?:है\s*)?[:：]?\s*"
    r"|(?<![^\W_])(?:(?:cevap|yanıt|cevabı|cevabım)\s*[:：]?\s*"
    r"|(?:đáp\s+án|câu\s+trả\s+lời)[^.\n:：]{0,30}?(?:(?<![^\W_])là(?![^\W_])|[:：])"
    r"|jawaban[^.\n:：]{0,30}?(?:\b(?:adalah|ialah)\b|[:：])|odpowied[źz][^.\n:：]{0,30}?(?:\b(?:to|jest)\b|[:：–—])"
    r"|antwoord[^.\n:：]{0,30}?(?:\bis\b|[:：])|svar(?:et)?[^.\n:：]{0,30}?(?:\b(?:är|er)\b|[:：])"
    r"|(?:ответ|вариант|відповідь)[^.\n:：]{0,30}?(?:[—–:：]|\bэто\b)"
    r"|απάντηση[^.\n:：]{0,30}?(?:\bείναι\b|[:：]))"
    r"|คำตอบ[^\n:：]{0,30}?(?:คือ|[:：])|התשובה[^.\n:：]{0,30}?(?:\s(?:היא|הוא)\s|[:：])"
)
# "A: C" on a line of its own: the short form of "Answer: C"; "The answer?"; and a heading above the answer.
_SHORT = (
    r"(?:^|(?<=\n))\s*A\s*[:：](?=\s*\S)|(?<![A-Za-z])(?:answer\s?\?|final\s?[:：])"
    r"|(?:^|(?<=\n))[#*_ \t>]*+(?:(?:the|my|final|correct)\s+){0,2}answer[*_]*+[ \t]*+\n++"
)
# The weak phrases of other languages: the option must end the phrase.
_OTHER_VERB = (
    r"(?<![^\W_])(?:(?:así\s+que|por\s+(?:lo\s+)?tanto|entonces|en\s+realidad|creo\s+que)?,?\s*(?:es|sería)(?:\s+(?:la|el))?"
    r"|elijo(?:\s+la)?|escojo(?:\s+la)?|donc|c['’]est(?:\s+donc)?(?:\s+la)?|je\s+(?:choisis|dirais)|also|richtig\s+ist|es\s+ist|ich\s+(?:wähle|nehme)|quindi|portanto"
    r"|значит|остаётся|остается|верно|правильно|это|أختار|إذن|seçiyorum|vậy|jadi)(?![^\W_])[,:]?"
    r"|(?:只剩下?|剩下的?(?:只有|是)?|よって|したがって|따라서|그러므로|결국|다시\s*보니|इसलिए)[，,、：:]?"
)

# Separate, because a reply without a backslash, a tag or an Asian letter need not be searched for them.
_NOUN_LEAD = re.compile(f"{_NOUN}|{_SHORT}", re.IGNORECASE)
_VERB_LEAD = re.compile(_VERB, re.IGNORECASE)
_FRAME_LEAD = re.compile(_FRAME, re.IGNORECASE)
_ASIAN_LEAD = re.compile(_ASIAN)
_OTHER_LEAD = re.compile(_OTHER, re.IGNORECASE)
_OTHER_VERB_LEAD = re.compile(_OTHER_VERB, re.IGNORECASE)
_ASIAN_VERB_LEAD = re.compile(_ASIAN_VERB)
_OTHER_NOUNS = re.compile(r"[^\x00-\xff]|antwoord|jawaban|svar|cevap|odpowied", re.IGNORECASE)
"""What a reply must contain for those phrases to be searched."""
_NEXT_LINK = re.compile(_LINK, re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?;\n。！？]")
_SUPPOSED = re.compile(
    r"(?:\b(?:if|whether|unless|suppose|supposing|assume|assuming|imagine|were)\b|如果|假如|假设|要是)"
    r"[^.,;:\n。，；]*$",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\bif\b(?!\s+(?:I\s+(?:had|have|must|were)|forced|pressed))[^.;:\n!?]{0,100},(?P<main>[^.;\n!?,]{0,30})$",
    re.IGNORECASE,
)
_WOULD = re.compile(r"\b(?:would|could|might)\b|['’]d\b", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:incorrect|wrong|false|worst)|(?:\b(?:not|never|cannot)|n['’]t)"
    r"(?:\s+(?:think|believe|say|mean)(?:\s+that)?)?(?:\s+the)?(?:\s+(?:correct|right|best|final))*)\s+$"
    r"|\bdoubt(?:\s+that)?\s+$|(?<![^\W_])(?:no|non|não|nicht|kein|ne|не)\s+$|不(?:能|应该|应|该|会|要|可以)$",
    re.IGNORECASE,
)
_LONE_LETTER = re.compile(r"(?<![A-Za-z'’])[B-HJ-Z](?![A-Za-z'’])")

_DOUBT = re.compile(
    r"(?:^|(?<=[.!?。！？…\n]))[\s*_(—–-]*(?:(?:no|hmm+|oh|ah|oops|but|hold\s+on)[,.!\s]*)*"
    r"(?:(?:wait|actually|hmm+|oops|correction|hold\s+on|scratch\s+that|sorry,?\s+i|i\s+made\s+an?\s+(?:mistake|error)"
    r"|let\s+me\s+(?:re|correct|fix)|that(?:['’]s|\s+is|\s+was)\s+(?:wrong|incorrect|not\s+right)|that\s+can(?:['’]t|not)"
    r"|no,\s)(?![^\W_])|等等|不对|不對|等一下|잠깐|아니[,.]|待って|いや|espera|attends|moment|halt|постой|подожди|стоп)",
    re.IGNORECASE,
)
_CONFIRMS = re.compile(
    r"\b(?:yes|correct|right|confirmed|indeed|good|matches|consistent)\b|✓|✔|✅|正确|对的|맞", re.IGNORECASE
)
_DENIES = re.compile(
    r"\b(?:wrong|incorrect|not\s+(?:right|correct)|can(?:['’]t|not)\s+be|mistake|error)\b|错|不对|틀",
    re.IGNORECASE,
)

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
    """Whether it opens a box or a tag for the answer."""


def find_leads(body: str, *, is_strong_only: bool = False) -> list[Lead]:
    """Return the leads of a reply in order, including later links of the same sentence.

    'The answer to "what is x" is' has two links; the answer may follow each of them.
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
    if not is_strong_only:
        found += [Lead(*match.span(), False, False) for match in _OTHER_VERB_LEAD.finditer(body)]
    if not body.isascii():
        found += [Lead(match.start(), match.end(), True, False) for match in _ASIAN_LEAD.finditer(body)]
        if not is_strong_only:
            found += [Lead(*match.span(), False, False) for match in _ASIAN_VERB_LEAD.finditer(body)]
    if _OTHER_NOUNS.search(body):
        found += [Lead(*match.span(), True, False) for match in _OTHER_LEAD.finditer(body)]
    if len(found) > 1:
        found.sort(key=lambda lead: lead.end)
    return [
        lead
        for lead in found
        if not (is_supposed(body, lead.start, lead.end) or _is_negated(body, lead.start))
    ]


def iter_leads_backwards(body: str) -> Iterator[list[Lead]]:
    """Yield the strong leads outside boxes and tags, the last phrase first, each with its links in order."""
    for _, phrase in reversed(
        [(start, list(group)) for start, group in groupby(_find_unframed_leads(body), _start)]
    ):
        yield phrase


def _find_unframed_leads(body: str) -> list[Lead]:
    found = [lead for lead in find_leads(body, is_strong_only=True) if not lead.is_framed]
    return sorted(found, key=lambda lead: (lead.start, lead.end))


def _start(lead: Lead) -> int:
    return lead.start


def is_supposed(body: str, at: int, end: int | None = None) -> bool:
    """Whether the words before a position make it an assumption: 'if the answer is B, then'."""
    if at == 0:
        return False
    if _SUPPOSED.search(body, max(0, at - LOOKS_BACK), at) is not None:
        return True
    condition = _CONDITION.search(body, max(0, at - 3 * LOOKS_BACK), at)
    return condition is not None and _WOULD.search(body, condition.start("main"), end or at) is not None


def is_conditional(body: str, at: int) -> bool:
    """Whether a position depends on a condition: 'If size matters, B'."""
    return _CONDITION.search(body, max(0, at - 3 * LOOKS_BACK), at) is not None


def _is_negated(body: str, at: int) -> bool:
    """Whether the words before a lead deny it: 'the incorrect answer is', 'I would not choose'."""
    return at > 0 and _NEGATED.search(body, max(0, at - LOOKS_BACK), at) is not None


def find_group_end(body: str, start: int) -> int | None:
    """Return the end of a LaTeX group whose content starts at `start`; None if it is not closed.

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


def find_doubt(body: str, at: int) -> int | None:
    """Return where a later sentence starts to doubt the statement: 'Wait, ...', 'Actually no'."""
    doubt = _DOUBT.search(body, at)
    return None if doubt is None else doubt.start()


def is_retraction(body: str, doubt: int) -> bool:
    """Whether a doubt ends in a denial, or at least without a confirmation."""
    return is_denied_after(body, doubt) or _CONFIRMS.search(body, doubt) is None


def is_denied_after(body: str, doubt: int) -> bool:
    """Whether something is called wrong after a position."""
    return _DENIES.search(body, doubt) is not None
