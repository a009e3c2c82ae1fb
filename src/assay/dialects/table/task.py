"""The task of a table: samples from its rows, requests for each method, and its scorers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.method import Method
from assay.core.prompt import Prompt, final_text, replace_final_text
from assay.core.request import Ask, Generate, Labels, Request, Sampling, Span, make_request
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, Scorer, TaskSpec
from assay.dialects.shared.described_task import DescribedTask
from assay.dialects.shared.dialogue import Dialogue, DialogueOpening
from assay.dialects.shared.fewshot import ShotPool, Shots
from assay.dialects.table.label_map import LabelMap
from assay.dialects.table.layout import build_template_values
from assay.dialects.table.meta import Match, PplTarget, SeveralRight
from assay.dialects.table.rows import TableRows

_NO_SHOTS = Shots()
JUDGE_METRICS = {"gpt4_eval": {"type": "gpt4_eval"}}
"""The metric for which a judge model compares an answer with the right one."""


class AnswerStyle(msgspec.Struct, frozen=True):
    """A conversation, and how answers are written in it."""

    dialogue: Dialogue
    answers_by: PplTarget
    """Whether an answer is an option's label or its text."""
    names_all: bool = False
    """Whether an example names all its right options, not only the first."""
    shows_solution: bool = False
    """Whether an example shows the whole solution, not only the answer at its end."""

    def answers(self, sample: Sample) -> tuple[str, ...]:
        """Return the options of a sample as answers."""
        return sample.labels if self.answers_by == "label" else sample.choices

    def build_solved_values(self, shot: Sample) -> Mapping[str, Any]:
        """Return an example's fields, with its answer filled in."""
        if self.shows_solution:
            return build_template_values(shot)
        right = shot.gold if self.names_all else shot.gold[:1]
        answer = ", ".join(self.answers(shot)[index] for index in right) if right else shot.targets[0]
        return {**build_template_values(shot), self.dialogue.answer_field: answer}


def build_question_reader(dialogue: Dialogue) -> Callable[[Sample], str]:
    """Return a function that returns a sample's prompt without its options."""

    def get_question_text(sample: Sample) -> str:
        return dialogue.render_opening(build_template_values(sample), (), chat=False).context

    return get_question_text


def join_options(sample: Sample) -> str:
    """Return the options of a sample as one text.

    Their order is ignored: a row with shuffled options would still reveal the answer.
    """
    return "\0".join(("", *sorted(sample.choices)))


class PromptSetup(msgspec.Struct, frozen=True):
    """The prompt settings of a task."""

    style: AnswerStyle
    ppl_style: AnswerStyle
    """The style for `ppl`. If it scores option texts, the prompt does not show them."""
    is_chat: bool
    is_faithful: bool
    score_by: str
    sampling: Sampling
    label_map: LabelMap | None = None
    """The whole prompt for each label, if the template defines it."""
    gen_scorer: ComponentSpec | None = None
    """The scorer for generated replies, if the shape of the table defines it."""
    gen_style: AnswerStyle | None = None
    """The style for `gen`, if it differs: asks for all right options."""
    match: Match = "stated"
    """When a free-form answer counts as right."""
    several_right: SeveralRight | None = None
    """When an answer counts as right if several options are right; None if each row has one right option."""

    @property
    def compares_alone(self) -> bool:
        """Return whether `ppl` also scores each option without its question: only pmi needs it."""
        return self.score_by == "pmi"


