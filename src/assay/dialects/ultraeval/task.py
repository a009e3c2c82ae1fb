"""The task of the transforms of one data file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from assay.core.method import Method
from assay.core.prompt import Prompt, final_text
from assay.core.request import Ask, Generate, Labels, Request, Sampling, Span, make_request
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, TaskSpec
from assay.dialects.shared.described_task import DescribedTask
from assay.dialects.ultraeval.prompts import Prompts
from assay.dialects.ultraeval.transformed_rows import PromptParts


class LetterForm(NamedTuple):
    """The text around the letter in an output: `(` and `)` in `(A)`."""

    before: str
    after: str

    def spellings(self, label: str) -> tuple[str, ...]:
        """Return the possible spellings of a label at the beginning of the model's answer."""
        return (label,) if self.before.strip() else (f" {label}", label)


def infer_letter_form(outputs: Iterable[tuple[str, str]]) -> LetterForm | None:
    """Return the form that all outputs share, given (output, letter of the right option) pairs."""
    forms: list[LetterForm] | None = None
    for output, letter in outputs:
        if forms is None:
            size = len(letter)
            places = [at for at in range(len(output)) if output.startswith(letter, at)]
            forms = [LetterForm(output[:at], output[at + size :]) for at in places]
        else:
            forms = [form for form in forms if output == f"{form.before}{letter}{form.after}"]
        if not forms:
            return None
    return forms[0] if forms else None


class PromptPartsSource(Protocol):
    """Provides the parts of prompts."""

    def parts(self, sample: Sample, copy: int = 0) -> PromptParts:
        """Return the parts of a sample's prompt; each sampled answer can have its own prompt."""


class MethodPlan(NamedTuple):
    """How one method builds the requests of a sample and scores it."""

    parts_of: PromptPartsSource
    prompts: Prompts
    scorer: ComponentSpec
    n_copies: int = 1
    """Prompts per sample: the original draws new examples for each sampled answer."""
    sampling: Sampling = Sampling()
    """The sampling parameters of `gen`."""
    form: LetterForm = LetterForm("", "")
    """How `prob` spells the letters."""
    is_whole: bool = False
    """Whether `ppl` scores the whole sentence instead of only the option."""
    compares_alone: bool = False
    """Whether `ppl` also scores an option without the prompt."""


class TransformTask(DescribedTask):
    """One data file, with one or more methods."""

    def __init__(self, spec: TaskSpec, samples: Sequence[Sample], ways: Mapping[Method, MethodPlan]) -> None:
        super().__init__(spec)
        self._samples = samples
        self._ways = ways

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in the order of the rows."""
        return iter(self._samples)

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the requests for a sample for every method, with at most `shots` examples."""
        requests = []
        for method, way in self._ways.items():
            for copy in range(way.n_copies):
                parts = way.parts_of.parts(sample, copy).at_most(shots)
                shot_counts = len(parts.shots), parts.n_left_out
                for role, index, ask in _ASKS[method](way, parts, sample, copy):
                    counts = (0, 0) if role == "unconditional" else shot_counts
                    requests.append(
                        make_request(self._spec.name, sample.id, method, role, index, ask, *counts)
                    )
        return requests

    def preview_prompt(self, sample: Sample, method: Method) -> Prompt:
        """Return a sample's prompt for display."""
        way = self._ways[method]
        return way.prompts.build_prompt(way.parts_of.parts(sample))

    def truth(self, sample: Sample, method: Method) -> str | list[str]:
        """Return the transform's right answer; with several prompts, that of the last one."""
        way = self._ways[method]
        return way.parts_of.parts(sample, way.n_copies - 1).transformed.truth

    def scorers(self) -> Sequence[ComponentSpec]:
        """Return the scorer of each method."""
        return [way.scorer for way in self._ways.values()]


def _generate(way: MethodPlan, parts: PromptParts, _: Sample, copy: int) -> Iterator[tuple[str, int, Ask]]:
    sampling = way.sampling
    if way.n_copies > 1:
        seed = None if sampling.seed is None else sampling.seed + copy
        sampling = msgspec.structs.replace(sampling, n=1, seed=seed)
    yield "answer", copy, Generate(way.prompts.build_prompt(parts), sampling)


def _spans(way: MethodPlan, parts: PromptParts, sample: Sample, _: int) -> Iterator[tuple[str, int, Ask]]:
    for index, (text, start) in enumerate(way.prompts.render_answers(parts, sample.choices)):
        # The first token of a whole sentence has no context, and the original does not score it.
        yield "option", index, Span(text, 0, scores_first_token=False) if way.is_whole else Span(text, start)
        if way.compares_alone:
            yield "unconditional", index, Span(final_text(text)[start:], 0)


def _labels(way: MethodPlan, parts: PromptParts, sample: Sample, _: int) -> Iterator[tuple[str, int, Ask]]:
    labels = tuple(way.form.spellings(label) for label in sample.labels)
    yield "labels", 0, Labels(way.prompts.build_prompt(parts, way.form.before), labels)


_ASKS: Mapping[Method, Any] = {Method.GEN: _generate, Method.PPL: _spans, Method.PROB: _labels}
