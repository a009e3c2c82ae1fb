"""The numbers in a part of a reply, with the role of each.

A number after a verb or an equals sign is a result; one after a preposition gives time, place or quantity of
something; a step number, a date, a time or a rounding is not a quantity. `clauses` uses these roles to decide
what a sentence results in.
"""

from __future__ import annotations

import re
from enum import IntEnum
from fractions import Fraction
from typing import NamedTuple

from assay.scoring.extract.number_words import word_numbers
from assay.scoring.normalize import NUMBER, read_number

_NUMBER = re.compile(NUMBER)
_LOOKS_BACK = 48
_LONGEST_UNIT = 60
_SIGNS = frozenset("*×÷·+-−–/xX~～\\")

_GROUPED_BY_DOTS = re.compile(
    r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+(?![0-9])|[0-9]{1,3}(?:\.[0-9]{3}){2,}(?![0-9.,]*[0-9])"
)
_ONE_GROUP_BY_DOT = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}(?![0-9])(?!,[0-9])")
_DECIMAL_COMMA = re.compile(r"[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})(?![0-9])(?!,\s?[0-9])")
_ENGLISH = re.compile(
    r"\b(?:the|is|are|of|so|has|have|will|answer|therefore|thus|we|she|he|it)\b", re.IGNORECASE
)
_DOTS_GROUP = re.compile(
    r"\b(?:der|die|das|ist|sind|und|insgesamt|kostet|il|sono|totale|quindi|são|é|portanto|het|een|bir|adalah|jumlah)\b",
    re.IGNORECASE,
)
_POINTS_OR_GROUPS = re.compile(r"\b(?:el|los|las|hay|son|por lo tanto|respuesta)\b", re.IGNORECASE)
_SAMPLE = 1_000
_LARGEST_CASUAL = 12
"""Numbers up to this are written in words for many reasons; as a result they follow a verb."""

_WORTH = {
    "": 1,
    **dict.fromkeys("백百", 10**2),
    **dict.fromkeys("천千", 10**3),
    **dict.fromkeys("만万萬", 10**4),
    **dict.fromkeys(("십만", "十万", "十萬"), 10**5),
    **dict.fromkeys(("백만", "百万", "百萬"), 10**6),
    **dict.fromkeys(("천만", "千万", "千萬"), 10**7),
    **dict.fromkeys("억亿億", 10**8),
}
"""The factor of the unit after a number."""
_UNITS = r"[십백천十百千]?[만万萬]|[억亿億]|[백천]"
# Alone, 千 and 百 may start a measure, as in 5千克 (kg); after a larger unit they do not.
_UNIT = re.compile(rf"\s?({_UNITS})")
_PART = re.compile(rf"\s?(?P<number>[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]++)(?:\s?(?P<unit>{_UNITS}|[千百]))?")
_SCALE = re.compile(
    r"\s(?:(?P<e3>thousand|mille|tausend|mil|тысяч[аи]?|тыс)|(?P<e6>millions?|millones|millón|millionen|milioni"
    r"|milione|milhões|milhão|миллион(?:а|ов)?|млн)|(?P<e9>billions?|milliards?|milliarden|milliarde|миллиард(?:а|ов)?"
    r"|млрд|miliardi)|(?P<e12>trillions?)|(?P<e5>lakhs?)|(?P<e7>crores?))\b",
    re.IGNORECASE,
)