class TableTask(DescribedTask):
    """The compiled task of a csv, jsonl or other table."""

    def __init__(
        self,
        spec: TaskSpec,
        rows: TableRows,
        prompting: PromptSetup,
        pool: ShotPool | None,
    ) -> None:
        super().__init__(spec)
        self._rows = rows
        self._prompting = prompting
        self._pool = pool
        self._examples: dict[Method, tuple[Sequence[Sample], Prompt]] = {}
        """The latest examples of each method, and how they are rendered: consecutive samples share them."""

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in order."""
        return self._rows.samples()

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the requests for a sample, for every method, with at most `shots` examples."""
        # The original drops the example nearest to the question first.
        chosen = self._shots(sample).at_most(shots, drops_last=self._prompting.is_faithful)
        requests: list[Request] = []
        for method in self._spec.methods:
            requests += _REQUEST_BUILDERS[method](self, sample, chosen)
        return requests

    def render_opening(self, sample: Sample, method: Method) -> DialogueOpening:
        """Render a sample's prompt up to the answer, with all its examples."""
        return self._render_with_shots(sample, method, self._shots(sample))

    def _shots(self, sample: Sample) -> Shots:
        return Shots(self._pool.shots(sample)) if self._pool else _NO_SHOTS

    def _render_with_shots(self, sample: Sample, method: Method, shots: Shots) -> DialogueOpening:
        style = self._style(method)
        latest, examples = self._examples.get(method, (None, ""))
        if latest != shots.samples:
            solved = [style.build_solved_values(shot) for shot in shots.samples]
            examples = style.dialogue.render_examples(solved, chat=self._prompting.is_chat)
            self._examples[method] = shots.samples, examples
        return style.dialogue.render_after(examples, build_template_values(sample))

    def _style(self, method: Method) -> AnswerStyle:
        prompting = self._prompting
        if method == Method.PPL:
            return prompting.ppl_style
        return prompting.gen_style or prompting.style if method == Method.GEN else prompting.style

    def preview_prompt(self, sample: Sample, method: Method) -> Prompt:
        """Return a sample's prompt, for display."""
        if self._prompting.label_map is not None:
            prompt, start = self._render_labels(sample, self._shots(sample))[0]
            return replace_final_text(prompt, final_text(prompt)[:start])
        opening = self.render_opening(sample, method)
        return opening.generation if method == Method.GEN else opening.build_label_prompt()

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        """Return the scorer of each method."""
        return [self._scorer(method) for method in self._spec.methods]

    def _scorer(self, method: Method) -> ComponentSpec:
        prompting = self._prompting
        args: dict[str, Any] = {"track": method}
        if method == Method.GEN:
            return prompting.gen_scorer or self._name_text_scorer(args)
        if method == Method.PPL and prompting.is_faithful:
            return ComponentSpec("whole_text_likelihood", args)
        if prompting.several_right is not None:
            args["several_right"] = "any"  # These methods choose exactly one option.
        if method == Method.PROB:
            return ComponentSpec("label_probability", args)
        return ComponentSpec("option_likelihood", {**args, "score_by": prompting.score_by})

    def _name_text_scorer(self, args: dict[str, Any]) -> ComponentSpec:
        prompting = self._prompting
        has_options = self._rows.layout.data_type == "mcq"
        if prompting.match == "judge" and not has_options:
            return ComponentSpec("row_metrics", {**args, "metrics": JUDGE_METRICS, "extract": "whole"})
        args["faithful"] = prompting.is_faithful
        if prompting.sampling.n > 1:
            args["several"] = "mean"
        if has_options and prompting.several_right is not None:
            args["several_right"] = prompting.several_right
        if not has_options and prompting.match != "stated":
            args["match"] = prompting.match
        return ComponentSpec("generated_option" if has_options else "generated_answer", args)

    def _render_labels(self, sample: Sample, shots: Shots) -> list[tuple[Prompt, int]]:
        assert self._prompting.label_map is not None
        return self._prompting.label_map.spans(sample, shots.samples, is_chat=self._prompting.is_chat)

    def _build_label_ppl_requests(self, sample: Sample, shots: Shots) -> Iterator[Request]:
        for i, (prompt, start) in enumerate(self._render_labels(sample, shots)):
            if self._prompting.is_faithful:
                yield self._request(
                    sample, Method.PPL, "option", i, Span(prompt, 0, scores_first_token=False), shots
                )
                continue
            yield self._request(sample, Method.PPL, "option", i, Span(prompt, start), shots)
            if self._prompting.compares_alone:
                alone = Span(final_text(prompt)[start:], 0)
                yield self._request(sample, Method.PPL, "unconditional", i, alone, _NO_SHOTS)

    def _ppl(self, sample: Sample, shots: Shots) -> Iterator[Request]:
        if self._prompting.label_map is not None:
            yield from self._build_label_ppl_requests(sample, shots)
            return
        opening = self._render_with_shots(sample, Method.PPL, shots)
        for i, text in enumerate(self._prompting.ppl_style.answers(sample)):
            prompt, start = opening.followed_by(text)
            if self._prompting.is_faithful:
                yield self._request(
                    sample, Method.PPL, "option", i, Span(prompt, 0, scores_first_token=False), shots
                )
                continue
            yield self._request(sample, Method.PPL, "option", i, Span(prompt, start), shots)
            if self._prompting.compares_alone:
                alone = Span(f"{opening.joiner}{text}", 0)
                yield self._request(sample, Method.PPL, "unconditional", i, alone, _NO_SHOTS)

    def _prob(self, sample: Sample, shots: Shots) -> Iterator[Request]:
        opening = self._render_with_shots(sample, Method.PROB, shots)
        spellings = tuple((f" {label}", label) for label in sample.labels)
        ask = Labels(opening.build_label_prompt(), spellings)
        yield self._request(sample, Method.PROB, "labels", 0, ask, shots)

    def _gen(self, sample: Sample, shots: Shots) -> Iterator[Request]:
        opening = self._render_with_shots(sample, Method.GEN, shots)
        prompt = opening.verbatim if self._prompting.is_faithful else opening.generation
        sampling = self._prompting.sampling
        length = self._rows.layout.get_length(sample.fields)
        if length is not None:
            sampling = msgspec.structs.replace(sampling, max_tokens=length)
        ask = Generate(prompt, sampling)
        yield self._request(sample, Method.GEN, "answer", 0, ask, shots)

    def _request(
        self, sample: Sample, track: Method, role: str, index: int, ask: Ask, shots: Shots
    ) -> Request:
        n_shots, n_left_out = len(shots.samples), shots.n_left_out
        return make_request(self._spec.name, sample.id, track, role, index, ask, n_shots, n_left_out)


_REQUEST_BUILDERS = {Method.PPL: TableTask._ppl, Method.PROB: TableTask._prob, Method.GEN: TableTask._gen}
