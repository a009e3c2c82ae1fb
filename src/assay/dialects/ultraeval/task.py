"""The task that transforms of one data file become."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from assay.core.prompt import Prompt, final_text
from assay.core.request import Ask, Generate, Labels, Request, Sampling, Span, make_request
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, TaskSpec
from assay.dialects.shared.described_task import DescribedTask
from assay.dialects.ultraeval.prompts import Prompts
from assay.dialects.ultraeval.transformed_rows import PromptParts


class LetterForm(NamedTuple):
    """What stands around the letter in an output: `(` and `)` in `(A)`."""

    before: str
    after: str

    def spellings(self, label: str) -> tuple[str, ...]:
        """Return the ways a label may be spelled where the model's answer begins."""
        return (label,) if self.before.strip() else (f" {label}", label)


def infer_letter_form(outputs: Iterable[tuple[str, str]]) -> LetterForm | None:
    """Return the form that all outputs have in common, given (output, letter of the right option) pairs."""
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
    """Where the parts of prompts come from."""

    def parts(self, sample: Sample, copy: int = 0) -> PromptParts:
        """Return the parts of a sample's prompt; a sampled answer may have a prompt of its own."""


class MethodPlan(NamedTuple):
    """How one method asks about a sample and scores it."""

    parts_of: PromptPartsSource
    prompts: Prompts
    scorer: ComponentSpec
    n_copies: int = 1
    """Prompts of a sample: the original draws new examples for each of its samples."""
    sampling: Sampling = Sampling()
    """How `gen` generates."""
    form: LetterForm = LetterForm("", "")
    """How `prob` spells the letters."""
    is_whole: bool = False
    """Whether `ppl` scores the whole sentence, and not the option alone."""
    compares_alone: bool = False
    """Whether `ppl` also asks how likely an option is without the prompt."""


class TransformTask(DescribedTask):
    """One data file, by one or more methods."""

    def __init__(self, spec: TaskSpec, samples: Sequence[Sample], ways: Mapping[str, MethodPlan]) -> None:
        super().__init__(spec)
        self._samples = samples
        self._ways = ways

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in the order of the rows."""
        return iter(self._samples)

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return what to ask about a sample, for every method; with at most so many examples."""
        made = []
        for method, way in self._ways.items():
            for copy in range(way.n_copies):
                parts = way.parts_of.parts(sample, copy).at_most(shots)
                shown = len(parts.shots), parts.n_left_out
                for role, index, ask in _ASKS[method](way, parts, sample, copy):
                    counts = (0, 0) if role == "unconditional" else shown
                    made.append(make_request(self._spec.name, sample.id, method, role, index, ask, *counts))
        return made

    def shown(self, sample: Sample, method: str) -> Prompt:
        """Return a sample's prompt for a person to see."""
        way = self._ways[method]
        return way.prompts.asked(way.parts_of.parts(sample))

    def truth(self, sample: Sample, method: str) -> str | list[str]:
        """Return what the transform gives as the right answer; of several prompts the last one's."""
        way = self._ways[method]
        return way.parts_of.parts(sample, way.n_copies - 1).asked.truth

    def scorers(self) -> Sequence[ComponentSpec]:
        """Name the scorer of each method."""
        return [way.scorer for way in self._ways.values()]


def _generate(way: MethodPlan, parts: PromptParts, _: Sample, copy: int) -> Iterator[tuple[str, int, Ask]]:
    sampling = way.sampling
    if way.n_copies > 1:
        seed = None if sampling.seed is None else sampling.seed + copy
        sampling = msgspec.structs.replace(sampling, n=1, seed=seed)
    yield "answer", copy, Generate(way.prompts.asked(parts), sampling)


def _spans(way: MethodPlan, parts: PromptParts, sample: Sample, _: int) -> Iterator[tuple[str, int, Ask]]:
    for index, (text, start) in enumerate(way.prompts.answered(parts, sample.choices)):
        # The first token of a whole sentence has nothing before it, and the original leaves it unscored.
        yield "option", index, Span(text, 0, leads=False) if way.is_whole else Span(text, start)
        if way.compares_alone:
            yield "unconditional", index, Span(final_text(text)[start:], 0)


def _labels(way: MethodPlan, parts: PromptParts, sample: Sample, _: int) -> Iterator[tuple[str, int, Ask]]:
    labels = tuple(way.form.spellings(label) for label in sample.labels)
    yield "labels", 0, Labels(way.prompts.asked(parts, way.form.before), labels)


_ASKS: Mapping[str, Any] = {"gen": _generate, "ppl": _spans, "prob": _labels}
