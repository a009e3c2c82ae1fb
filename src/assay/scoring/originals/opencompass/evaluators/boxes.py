"""Boxes in images: whether a predicted box overlaps the target box enough."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from assay.core.difference import Difference
from assay.scoring.metrics.checks import Misfit
from assay.scoring.originals.opencompass.evaluators.evaluator import EvaluatedRow, RowEvaluator, require_gold

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""

_LARGEST_RATIO = 200
"""The sides of an image that can be resized."""
_RESIZING = {"factor": 32, "min_pixels": 32 * 32 * 16, "max_pixels": 32 * 32 * 4 * 16384}


class BBoxIoUEvaluator(RowEvaluator):
    """The percentage of boxes whose overlap with the target, divided by their union, reaches a threshold.

    A prediction is a list of four numbers, or its text, from 0 to `coord_scale` over the image's width and
    height. A target is an object, or its JSON, with the box in pixels and the image's size.
    """

    difference: ClassVar[Difference[object] | None] = Difference(
        "with `smart_resize_cfg`, the model's box is in the resized image and compared with a box "
        "in the original image; a target that cannot be parsed makes every box wrong",
        "both boxes are in the original image, and `smart_resize_cfg` has no effect; such a row fails",
    )
    has_details: ClassVar[bool] = True

    def __init__(
        self,
        *,
        iou_threshold: float = 0.5,
        coord_scale: float = 1000.0,
        reference_bbox_key: str = "bbox",
        image_width_key: str = "image_width",
        image_height_key: str = "image_height",
        metric_prefix: str = "Accuracy",
        clip_to_image: bool = True,
        smart_resize_cfg: dict[str, int] | None = None,
        is_faithful: bool = False,
    ) -> None:
        super().__init__(is_faithful=is_faithful)
        if coord_scale <= 0:
            raise ValueError(f"'coord_scale' is {coord_scale}; expected a number above 0")
        self.metric = self.correct_by = f"{metric_prefix}@{iou_threshold}"
        self._threshold = iou_threshold
        self._coord_scale = coord_scale
        self._keys = (reference_bbox_key, image_width_key, image_height_key)
        self._clips = clip_to_image
        self._resizing = smart_resize_cfg

    def judge(self, prediction: Any, row: EvaluatedRow) -> float:
        """Return 1 if the boxes overlap enough."""
        try:
            right, width, height = self._read_gold_box(row)
        except (TypeError, ValueError, KeyError) as error:
            if self.is_faithful:
                return 0.0
            raise Misfit(
                f"the target {row.gold!r:.80} has no box and size ({type(error).__name__}: {error})",
                f"provide an object with {', '.join(map(repr, self._keys))}",
            ) from None
        box = _read_box(prediction)
        laid = None if box is None else self._scale_box(box, width, height)
        return float(laid is not None and overlap(laid, right) >= self._threshold)

    def _read_gold_box(self, row: EvaluatedRow) -> tuple[Box, float, float]:
        gold = require_gold(row)
        known: Mapping[str, Any] = json.loads(gold) if isinstance(gold, str) else gold
        box_key, width_key, height_key = self._keys
        left, top, right, bottom = (float(one) for one in known[box_key])
        return (left, top, right, bottom), float(known[width_key]), float(known[height_key])

    def _scale_box(self, box: Box, width: float, height: float) -> Box | None:
        """Return a predicted box in pixels; None if it is empty or inverted."""
        wide, high = width, height
        if self.is_faithful and self._resizing:
            size = compute_resized_size(width, height, **{**_RESIZING, **self._resizing})
            if size is None:
                return None
            wide, high = size
        by = (wide, high, wide, high)
        placed = [one / self._coord_scale * side for one, side in zip(box, by, strict=True)]
        if self._clips:
            sides = (width, height, width, height)
            placed = [min(max(one, 0.0), side) for one, side in zip(placed, sides, strict=True)]
        left, top, right, bottom = placed
        return (left, top, right, bottom) if right > left and bottom > top else None


def _read_box(prediction: Any) -> Box | None:
    """Return four finite numbers; None if the prediction is anything else."""
    given = prediction
    if isinstance(prediction, str):
        try:
            given = json.loads(prediction)
        except (ValueError, RecursionError):
            return None
    if not isinstance(given, Sequence) or len(given) != 4:
        return None
    try:
        left, top, right, bottom = (float(one) for one in given)
    except (TypeError, ValueError):
        return None
    return (left, top, right, bottom) if all(map(math.isfinite, (left, top, right, bottom))) else None


def overlap(one: Box, other: Box) -> float:
    """Return the intersection over union of two boxes; 0 for boxes without an area."""
    shared = _area(
        (max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3]))
    )
    covered = _area(one) + _area(other) - shared
    return shared / covered if covered > 0 else 0.0


def _area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def compute_resized_size(
    width: float, height: float, *, factor: int, min_pixels: int, max_pixels: int
) -> tuple[int, int] | None:
    """Return width and height as Qwen-VL's processor resizes them: multiples of `factor` between two areas.

    None for an image whose aspect ratio it rejects.
    """
    if max(width, height) > _LARGEST_RATIO * min(width, height):
        return None
    near = [max(factor, round(side / factor) * factor) for side in (width, height)]
    to_whole: Callable[[float], int]
    if near[0] * near[1] > max_pixels:
        by, to_whole = math.sqrt(width * height / max_pixels), math.floor
    elif near[0] * near[1] < min_pixels:
        by, to_whole = math.sqrt(width * height / min_pixels), math.ceil
    else:
        return near[0], near[1]
    fitted = [max(factor, to_whole(side / by / factor) * factor) for side in (width, height)]
    return fitted[0], fitted[1]
