"""Which language a text is in, and the instruction to answer in one.

The only file that knows langdetect, which IFEval is defined by. It draws at random; here its seed is fixed,
so a text has one language. On short or mixed texts the reference, which fixes none, may answer differently in
two runs.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any, ClassVar

from assay.core.errors import AuthorError, Problem, listing
from assay.scoring.instructions.instruction import Instruction

_CODES = (
    "af ar bg bn ca cs cy da de el en es et fa fi fr gu he hi hr hu id it ja kn ko lt lv mk ml mr ne nl no "
    "pa pl pt ro ru sk sl so sq sv sw ta te th tl tr uk ur vi zh-cn zh-tw"
)
LANGUAGES = frozenset(_CODES.split())
"""The codes of the languages that langdetect tells apart."""

_SEED = 0


class ResponseLanguage(Instruction, frozen=True):
    """Answer in one language and no other."""

    id: ClassVar[str] = "language:response_language"
    language: str

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            known = listing(sorted(LANGUAGES), at_most=len(LANGUAGES))
            raise ValueError(f"no language {self.language!r} can be told apart; the codes are {known}")

    def is_followed(self, response: str) -> bool:
        """Whether the response is in the language. One without any letters follows, as in the reference."""
        return detect_language(response) in (self.language, None)


def detect_language(text: str) -> str | None:
    """Return the code of the language a text is most likely in; None when it has no letters to tell by."""
    from langdetect.lang_detect_exception import LangDetectException

    detector = _factory().create()
    detector.append(text)
    try:
        language: str = detector.detect()
    except LangDetectException:
        return None
    return language


def require_langdetect() -> None:
    """Raise now, and not after the model has answered, when languages cannot be told apart."""
    if importlib.util.find_spec("langdetect") is None:
        what = "the instructions of IFEval about languages need langdetect, which is not installed"
        raise AuthorError(Problem("IFEVAL-004", what, "pip install 'assay-eval[ifeval]'"))


@cache
def _factory() -> Any:
    """Return a factory of our own: the seed of the package's own one is global to the process."""
    from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory

    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    factory.set_seed(_SEED)
    return factory
