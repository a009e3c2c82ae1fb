"""Extraction of yes or no. True and false count as the same pair, in any language."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from assay.core.score import Attempt
from assay.scoring.extract.answer_words import CONCESSION, REFUSAL, RETRACTION, TURN
from assay.scoring.extract.claims import Sentence, is_question
from assay.scoring.extract.extraction import Extraction, Rule, RuleMatch, run_all_rules, run_rules
from assay.scoring.extract.reply import find_searchable_part
from assay.scoring.extract.spelling import compose_reply
from assay.scoring.extract.stated import (
    ReplyView,
    announcements,
    build_view,
    find_framed_part,
    is_conclusion,
    json_part,
    split_spoken_sentences,
)
from assay.scoring.normalize import normalize

YES, NO = "yes", "no"

_TARGETS = {
    YES: "yes true sí si verdadero cierto oui vrai ja wahr sim verdadeiro sì vero да верно правда نعم "
    "صحيح صح 是 是的 "
    "对 對 正确 正確 真 はい 正しい 예 네 참 evet doğru kyllä totta हाँ हां सही có đúng tak prawda",
    NO: "no false falso non faux nein falsch não нет неверно ложь неправда لا خطأ خاطئ 否 不是 错 錯 "
    "错误 錯誤 不正确 假 "
    "いいえ 偽 아니요 아니오 아뇨 거짓 hayır yanlış ei epätosi नहीं गलत không sai nie fałsz",
}
_POLARITY = {word: polarity for polarity, words in _TARGETS.items() for word in words.split()}

# Each opener must end its phrase: 'no' in 'no idea' and 'true' in 'true north' do not count.
_END = r"(?=\s*(?:$|[.,;:!\n—–。，！；、：،।)\]}]|-\s|\s-{1,2}\s))"
_GOES_ON = (
    r"(?=\s*(?:$|[.,;:!\n—–。，！；、：،।)\]}]|-\s|\s-{1,2}\s)"
    r"|\s+(?:it|they|he|she|this|that|the|there|you|we|i|because|since|as|not|these|those)\b)"
)
_OPENERS: tuple[tuple[str, str], ...] = (
    (YES, rf"(?:yes|yeah|yep|yup|absolutely){_GOES_ON}"),
    (NO, rf"(?:no|nope|nah){_GOES_ON}"),
    (
        YES,
        r"(?:(?:that['’]s|that\s+is|this\s+is|it['’]s|it\s+is)\s+)?(?:indeed\s+)?(?:true|correct"
        r"|right|affirmative|accurate)"
        rf"(?:{_END}|(?=\s+(?:because|since|as)\b))",
    ),
    (
        NO,
        r"(?:(?:that['’]s|that\s+is|this\s+is|it['’]s|it\s+is)\s+)?(?:false|incorrect|wrong"
        r"|inaccurate|untrue|not\s+(?:true|correct|right))"
        rf"(?:{_END}|(?=\s+(?:because|since|as)\b))",
    ),
    (
        YES,
        r"(?:sí|si|verdadero|verdadera|cierto|correcto|oui|vrai|exact|ja|wahr|richtig|stimmt"
        r"|korrekt|sim|verdadeiro|verdadeira"
        r"|correto|sì|vero|corretto|да|верно|правда|правильно|نعم|صحيح|صح|evet|doğru|kyllä|joo"
        r"|totta|oikein|हाँ|हां|सही|có|đúng|tak|prawda)" + _END,
    ),
    (
        NO,
        r"(?:falso|falsa|incorrecto|incorrecta|non|faux|nein|falsch|unwahr|não|incorreto|нет"
        r"|неверно|неправда|ложь|неправильно|لا|خطأ"
        r"|خاطئ|غير\s+صحيح|hayır|yanlış|ei|epätosi|väärin|नहीं|गलत|không|sai|nie|fałsz)" + _END,
    ),
    (YES, rf"(?:是的?|对的?|對的?|没错|沒錯|正确|正確|真|はい|正しい(?:です)?|そうです|その通りです){_END}"),
    (
        NO,
        r"(?:否|不是的?|不|不对|不對|错[误的]?|錯[誤的]?|不正确|不正確|假|いいえ|違います|正しくありません|正しくない(?:です)?"
        rf"|そうではありません|偽){_END}",
    ),
    (YES, rf"(?:예|네|참|사실|맞습니다|맞아요|맞다|그렇습니다|옳습니다)(?:입니다|이다|이에요|예요)?{_END}"),
    (
        NO,
        rf"(?:아니요|아니오|아뇨|아닙니다|거짓|틀렸습니다|틀립니다|틀렸어요|그렇지\s*않습니다)(?:입니다|이다|이에요|예요)?{_END}",
    ),
)
_OPENER = re.compile(
    "|".join(f"(?P<{polarity}{at}>{pattern})" for at, (polarity, pattern) in enumerate(_OPENERS)),
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"(?:[\s*_#>\"'“”‘’「『《({\[$.…—–\-:：]|\\(?:text|textbf|mathrm)\s*\{"
    r"|(?:so|thus|therefore|hence|overall|ultimately|in\s+short|in\s+conclusion"
    r"|based\s+on\s+[^,\n]{1,80}|according\s+to\s+[^,\n]{1,80}"
    r"|well|absolutely|definitely|certainly|clearly|probably|most\s+likely|likely|simply"
    r"|the\s+answer\s+is|it['’]s\s+a|a|i\s+(?:think|believe|would\s+say)"
    r"|das|dies|es|это|c'est|eso\s+es|isto\s+é|è|por\s+(?:lo\s+)?tanto|donc|also|daher|portanto"
    r"|quindi|поэтому|因此|所以|따라서|したがって)[,，]?(?=[\s*_\"'“‘]|[一-龥가-힣]))*+",
    re.IGNORECASE,
)
_BOTH = re.compile(
    r"\b(?:yes|true|no|false)\s*(?:and|or|/|&)\s*(?:yes|true|no|false)\b"
    r"|\bbut\s+(?:actually\s+)?(?:yes|no)\b|是或否|是还是否"
    r"|예\s*(?:또는|/)\s*아니|はい(?:か|または)いいえ|\b(?:sí\s+[oy]\s+no|oui\s+(?:ou|et)\s+non|ja\s+(?:oder"
    r"|und)\s+nein|да\s+или\s+нет)\b",
    re.IGNORECASE,
)
_VALUE = (
    r"(?P<yes>true|correct|right|accurate|yes|affirmative|verdader[oa]|ciert[oa]|correct[oa]|vraie?"
    r"|exacte?|wahr|richtig|korrekt"
    r"|verdadeir[oa]|corret[oa]|ver[oa]|corrett[oa]|верн[оаы]|правда|صحيحة?|doğru|totta)"
    r"|(?P<no>false|incorrect|wrong|inaccurate|untrue|no|negative|fals[oa]|incorrect[oa]|fau(?:x"
    r"|sse)|falsch|unwahr|incorret[oa]|неверн[оаы]"
    r"|ложь|خاطئة?|yanlış)"
)
_STATEMENT = re.compile(
    r"\b(?:statement|claim|assertion|hypothesis|proposition|premise|sentence|answer|this|that|it"
    r"|which|afirmación|respuesta|esto|eso"
    r"|affirmation|réponse|cela|ce|c['’]|aussage|behauptung|antwort|das|dies|es|afirmação|resposta"
    r"|isso|affermazione|risposta"
    r"|утверждение|ответ|это|العبارة|هذا)(?:\b|(?<='))(?P<middle>[^.,;:!?\n]{0,40}?)"
    r"(?:\b(?P<link>is|are|was|be|seems|es|est|ist|é|è|—|هو|هي)|['’]s|(?P<denied>isn['’]t|is\s+not"
    r"|no\s+es|n['’]est\s+pas|ist\s+nicht|não\s+é|non\s+è))\s+"
    r"(?P<adverb>(?:\w+ly\s+|indeed\s+|in\s+fact\s+)?)(?P<negated>not\s+)?[*_\"'“]*(?:"
    + _VALUE
    + r")(?!\w)(?!\s+(?:answer|statement|for|in\s+some|only)\b)",
    re.IGNORECASE,
)

_TAG = re.compile(r"\s*[^\n,;.!?]{1,40}[,;]\s+(?P<tag>(?P<yes>yes)|no)\s*[.!]*\s*", re.IGNORECASE)


def read_target_polarity(targets: Sequence[str]) -> str | None:
    """Return `yes` or `no` if all targets are words for the same one."""
    found = {_POLARITY.get(normalize(target)) for target in targets}
    return found.pop() if len(found) == 1 else None


def _negate(polarity: str) -> str:
    return NO if polarity == YES else YES


def _opener(view: ReplyView, start: int, stop: int) -> RuleMatch | None:
    """Return the word for yes or no that opens a part of a reply."""
    lead = _LEAD_IN.match(view.plain, start, stop)
    match = _OPENER.match(view.plain, lead.end() if lead else start, stop)
    if match is None or match.lastgroup is None:
        return None
    sentence = view.body[start:stop]
    if _BOTH.search(sentence) or is_question(view.body, Sentence(start, stop)):
        return None
    return RuleMatch(match.lastgroup.rstrip("0123456789"), *match.span())


def _statement(view: ReplyView, start: int, stop: int) -> RuleMatch | None:
    """Return the verdict of a sentence on a statement: 'The claim is not true.'"""
    if is_question(view.body, Sentence(start, stop)) or _BOTH.search(view.body, start, stop):
        return None
    for match in _STATEMENT.finditer(view.plain, start, stop):
        before = view.body[start : match.start()]
        if re.search(
            r"\b(?:if|whether|would|could|might|may|not)\b", before + match["middle"], re.IGNORECASE
        ):
            continue
        if CONCESSION.match(before.rsplit(",", 1)[-1]) or _is_conceded(view.plain, match, stop):
            continue
        polarity = YES if match["yes"] else NO
        is_denied = match["negated"] or match["denied"]
        return RuleMatch(_negate(polarity) if is_denied else polarity, match.start(), match.end())
    return None


def _is_conceded(body: str, match: re.Match[str], stop: int) -> bool:
    """Whether the truth is only conceded: 'It is true that ..., but'."""
    return re.match(r"\s+that\b", body[match.end() : match.end() + 8]) is not None and (
        TURN.search(body, match.end(), stop) is not None
    )


def _tag(view: ReplyView, start: int, stop: int) -> RuleMatch | None:
    """Return the word for yes or no at the end of a short sentence: 'It does, yes.'"""
    match = _TAG.fullmatch(view.plain, start, stop)
    return None if match is None else RuleMatch(YES if match["yes"] else NO, *match.span("tag"))


def _read_polarity(view: ReplyView, start: int, stop: int) -> RuleMatch | None:
    return _opener(view, start, stop) or _statement(view, start, stop) or _tag(view, start, stop)


def _make_part_rule(
    part: Callable[[ReplyView], tuple[int, int] | None],
) -> Callable[[ReplyView], RuleMatch | None]:
    """Return a rule for the part of a reply marked as the answer; another word there ends the search."""

    def find(view: ReplyView) -> RuleMatch | None:
        span = part(view)
        return None if span is None else _read_polarity(view, *span) or RuleMatch(None, *span)

    return find


def _find_announced_polarity(view: ReplyView) -> RuleMatch | None:
    segments = announcements(view)
    for segment in segments:
        if found := _read_polarity(view, segment.start, segment.end):
            return found
    return RuleMatch(None, segments[0].start, segments[0].end) if segments else None


def _find_opening_verdict(view: ReplyView) -> RuleMatch | None:
    """Return the verdict of the first sentence, unless the conclusion differs."""
    spans = split_spoken_sentences(view)
    if not spans:
        return None
    first, later = spans[0], spans[1:]
    found = _read_polarity(view, *first)
    if found is not None and REFUSAL.search(view.body, first.start, first.end):
        return RuleMatch(None, *first)
    ends = [one for one in later if is_conclusion(view, one) or RETRACTION.match(view.plain, one.start)]
    concluded = next((polarity for one in reversed(ends) if (polarity := _read_polarity(view, *one))), None)
    if found is None or concluded is None or concluded.answer == found.answer:
        return concluded or found
    return RuleMatch(None, *first)


def _find_closing_verdict(view: ReplyView) -> RuleMatch | None:
    """Return the verdict of the last sentence on the statement."""
    spans = split_spoken_sentences(view)
    return _read_polarity(view, *spans[-1]) if len(spans) > 1 and not REFUSAL.search(view.body) else None


POLARITY_RULES: tuple[Rule[ReplyView], ...] = (
    Rule("framed_yes_no", _make_part_rule(find_framed_part)),
    Rule("json_yes_no", _make_part_rule(json_part)),
    Rule("announced_yes_no", _find_announced_polarity),
    Rule("opening_yes_no", _find_opening_verdict),
    Rule("closing_yes_no", _find_closing_verdict),
)
"""The rules, in the order they are tried."""


def extract_polarity(text: str, *, explain: bool = False) -> Extraction:
    """Return `yes` or `no` as the reply states it."""
    spelled = compose_reply(text)
    region = find_searchable_part(spelled.text)
    if region is None:
        return Extraction(attempts=(Attempt("unfinished_reasoning"),) if explain else ())
    start, end = region
    look: Callable[..., Extraction] = run_all_rules if explain else run_rules
    return look(build_view(spelled.text[start:end], ()), POLARITY_RULES, start).map_spans(spelled.span)
