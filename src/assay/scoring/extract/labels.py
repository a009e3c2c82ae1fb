"""Reading an option label at a position in a reply, and recognizing a letter that is not a label.

Compiled once for each set of labels. Independent of where in a reply a label is searched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from assay.core.names import compose_name
from assay.scoring.extract.spelling import simplify_letters

_LATIN = r"0-9A-Za-z\u00C0-\u024F"
# A limit on the number of marks: a reply of only brackets must stay cheap.
DECORATION = (
    r"(?:[\s\"'“”‘’「『《`*_(（\[【{<$~]"
    r"|\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|mbox|boxed|bf|rm)\s*\{|\\[(\[]|(?<=\n)>){0,16}+"
)
CLOSING = r"(?:[\s\"'”’」』》`*_)）\]】}>$~.。:：,，;；!！]|\\[)\]])*+"
_FILLER = (
    r"(?:\s*+[*_\"'`]*+(?:most\s+likely|probably|likely|therefore|thus|clearly|definitely|indeed|simply"
    r"|actually|then|either|option|choice|letter|number|label|the|la|le|el|options?|:|："
    r"|opción|opção|opzione|letra|lettre|lettera|buchstabe|réponse|respuesta|antwort|вариант|буква|a(?=\s+(?:letra|op[cç])))"
    r"(?![A-Za-z])|\s*+(?:选项|選項|選択肢|보기|الخيار|विकल्प))*+"
)
_CALLED = (
    r"(?:(?:option|opt\.?|choice|answer|letter|letra|alternativa|opción|opção|réponse|respuesta|antwort|ответ|вариант|la)\s+"
    r"|(?:选项|選項|選択肢|보기|선택지)\s*)?"
)
_SURELY = r"(?:(?:definitely|certainly|clearly|obviously|probably|(?:most\s+)?likely)[,:]?\s+)?"
_NUMBERED = r"(?:번(?:\s*(?:입니다|이에요|이다))?|选项|選項|项|項)?"
_ARTICLES = frozenset("aAiI")
# Words that may follow a bare A in a real answer ('A because ...'), where an article needs a noun.
_AFTER_ANSWER = re.compile(
    r"\s+(?:because|since|as|and|or|but|for|due|based|given|which|that|is|in|with|if|when|where|by|on)\b"
)
_TERMINAL = re.compile(
    r"(?:[)\]】）}\"'”’*_`$]|\\[)\]])*\s*(?:$|[\n.,;:!。，；：)\]（(—–]|-\s|because\b|since\b|as\b|due\b"
    r"|(?:here|for\s+this|then|instead|in\s+this\s+case|myself)\b|입니다|이다|이에요|です|だ|है)"
)
_REJECTED_AFTER = re.compile(
    r"[\s)\]】）}\"'”’*_`$]*(?:选项|項|项|번)?\s*(?:"
    r"(?:is|are|was|seems|looks|can\s+be|must\s+be|has\s+been)\s+(?:\w+ly\s+|also\s+|just\s+)?"
    r"(?:not\b|wrong|incorrect|false|impossible|irrelevant|eliminated|ruled|out\b|implausible|unlikely)"
    r"|isn['’]t|cannot|can['’]t|does\s+not|doesn['’]t|(?:是)?(?:错|不对|不正确|不是|吗|嗎)"
    r"|(?:이|가|은|는)?\s*(?:아니|아닙|틀)|\?|？"
    r"|(?:都|均|全)?(?:不对|错|不正确|不是)|では?な|じゃな|は(?:違|誤|間違|不正解|正しくな)"
    r"|no\s+(?:es|son)\b|(?:es|son)\s+(?:incorrect|fals)|n['’]est\s+pas|est\s+(?:fauss|incorrect)"
    r"|(?:ist|sind)\s+(?:falsch|nicht)|trifft\s+nicht|не\s|неверн|неправильн|não\s+(?:é|está)|non\s+è"
    r"|(?:is|are)\s+(?:a\s+)?(?:distractors?|contradicted|traps?\b|red\s+herring)|can\s+be\s+(?:ruled|excluded|discarded))",
    re.IGNORECASE,
)
_REJECTED_BEFORE = re.compile(
    r"(?:(?:\b(?:not|never|cannot)|n['’]t)\s+(?:(?:choose|pick|select|go\s+(?:with|for)|opt\s+for|say|be"
    r"|(?:think|believe)(?:\s+that)?(?:\s+(?:it(?:['’]s|\s+is)|the\s+(?:\w+\s+)?answer\s+is))?)\s+)?"
    r"(?:option|choice|answer|letter|the)?\s*"
    r"|\b(?:neither|nor|no|exclude|excluding|eliminate|eliminating|eliminates|except"
    r"|discard|reject|rule\s+out|rules\s+out|ruling\s+out|than|unlike|wrong|doubt(?:\s+that)?)\s+"
    r"(?:option|choice|answer|letter|the)?\s*"
    r"|\b(?:incorrect|wrong|false|worst)\s+(?:answer|option|choice)s?(?:\s+(?:is|are)|:)\s+"
    r"|(?<![^\W_])(?:ni|weder|noch|ни|kein|nicht|ne|sauf|salvo|außer|кроме|descart(?:o|amos|ar)|elimin(?:o|amos))\s+(?:la\s+|an\s+)?"
    r"|(?:不(?:是|选|能选|应选|应该选|该选|会选|要选|能是|可能是)|排除|除了)(?:选项)?\s*)[\s\"'“‘*_(（\[]*$",
    re.IGNORECASE,
)
_JOIN = (
    r"[)\]】）}\"'”’*_`$.]*\s*"
    r"(?:,?\s*(?:and|or|&|/|\+|y|ou|oder|和|或|与|及|还是|還是|또는|및|혹은|아니면|와|과|か)\s*|[,，、]\s*(?:and|or)?\s*)"
    r"(?:(?:maybe|perhaps|possibly|also|even)\s+)?"
)
_COUNTED = re.compile(r"[개명원월일년시분살세대마个個年月日次人元种名倍%°]")


class LabelMatch(NamedTuple):
    """A label read at a position."""

    label: str
    start: int
    end: int
    is_decorated: bool


def _core(label: str) -> str:
    """Return a label without the brackets and dots that some datasets include."""
    label = simplify_letters(compose_name(label))
    return label.strip().strip("()[].:*").strip() or label


class Labels:
    """The labels of a question, compiled for searching. Created by `compile_labels`."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        self.labels = labels
        cores = [_core(label) for label in labels]
        folded = [core.casefold() for core in cores]
        self._has_case = len(set(folded)) < len(folded)
        keys = cores if self._has_case else folded
        self._by_key = dict(zip(keys, labels, strict=True))
        self.order = {label: index for index, label in enumerate(labels)}
        self.exact = {
            spelling: label
            for core, label in zip(cores, labels, strict=True)
            for spelling in (core, label, f"{core}.", f"({core})", f"{core})", f"**{core}**")
        }
        self.are_letters = all(len(core) == 1 and core.isascii() and core.isalpha() for core in cores)
        self.are_marks = all(len(core) == 1 for core in cores)
        """Whether the labels are letters or digits of any script, not words."""
        flags = re.NOFLAG if self._has_case else re.IGNORECASE
        name = "|".join(_build_label_pattern(core) for core in sorted(cores, key=len, reverse=True))
        self.whole = re.compile(
            rf"(?:(?:[#>=→⇒➜➔➡✅✔☑\ufe0f]|[-•]\s)++\s*+)?{_SURELY}{_CALLED}{DECORATION}(?P<label>{name}){_NUMBERED}{CLOSING}",
            flags,
        )
        self._at = re.compile(f"{_FILLER}(?P<open>{DECORATION})(?P<label>{name})", flags)
        self.token = re.compile(
            f"(?<![{_LATIN}'’°^\\\\#+])(?<![{_LATIN}][_-])(?<![0-9][.,:/])(?<![A-Za-z]\\.)(?P<label>{name})",
            flags,
        )
        self.opening = re.compile(
            rf"\s*+{_CALLED}(?P<open>{DECORATION})(?P<label>{name})(?P<close>[)\]】）}}\"'*_`$\s]*+)"
            rf"(?P<sep>[.．](?![A-Za-z0-9]\b)|[)）:：、。]|[,，](?=\s)|，(?=因|由)|[-–—](?=\s)|(?<=[\s*])(?=[(（])|\Z"
            r"|\b(?=(?:because|since|as\s+it)\b|I\s+(?:think|guess|believe)\W*\Z))?",
            flags,
        )
        self.line = re.compile(
            rf"^[ \t>\-]*{_CALLED}{DECORATION}(?P<label>{name})[)\]】）}}\"'*_`$ ]*"
            r"(?:[.．)）:：、](?!\d)|$)",
            flags | re.M,
        )
        self.another = re.compile(
            f"{_JOIN}{_CALLED}{DECORATION}(?P<label>{name})"
            r"(?=[)\]】）}\"'*_`$\s]*(?:$|[\n.,;:!?。，？！]|\b(?:and|or)\b|&|/|和|或|、|都|均|모두))",
            flags,
        )
        self.joint = re.compile(f"{_JOIN}{_CALLED}{DECORATION}", flags)
        plain = "|".join(re.escape(core) for core in sorted(cores, key=len, reverse=True))
        self.upheld = re.compile(
            rf"(?<![{_LATIN}'’])(?<![{_LATIN}]_)(?:(?P<only>\bonly\s+)?(?:option\s+|choice\s+)?)"
            rf"{DECORATION}(?P<label>{name})[)\]】）}}\"'*_`$]*\s+"
            r"(?:(?P<fits>satisf|fits?\b|makes?\s+sense|works?\b|match|meets?\b|can\s+be\b|is\b)|remains\b|is\s+left\b|stays\b"
            r"|survives\b|it\s+is\b|is\s+(?:\w+ly\s+)?(?:supported|confirmed)\b)",
            flags | re.IGNORECASE,
        )
        self.quick = re.compile(
            r"(?:(?:[Tt]he )?(?:[Ff]inal |[Cc]orrect )?(?P<lead>[Aa]nswer|ANSWER|[Oo]ption)(?: is:?|:) ?)?"
            rf"[(*]*(?P<label>{plain})(?P<sep>[)*.:]+(?= |$)|$)"
        )
        self.inline = re.compile(rf"(?<![{_LATIN}])[(\[]?(?P<label>{name})[.)\]:]\s", flags)
        self.praised = re.compile(
            rf"(?<![{_LATIN}'’])(?<![{_LATIN}]_)(?P<label>{name})(?P<middle>[)\]】）}}\"'*_`$]*[.:,)]?\s*[^.\n;]{{0,60}}?)"
            r"(?:,?\s*\b(?:is|(?:seems|appears)(?:\s+to\s+be)?|looks|would\s+be|must\s+be|has\s+to\s+be)"
            r"\s+(?:\w+ly\s+|indeed\s+|also\s+)?"
            r"(?:(?:the|my)\s+)?(?:most\s+|only\s+|single\s+|final\s+)?"
            r"(?:correct|right|best|accurate\s+(?:answer|choice|option)|appropriate|answer\b"
            r"|likely\s+(?:answer|choice|option))"
            r"|(?:选项|項|项)?(?:是|为|為)?(?:正确|對的|对的|答案)"
            r"|번?\s*(?:이|가)?\s*(?:정답|맞|옳|적절)|번?\s*(?:을|를)\s*(?:선택|고르)"
            r"|(?:だ|で(?:す|しょう|ある))(?:と思|[。．.、]|$|\s)|を選|(?:が|は)\s*(?:正しい|正解|適切|答え|最も)|\s+(?:es|est|ist|é|è)\s+(?:la\s+|die\s+|a\s+)?"
            r"(?:correct|bonne|richtig|korrekt|corret|giust)|\s+(?:stimmt|trifft\s+zu|верн|правильн|подходит))",
            flags | re.IGNORECASE,
        )

    def read_quickly(self, text: str, choices: Sequence[str]) -> tuple[str, str, int, int] | None:
        """Return rule, label and span of the simplest replies: 'Answer: B. 12', '(B) 2635'.

        Gives the same result as the rules, many times faster; replies with other words are left to the rules.
        """
        match = self.quick.match(text)
        if match is None:
            return None
        spelled = match["label"]
        label = self._by_key[spelled if self._has_case else spelled.casefold()]
        rest = text[match.end() :].strip()
        index = self.order[label]
        is_own = index < len(choices) and rest != "" and rest == choices[index]
        if match["lead"]:
            if is_own or not rest or (rest.isascii() and rest.isdigit() and not spelled.isdigit()):
                return "stated_label", label, match.start("lead"), match.end("label")
        elif is_own and match["sep"]:
            return "opening_label", label, *match.span("label")
        return None

    def name(self, match: re.Match[str]) -> str:
        """Return the label of a match."""
        spelled = match["label"]
        return self._by_key[spelled if self._has_case else spelled.casefold()]

    def read(self, body: str, at: int) -> LabelMatch | None:
        """Return the label at a position after an announcement, skipping words like 'option'."""
        match = self._at.match(body, at)
        if match is None:
            return None
        return LabelMatch(self.name(match), match.start("label"), match.end(), bool(match["open"].strip()))

    def is_meant(self, body: str, read: LabelMatch, choice: str | None) -> bool:
        """Whether the letters at a position are the label, not an article, a count or a plain word."""
        spelled = body[read.start : read.end]
        if spelled.isdigit():
            return _COUNTED.match(body, read.end) is None
        if len(spelled) > 1 or not spelled.isascii():
            return True
        closed = body[read.end : read.end + 1]
        if read.is_decorated and closed and closed in ")]}\"'*_`$”’":
            return True
        if spelled in _ARTICLES and not self._is_standalone(body, read.end, choice):
            return False
        if (
            spelled in "ai"
            and spelled != _core(read.label)
            and body[max(0, read.start - 8) : read.start].rstrip()[-1:] not in (":", "：")
        ):
            return False  # 'The answer is a', truncated there
        # A lower-case letter for an upper-case label must end its phrase: 'answer is b.' but no 'b cells'.
        return (
            spelled.isupper() or _core(read.label) == spelled or _TERMINAL.match(body, read.end) is not None
        )

    @staticmethod
    def _is_standalone(body: str, end: int, choice: str | None) -> bool:
        follows = body[end : end + 2]
        if len(follows) < 2 or not (follows[0] == " " and follows[1].isalnum()):
            return True
        if _AFTER_ANSWER.match(body, end):
            return True
        wanted = (choice or "").casefold()
        return wanted != "" and body[end : end + len(wanted) + 8].lstrip().casefold().startswith(wanted)


