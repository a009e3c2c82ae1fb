"""Language detection, sentence splitting and word counting for IFEval, and the language instruction.

Only this file imports langdetect, which defines IFEval's language check. langdetect is random; a fixed seed
makes the result deterministic here. The reference fixes no seed, so its result for short or mixed texts may
change between runs.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from typing import Any, ClassVar

from assay.core.errors import AuthorError, Problem, listing
from assay.scoring.instructions.instruction import Instruction

_CODES = (
    "af ar bg bn ca cs cy da de el en es et fa fi fr gu he hi hr hu id it ja kn ko lt lv mk ml mr ne nl no "
    "pa pl pt ro ru sk sl so sq sv sw ta te th tl tr uk ur vi zh-cn zh-tw"
)
LANGUAGES = frozenset(_CODES.split())
"""The codes of the languages that langdetect distinguishes."""

_SEED = 0


class ResponseLanguage(Instruction, frozen=True):
    """Answer in one language only."""

    id: ClassVar[str] = "language:response_language"
    language: str

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            known = listing(sorted(LANGUAGES), at_most=len(LANGUAGES))
            raise ValueError(f"unknown language code {self.language!r}; expected one of {known}")

    def is_followed(self, response: str) -> bool:
        """Whether the response is in the language. A response without letters passes, as in the reference."""
        return detect_language(response) in (self.language, None)


def detect_language(text: str) -> str | None:
    """Return the code of the most likely language of a text; None if it contains no letters."""
    from langdetect.lang_detect_exception import LangDetectException

    detector = _factory().create()
    detector.append(text)
    try:
        language: str = detector.detect()
    except LangDetectException:
        return None
    return language


def require_langdetect() -> None:
    """Raise before the model is called if langdetect is missing."""
    if importlib.util.find_spec("langdetect") is None:
        what = "IFEval's language instructions need langdetect, which is not installed"
        raise AuthorError(Problem("IFEVAL-004", what, "pip install 'assay-eval[ifeval]'"))


@cache
def _factory() -> Any:
    """Return a separate factory: the seed of the package's own factory is global to the process."""
    from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory

    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    factory.set_seed(_SEED)
    return factory


_CHUNK = re.compile(r"\S+")
# At the end of a chunk, or inside it before punctuation that may be attached to a sentence's end.
_STOP = re.compile(r"""[.?!](?=$|[)(\]\[}{"';:*@!?])""")
_MARKS = """()[]{}";:*@!?`"""
_FIRST_WORD = re.compile(r"\w+")
_CLOSING = re.compile(r"""\s*["')\]}]+(?=\s|$)""")
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*")

_ABBREVIATIONS = (
    # titles and ranks
    "dr mr mrs ms messrs prof jr sr st rep reps sen gen col lt maj adm ph.d m.b.a "
    # firms
    "inc ltd corp co cos bros n.v b.v s.a s.p.a "
    # months, days, hours, years
    "jan feb aug sep sept oct nov dec tues wed fri a.m p.m yr a.d "
    # states and countries
    "ala ariz calif colo conn fla ga ill kan ky mich minn nev okla ok ore pa tenn va vt wash wis "
    "n.c n.d n.h n.j n.m n.y s.c r.i w.va d.c l.a u.k u.n u.s u.s.a u.s.s.r "
    # streets, measures, the rest
    "ave ft mg vs "
    # initials of persons
    "a.c a.g a.h a.s a.t c.v d.h d.w e.h e.l e.m f.g f.j g.d g.f g.k h.c h.f h.m j.b j.c j.j j.k j.p j.r "
    "l.f l.p m.j r.a r.h r.j r.k r.t s.g s.s t.j w.c w.r w.w"
)
_ABBREVIATED = frozenset(_ABBREVIATIONS.split())
_INITIALS = frozenset("cdefghklmnprstvw")
"""Letters that never end a sentence when followed by a full stop. Others do before a capital letter."""

_OPENING_WORDS = (
    "according although among and another are as at because before both but by can despite did do does "
    "during each even every few finally for from he here his how however i if in indeed instead is it its "
    "let many maybe meanwhile moreover most my nevertheless nonetheless nor now of on once or our perhaps "
    "remember separately she similarly since so some such that the their then there these they this those "
    "though thus to under until was we were what when where whether while who why will with yet you your"
)
_OPENERS = frozenset(_OPENING_WORDS.split())
"""Words that start a sentence if they are capitalized after an abbreviation."""


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, without the white space between them."""
    sentences: list[str] = []
    start = 0
    chunks = list(_CHUNK.finditer(text))
    for index, chunk in enumerate(chunks):
        follower = chunks[index + 1][0] if index + 1 < len(chunks) else ""
        end = _sentence_end(chunk[0], follower)
        if end is None:
            continue
        end += chunk.start()
        closing = _CLOSING.match(text, end)
        end = closing.end() if closing else end
        sentences.append(text[start:end].strip())
        start = end
    rest = text[start:].strip()
    return [*sentences, rest] if rest else sentences


def _sentence_end(chunk: str, follower: str) -> int | None:
    """Return where in a chunk (text without white space) a sentence ends, given the chunk after it."""
    stops = list(_STOP.finditer(chunk))
    if not stops:
        return None
    end = stops[-1].end()
    after = chunk[end:] or follower
    if not after:
        return None
    is_end = "?" in chunk[:end] or "!" in chunk[:end] or _full_stop_ends(chunk[: end - 1], after)
    return end if is_end else None


def _full_stop_ends(before: str, after: str) -> bool:
    """Whether a full stop between two texts ends a sentence."""
    word = _last_word(before)
    if before.endswith(".") or word in _ABBREVIATED or word.rpartition("-")[2] in _ABBREVIATED:
        opener = _FIRST_WORD.match(after)
        return opener is not None and opener[0][0].isupper() and opener[0].lower() in _OPENERS
    is_initial = len(word) == 1 and word.isalpha()
    if is_initial and word in _INITIALS:
        return False
    if is_initial or _NUMBER.fullmatch(word):
        return not after[0].islower() and after[0] not in ";:,.!?"
    return True


def _last_word(text: str) -> str:
    """Return the last word of a text in lower case. A clitic keeps its apostrophe: `'s`."""
    word = text[1 + max(text.rfind(mark) for mark in _MARKS) :]
    word = word[max(0, word.rfind("'")) :]
    return word.lstrip("&#,-").lower()


_RUN = re.compile(r"\w+")
# A comma or colon inside a number joins words; so do a single hyphen, a slash and a full stop.
_GAP = re.compile(r"""[\s?!;@#$%&*()\[\]{}<>"“”„«»‘’`—–]|--|\.\.\.|[,:](?!\d)""")
_CLITIC = re.compile(r"(?<=.)(?:'(?:[sS]|[mM]|[dD]|ll|LL|re|RE|ve|VE)|n't|N'T)(?=\.?$)")
_FUSED = frozenset({"CANNOT", "GIMME", "GONNA", "GOTTA", "LEMME", "WANNA"})
"""Each counts as two words: CAN and NOT, GIM and ME."""


def count_words(text: str) -> int:
    """Return the number of words in a text."""
    return sum(1 for _ in _RUN.finditer(text))


def count_capital_words(text: str) -> int:
    """Return the number of words written in all capitals."""
    return sum(_count_capitals(piece) for piece in _GAP.split(text) if piece)


def _count_capitals(piece: str) -> int:
    clitic = _CLITIC.search(piece)
    stem = piece[: clitic.start()] if clitic else piece
    parts = 2 if stem.strip("'.") in _FUSED else int(stem.isupper())
    return parts + (1 if clitic and clitic[0].isupper() else 0)
