"""Chinese texts parted into words by jieba, which is imported when one of these is named.

It is no dependency: it has seen no release since 2020, and few configs need it.
"""

from __future__ import annotations

import logging
import re
import warnings

from assay.scoring.differences import Difference
from assay.scoring.originals.opencompass.postprocess.answers import shorten
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor, make_unchanged

_CHINESE_SPACE = re.compile(r"\s+")


def split_chinese_words(text: str) -> str:
    """Return a Chinese text with spaces between its words; ValueError without jieba."""
    with warnings.catch_warnings():
        # jieba imports a module of setuptools that warns of its own end.
        warnings.simplefilter("ignore")
        try:
            import jieba
        except ModuleNotFoundError:
            raise ValueError("Chinese words are parted by the package jieba: pip install jieba") from None
    jieba.setLogLevel(logging.WARNING)  # it tells how long its dictionary took to load
    return " ".join(jieba.cut(text))


def _general(text: str) -> str:
    return split_chinese_words(shorten(text))


def _translation(text: str) -> str:
    return split_chinese_words(_CHINESE_SPACE.sub(" ", text.strip().split("\n")[0]).strip())


GENERAL_CHINESE = PostProcessor(
    split_chinese_words,
    _general,
    Difference(
        "the text is cleaned as by `general`, and then parted as it was before",
        "the cleaned text is parted, numbers whole as by `general`",
    ),
)
FLORES_CHINESE = make_unchanged(_translation)