_COMPOSITE = re.compile(
    r"(?P<moment>[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?![0-9:])"
    r"|(?:[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{2,4})(?![0-9]))"
    r"|[0-9]++\s?:\s?[0-9]++"  # a ratio
)
_ALGEBRAIC = re.compile(
    r"\s?(?:π|√|\\pi\b|\\sqrt\b|sqrt\b)|[xyzK](?![A-Za-z])|\s?[a-z]\b(?=\s*[-+^]\s*[0-9])"
)
_RAISED = re.compile(r"\s?(?:\^|\*\*)\s?\{?\s?(?P<plain>-?[0-9]{1,3})\s?\}?|(?P<high>[⁻⁰¹²³⁴-⁹]{1,3})")
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_LARGEST_POWER = 64
_ROUNDING = re.compile(
    r"[\s-]*(?:decimals?\b|decimal[\s-]+(?:places?|digits?|points?)|d\.?p\b|significant|sig\.?\s?fig|digits?\s+after"
    r"|位小数|位小數|位有效|桁|자리|decimales|décimales|dezimal|nachkommastellen|знак|casas\s+decimais|decimali"
    r"|ways\s+to\b|methods?\b|단계|步)",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"(?:took|takes?|requires?|in|into|these|are|needs?|has)\s+[0-9]{1,2}\s+(?:\w+\s+)?steps?\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\s?(?:years?|months?|weeks?|days?|hours?|minutes?|seconds?)\s+(?:later|ago|earlier|from\s+now)\b"
    r"|\s?(?:年|个月|月|周|天|日|小时|分钟|時間|時|分|週間|か月|ヶ月)(?:之?后|之?後|以后|以後|内|间|間|前|に)"
    r"|\s?(?:년|개월|주|일|시간|분|초)\s?(?:후|뒤|동안|간|전|만에|안에)|\s?[ap]\.?m\b|\s?o['’]clock",
    re.IGNORECASE,
)
_MONTH_OR_DAY = re.compile(r"\s?(?:[月日](?![前后後間间])|월|일(?=\s|[.,。]|$))")
_DATED = re.compile(
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|enero|febrero|marzo|abril|mayo|junio|julio|agosto|octubre|noviembre|diciembre"
    r"|janvier|février|mars|avril|mai|juin|juillet|août|octobre|novembre|décembre|januar|februar|märz|juni|juli"
    r"|oktober|dezember|января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря)\.?",
    re.IGNORECASE,
)
_ENDS_WITH_MONTH = re.compile(rf"(?<![^\W_])(?:{_DATED.pattern})$", re.IGNORECASE)
_BEFORE_MONTH = re.compile(
    rf"\s(?:of\s|de\s|\.\s?)?(?!may\b|mars\b|mar\b|dec\b)(?:{_DATED.pattern})(?![^\W_])", re.IGNORECASE
)
_DENIED_AFTER = re.compile(
    r"[\s*_]*(?:\w{1,3}\s)?(?:is\s+(?:not|wrong|incorrect)\b|isn['’]t|(?:개|명|원)?(?:이|가)?\s?아니|ではな|じゃな)"
)
_NUMBERING = re.compile(r"[ \t>*_#-]*\(?(?P<number>[0-9]{1,4})[.)][*_]*[ \t]+(?=[^\s])")
_AND = re.compile(r"\s(?:[^\W\d_]+\s){0,3}(?:and|or|y|und|et|e|и)\s[$€£¥₩]?", re.IGNORECASE)
_LEFT_SIDE = re.compile(r"(?:\s*/?[^\W\d][\w.$/²³{}-]{0,15}|\s?%){0,3}?\s*[)\]}]*\s*=(?![=>])")
_OPERATION = re.compile(
    r"(?:\s*/?[^\W\d][\w.$/²³{}-]{0,15}|\s?%){0,3}?"
    r"(?:\s*(?:[*×÷·+]|\\times|\\cdot|\\div)\s*|\s[-−–xX/]\s)[(\[$€£¥₩]*\s*"
    r"|\s?%?\s?[-−–~/][$€£¥₩]?|\s?[~～]\s?"
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORDS_BEFORE = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|[=≈:：→⇒>,;，、(（\[|]")
_GRAMMAR = _set(
    "the a an about approximately roughly around exactly only just another all other these those first "
    "last next his her their its my our your same still now then therefore thus approx also already "
    "precisely nearly almost some unos unas los las el la le les die der das den dem un une environ etwa "
    "ungefähr circa aproximadamente примерно около text textbf mathbf mathrm mathit exact rough whole "
    "entire given remaining additional extra of"
)
_LINKS = _set(
    "is are was were be been equals equal equalling gives give gave giving makes make made making gets "
    "get got getting leaves leave left leaving yields yield costs cost totals totaling totalling needs "
    "need needed has have had takes take took earns earn earned pays pay paid becomes become became means "
    "reaches reach spends spend spent saves save saved sells sell sold receives receive received owes owe "
    "owed weighs contains contain holds hold buys buy bought uses use used eats eat ate runs run ran "
    "reads read covers cover total answer result that's it's there's remains remain collected collects "
    "produces produce produced scored scores won wins grows es son hay tiene tendrá tienen será serán "
    "cuesta cuestan recibe reciben obtiene queda quedan gana da dan est sont aura a coûte coûtent reçoit "
    "obtient reste restent fait font gagne ist sind hat haben kostet kosten beträgt lautet ergibt erhält "
    "bekommt bleiben bleibt werden braucht равно равен равна будет получит получаем получится стоит "
    "останется составляет имеет é são tem terá custa custam recebe há fica ficam è sono ha costa riceve "
    "ci restano"
)
_ASIDES = _set(
    "after in within for over during per every each from at by on with between than to until before since "
    "above below under of out through into across among against via toward towards if when day week round "
    "page month year grade level age día semana jour tag después de en durante por cada tras con sobre "
    "entre hasta desde après pendant pour par dans chaque avec sur jusque depuis du des nach für pro von "
    "mit je bei während am zu um aus zwischen bis через за на в из по для от до с depois após em com ao "
    "aos dopo di da ogni dal بعد خلال في من"
)
NUMBERED = _set(
    "step steps part figure fig section chapter table equation eq method case question problem exercise "
    "example option choice appendix line item rule phase stage version gpt paso schritt étape шаг passo 第 "
    "步骤 步驟 图 表 单元"
)
"""Words that number a thing: the number after them is its name."""
_DENIALS = _set("not isn't isn’t wasn't wasn’t never aren't aren’t nicht kein pas не não non")
_TOTALS = _set(
    "total sum amount average mean profit cost price distance difference increase decrease discount speed "
    "rate length width height area volume weight value number change reward product quotient remainder "
    "raise balance tip loss gain salary income savings revenue age temperature probability maximum "
    "minimum median score bill suma totale somme summe сумма media moyenne"
)
_ARRIVALS = _set(
    "up comes come came equal equals amounts amount dropped drops rose falls fell reduced increased "
    "increases grew down simplifies simplify leads adds evaluates reduces sums converts rounds rounded "
    "close igual égal"
)
_DETERMINERS = _set(
    "the these those both all his her their our my its other first last next every each any los las les die"
)
_COPULAS = _set(
    "is are was were be equals equal costs cost totals total answer result es son est sont ist sind "
    "beträgt равно"
)
_ASIAN_COPULAS = (
    "还剩",
    "剩下",
    "剩余",
    "等于",
    "共有",
    "一共",
    "总共",
    "共计",
    "合计",
    "得到",
    "合計は",
    "残りは",
    "総計は",
    "모두",
    "합계는",
)
_ASIAN_LINKS = ("有", "是", "为", "為", "需要", "花了", "付", "得", "는", "은", "は", "が")
_FROM_CHINESE = ("不是", "并非", "而非")
_ENDS_WORD = re.compile(r"(?![一-鿿가-힣])|[个個人元天年月円개명]|입니다|이다|です")
_BARE = "*_`\"'“”‘’«»$\\{[（(#\u200b "


class Role(IntEnum):
    """The role of a number in its sentence, the most informative first."""

    RESULT = 0
    """It follows a verb or an equals sign."""
    SUBJECT = 1
    ASIDE = 2
    """It gives time, place, or the quantity of something."""


class Quantity(NamedTuple):
    """A number in a reply."""

    value: Fraction | None
    """None if it is not a single number: an open calculation, a ratio, a term with a letter."""
    start: int
    end: int
    role: Role
    follows_equals: bool
    is_bold: bool = False
    is_copula: bool = False
    """Whether 'is', a colon or similar marks it as the result."""
    is_left_side: bool = False
    """Whether an equals sign follows: the result is on the other side."""


class _Context(NamedTuple):
    """What the text before a number implies."""

    role: Role
    follows_equals: bool = False
    is_worded: bool = False
    """Whether a word, not a mark, determines the role."""
    is_copula: bool = False


_SUBJECT = _Context(Role.SUBJECT)


def quantities(body: str, start: int, stop: int) -> list[Quantity]:
    """Return the numbers in a part of a reply in order; numbers in words only if it has no digits."""
    found: list[Quantity] = []
    at, has_digits = start, False
    while match := _NUMBER.search(body, at, stop):
        has_digits = True
        at, quantity = _read(body, match, stop)
        if quantity is not None:
            found.append(quantity)
    if not has_digits:
        return _find_word_quantities(body, start, stop)
    return _join_operands(body, found) if len(found) > 1 else found


def _read(body: str, match: re.Match[str], stop: int) -> tuple[int, Quantity | None]:
    """Return where to continue, and the number with its role; None if it is not a quantity."""
    begin = match.start()
    digits = begin
    while not (body[digits].isdigit() or body[digits] in ".\\¼½¾" or not body[digits].isascii()):
        digits += 1
    composite = _COMPOSITE.match(body, digits, stop)
    if composite is not None:
        context = _context(body, begin)
        is_result = context is not None and context.role is Role.RESULT and not context.is_worded
        is_ratio = composite["moment"] is None
        if not (is_result or is_ratio):
            return composite.end(), None
        return composite.end(), Quantity(None, begin, composite.end(), Role.RESULT, False)
    number, end = _read_value(body, match, digits, stop)
    context = _context(body, begin)
    if context is None or _is_label(body, begin, end, number):
        return end, None
    role = Role.ASIDE if _LATER.match(body, end) else context.role
    is_left_side = (
        body.find("=", end, end + _LONGEST_UNIT) >= 0 and _LEFT_SIDE.match(body, end, stop) is not None
    )
    is_bold = body[max(0, begin - 2) : begin] == "**" or body[end : end + 2] == "**"
    value = None if is_left_side else number
    return end, Quantity(
        value, begin, end, role, context.follows_equals, is_bold, context.is_copula, is_left_side
    )


def _read_value(body: str, match: re.Match[str], digits: int, stop: int) -> tuple[Fraction | None, int]:
    value, end = _parse_separators(body, match, digits)
    if value is None:
        return None, end
    value, end = _apply_unit(body, value, end)
    if scale := _SCALE.match(body, end, stop):
        return value * 10 ** int((scale.lastgroup or "e0")[1:]), scale.end()
    if body[end : end + 1] == "k" and not body[end + 1 : end + 2].isalnum() and value != 401:
        return value * 1000, end + 1  # 12k; a 401k is a plan
    if _ALGEBRAIC.match(body, end, stop):
        return None, end + 1
    raised = _RAISED.match(body, end, stop)
    if raised and body[end - 1].isdigit():
        power = int(raised["plain"] or (raised["high"].translate(_SUPERSCRIPTS).strip("-") or "0"))
        is_small = abs(power) <= _LARGEST_POWER and abs(value.numerator) < 10**6 and value != 0
        return (value**power if is_small else None), raised.end()
    return value, end


def _parse_separators(body: str, match: re.Match[str], digits: int) -> tuple[Fraction | None, int]:
    """Return the value by the separators of the reply's language: 1.234,50 and 12,5 are European."""
    sign = -1 if "-" in body[match.start() : digits] or "−" in body[match.start() : digits] else 1
    if grouped := _GROUPED_BY_DOTS.match(body, digits):
        return sign * Fraction(grouped[0].replace(".", "").replace(",", ".")), grouped.end()
    comma = _DECIMAL_COMMA.match(body, digits)
    if (
        comma
        and not (body[digits - 1 : digits] in "([" and digits)
        and _ENGLISH.search(body, 0, _SAMPLE) is None
    ):
        return sign * Fraction(comma[0].replace(",", ".")), comma.end()
    if one := _ONE_GROUP_BY_DOT.match(body, digits):
        if _DOTS_GROUP.search(body, 0, _SAMPLE) and not _ENGLISH.search(body, 0, _SAMPLE):
            return sign * Fraction(one[0].replace(".", "")), one.end()
        if _POINTS_OR_GROUPS.search(body, 0, _SAMPLE):
            return None, one.end()  # 1.500 is 1500 in Spain and 1.5 in Mexico
    return read_number(match[0]), match.end()


def _apply_unit(body: str, total: Fraction, end: int) -> tuple[Fraction, int]:
    """Return a number with its Korean or Chinese unit and smaller parts: 1만 2천 is 12000."""
    unit = _UNIT.match(body, end)
    if unit is None:
        return total, end
    worth, end = _WORTH[unit[1]], unit.end()
    total *= worth
    while part := _PART.match(body, end):
        value, smaller = read_number(part["number"]), part["unit"]
        is_apart = smaller is None and part.start("number") != end
        if value is None or is_apart or _WORTH[smaller or ""] >= worth:
            break  # a number of its own
        worth, end = _WORTH[smaller or ""], part.end()
        total += value * worth
    return total, end


def _is_label(body: str, begin: int, end: int, value: Fraction | None) -> bool:
    """Whether a number only counts steps, decimals or days of a month, or is denied."""
    if _ROUNDING.match(body, end) or _DENIED_AFTER.match(body, end) or _BEFORE_MONTH.match(body, end):
        return True
    if body.startswith("step", end + 1) or body.find("steps", end, end + 20) > 0:
        steps = _STEPS.search(body, max(0, begin - 12), end + 24)
        if steps and steps.end() > end > steps.start():
            return True
    if _MONTH_OR_DAY.match(body, end) and body[begin - 1 : begin] in ("年", "月", "년", "월"):
        return True
    line = body.rfind("\n", max(0, begin - 12), begin) + 1
    if line == 0 and begin > 12:
        return False
    numbering = _NUMBERING.match(body, line)
    if numbering is None or numbering.start("number") != begin or value is None:
        return False
    if value == 1:
        return True
    before = rf"(?:^|\n)[ \t>*_#-]*\(?{value - 1}[.)]"
    return re.search(before, body[max(0, begin - 2_000) : begin]) is not None


def _context(body: str, begin: int) -> _Context | None:
    """Return the context before a number; None if it only names a step or is denied."""
    since = max(0, begin - _LOOKS_BACK)
    line = body.rfind("\n", since, begin) + 1
    tail = body[max(since, line) : begin].rstrip(_BARE)
    if not tail:
        return _SUBJECT
    if tail.endswith(("=", "≈", "≅")):
        return _Context(Role.RESULT, follows_equals=True, is_copula=True)
    if tail.endswith((":", "：", "→", "⇒", ">")):
        return _Context(Role.RESULT, is_copula=True)
    if tail.endswith(_ASIAN_COPULAS):
        return _Context(Role.RESULT, is_worded=True, is_copula=True)
    if tail.endswith(_ASIAN_LINKS):
        return _Context(Role.RESULT, is_worded=True)
    if tail.endswith(_FROM_CHINESE) or tail[-1] in "^_":
        return None
    if not (tail[-1].isalpha() or tail[-1] in "'’"):
        return _SUBJECT
    if body[begin : begin + 4].isdigit() and _ENDS_WITH_MONTH.search(tail):
        return _Context(Role.ASIDE, is_worded=True)  # a year
    return _classify_words([word.lower() for word in _WORDS_BEFORE.findall(tail)])


def _classify_words(words: list[str]) -> _Context | None:
    at = len(words) - 1
    while at >= 0 and words[at] in _GRAMMAR and words[at] != "of":
        at -= 1
    word = words[at] if at >= 0 else ""
    before = words[at - 1] if at > 0 else ""
    if word in NUMBERED or word in _DENIALS or word == "than":
        return None
    if _DATED.fullmatch(word) and at == len(words) - 1 and word != "may":
        return None
    if word in ("least", "most") or (word == "of" and (before in _TOTALS or before in _LINKS)):
        return _Context(Role.RESULT, is_worded=True)
    if word == "de" and before in ("est", "es", "é", "son", "sont"):
        return _Context(Role.RESULT, is_worded=True)
    if word == "to" and (before in _ARRIVALS):
        return _Context(Role.RESULT, is_worded=True)
    if word in _ASIDES:
        return _Context(Role.ASIDE, is_worded=True)
    if word not in _LINKS:
        return _SUBJECT
    return _Context(Role.RESULT, is_worded=True, is_copula=word in _COPULAS and before != "there")


def _join_operands(body: str, quantities: list[Quantity]) -> list[Quantity]:
    """Return the numbers with each calculation as one; its value is open until an equals sign."""
    joined = [quantities[0]]
    for quantity in quantities[1:]:
        last = joined[-1]
        signs = not _SIGNS.isdisjoint(body[last.end : quantity.start])
        between = _OPERATION.fullmatch(body, last.end, quantity.start) if signs else None
        is_negative = body[quantity.start] in "-−–" and body[last.end : quantity.start].strip() == ""
        if quantity.follows_equals or not (between or is_negative):
            is_also_aside = last.role is Role.ASIDE and _AND.fullmatch(body, last.end, quantity.start)
            joined.append(quantity._replace(role=Role.ASIDE) if is_also_aside else quantity)
        else:
            joined[-1] = last._replace(value=None, end=quantity.end, is_left_side=quantity.is_left_side)
    return joined


def _find_word_quantities(body: str, start: int, stop: int) -> list[Quantity]:
    found: list[Quantity] = []
    for number in word_numbers(body, start, stop):
        context = _context(body, number.start)
        opens = not body[start : number.start].strip(_BARE + ":：")
        if (
            context is None
            or _ROUNDING.match(body, number.end)
            or not (
                number.is_clear
                or (opens and _ENDS_WORD.match(body, number.end) and len(body[number.end : stop].split()) < 3)
            )
        ):
            continue
        before = _WORDS_BEFORE.findall(body[max(0, number.start - _LOOKS_BACK) : number.start])
        if before and before[-1].lower() in _DETERMINERS:
            continue  # 'the two numbers'
        if context.role is not Role.RESULT and not opens and number.value <= _LARGEST_CASUAL:
            continue  # 'adds four into each'
        role = Role.ASIDE if _LATER.match(body, number.end) else context.role
        follows_equals, is_copula = context.follows_equals, context.is_copula
        found.append(Quantity(number.value, number.start, number.end, role, follows_equals, False, is_copula))
    return found