def is_label_rejected(body: str, start: int, end: int) -> bool:
    """Whether the words around a label reject it, or only ask about it."""
    if _REJECTED_AFTER.match(body, end):
        return True
    if start == 0:
        return False
    since = max(0, start - 60, body.rfind("\n", max(0, start - 60), start) + 1)
    return _REJECTED_BEFORE.search(body, since, start) is not None


def ends_phrase(body: str, end: int) -> bool:
    """Whether only punctuation or a reason follows."""
    return _TERMINAL.match(body, end) is not None


def _build_label_pattern(core: str) -> str:
    """Return the pattern of a label with the characters that may not follow it."""
    text = re.escape(core)
    if not core[-1].isascii():
        # Korean attaches particles to the word; other words must end here.
        return rf"{text}(?:(?!\w)|(?=입니다|이다|이에요|예요|번|이|가|을|를|은|는))"
    if core[-1].isdigit():
        return rf"{text}(?!_?[{_LATIN}])(?![.,:/\-]\d)"
    return (
        rf"{text}(?!_?[{_LATIN}])(?!['’][A-Za-z])(?!-[A-Za-z])"
        r"(?! ?[=+#^]| ?>(?![>\s]*\Z)| ?<(?!/)|&[A-Za-z])"
    )


@lru_cache(maxsize=256)
def compile_labels(labels: tuple[str, ...]) -> Labels:
    """Return the compiled form of a set of labels."""
    return Labels(labels)
