"""Reads the answers that row metrics compare from the responses to one sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.response import Finish
from assay.core.sample import Sample
from assay.core.task import AnsweredRequest
from assay.scoring.extract import Extraction
from assay.scoring.extract.reply import find_spoken_part
from assay.scoring.originals.opencompass.postprocess import find_postprocessor, postprocessor_name
from assay.scoring.scorers.extractors import find_extractor, find_span
from assay.scoring.scorers.response_outcomes import collect_outputs, get_task

WHOLE_OUTPUT = "whole_output"
"""The rule of an answer without post-processing."""
PASSES_THROUGH = "general_torch"
"""The original's name for no post-processing."""


class RowAnswers(NamedTuple):
    """The answers in all outputs for one sample."""

    sample: Sample
    task: str
    texts: tuple[str | None, ...]
    """The answer in each output; None if none was found."""
    span: tuple[int, int] | None
    """The span of the first answer in the first output, if it occurs there once."""
    rule: str | None
    """What found the first answer."""
    is_truncated: bool

    @property
    def has_answer(self) -> bool:
        """Whether any output contains an answer."""
        return any(text is not None for text in self.texts)

    @property
    def has_target(self) -> bool:
        """Whether a target is known."""
        return any(target.strip() for target in self.sample.targets)


class RowAnswerReader:
    """Finds the answers in outputs with a named post-processor.

    Reasoning is not searched, except with `faithful`, which follows the original and also treats an output
    without an answer as an empty one.
    """

    def __init__(self, postprocess: str | Mapping[str, Any], faithful: bool, extract: str = "") -> None:
        """Create the reader; `extract` names an extractor instead of a post-processor."""
        self.postprocess = ""
        """The registered name of the post-processor; "" for none."""
        self._process = None
        if postprocess not in ("", PASSES_THROUGH):
            self.postprocess = postprocessor_name(postprocess)
            self._process = find_postprocessor(postprocess)
        self._extract = find_extractor(extract) if extract else None
        self._rule = self.postprocess or WHOLE_OUTPUT
        self._faithful = faithful

    def read(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> RowAnswers:
        """Return the answers; raise Unscorable if a request failed."""
        outputs = collect_outputs(answers)
        found = [self.read_answer(output.text, sample) for output in outputs]
        first = found[0]
        texts = tuple(one.answer for one in found)
        is_truncated = any(output.finish is Finish.LENGTH for output in outputs)
        return RowAnswers(sample, get_task(answers), texts, first.span, first.rule, is_truncated)

    def read_answer(self, text: str, sample: Sample) -> Extraction:
        """Return the answer in one output, and what found it."""
        if self._extract is not None:
            return self._extract(text, sample)
        answer = self._find(text)
        return Extraction(answer, self._rule, find_span(answer, text))

    def _find(self, text: str) -> str | None:
        if self._faithful:
            return text if self._process is None else self._process(text, faithful=True) or ""
        if self._process is not None and self._process.sees_reasoning:
            return self._process(text)
        region = find_spoken_part(text)
        if region is None:
            return None
        visible = text[region[0] : region[1]]
        if self._process is None:
            return visible if visible.strip() else None
        return self._process(visible)
