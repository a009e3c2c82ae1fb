from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.scoring.instructions.language import (
    LANGUAGES,
    ResponseLanguage,
    detect_language,
    require_langdetect,
)

GERMAN = "Dies ist ein einfacher deutscher Satz, der vom Wetter im Norden handelt."


def test_the_language_of_a_response() -> None:
    assert ResponseLanguage("de").is_followed(GERMAN)
    assert not ResponseLanguage("nl").is_followed(GERMAN)


FLORES = {"deu_Latn": "de", "eng_Latn": "en", "kor_Hang": "ko", "zho_Hans": "zh-cn", "zho_Hant": "zh-tw"}


def test_real_languages(shared_data: Path) -> None:
    found = {}
    for file in sorted((shared_data / "flores200").rglob("*.devtest")):
        lines = file.read_text(encoding="utf-8").splitlines()
        found[file.name.partition(".")[0]] = detect_language("\n".join(lines[:20]))
    assert found == FLORES


def test_a_text_without_letters_is_in_no_language_and_follows() -> None:
    assert detect_language("42 + 1 = 43 !!!") is None
    assert ResponseLanguage("de").is_followed("42 + 1 = 43 !!!")


def test_one_text_has_one_language() -> None:
    # Unseeded, the detector wavers on such a text.
    assert len({detect_language("radio mama") for _ in range(30)}) == 1


def test_the_package_s_own_seed_is_left_alone() -> None:
    from langdetect import DetectorFactory

    detect_language(GERMAN)
    assert DetectorFactory.seed is None


def test_the_codes_are_those_of_the_detector() -> None:
    from langdetect.detector_factory import PROFILES_DIRECTORY

    assert {path.name for path in Path(PROFILES_DIRECTORY).iterdir() if path.is_file()} == LANGUAGES


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    require_langdetect()
    found: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "langdetect" else found(name, *rest)
    )
    with pytest.raises(AuthorError, match=r"IFEVAL-004 .*assay-eval\[ifeval\]"):
        require_langdetect()
