"""Lists of numbers in a reply: boxes in a picture, and points that a judge gives."""

from __future__ import annotations

import re

from assay.scoring.differences import Difference
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor

_N = r"\s*(-?\d+(?:\.\d+)?)\s*"
_BOX_NUMBERS = re.compile(rf"\[{_N},{_N},{_N},{_N}\]")
_WHOLE_NUMBERS = re.compile(r"\[([\d\s,]+)\]")
_NO_BOX = str([0.0] * 4)
_NO_POINTS = "[]"


def _box(text: str) -> str | None:
    found = _BOX_NUMBERS.search(text)
    return str([float(number) for number in found.groups()]) if found else None


def _original_box(text: str) -> str:
    return _box(text) or _NO_BOX


def _points(text: str) -> str | None:
    lists = _WHOLE_NUMBERS.finditer(text)
    return next((one[0] for one in lists if all(part.strip().isdigit() for part in one[1].split(","))), None)


def _original_points(text: str) -> str:
    return _points(text) or _NO_POINTS


REFCOCO_BOX = PostProcessor(
    _original_box,
    _box,
    Difference(f"without a box the answer is `{_NO_BOX}`", "without a box there is no answer"),
)
POINTS = PostProcessor(
    _original_points,
    _points,
    Difference(f"without a list the answer is `{_NO_POINTS}`", "without a list there is no answer"),
)
