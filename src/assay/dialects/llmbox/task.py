"""The task of a dataset class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from assay.core.method import Method
from assay.core.prompt import Prompt
from assay.core.request import Ask, Generate, Kind, Labels, Request, Sampling, Span, make_request
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, Rehearse, Scorer, TaskSpec
from assay.dialects.llmbox.evaluation import AuthorEvaluation
from assay.dialects.llmbox.formatted_dataset import FormattedDataset
from assay.dialects.llmbox.formatting import Instance, letters
from assay.dialects.llmbox.prompts import PromptExamples, PromptOpening, build_opening
from assay.dialects.shared.described_task import DescribedTask


class RequestSettings(NamedTuple):
    """How the task builds its requests."""

    is_chat: bool
    is_faithful: bool
    system: str | None
    sampling: Mapping[Method, Sampling]
    """By method; only generation has one."""
    score_by: str | None
    stop_ids: tuple[tuple[int, ...], ...] = ()
    """Token sequences that end an answer, instead of the stop strings."""


class SearchResult(NamedTuple):
    """The result of a search."""

    chosen: dict[str, Any]
    """For the manifest."""
    notes: Sequence[str]
    """In words, for the user."""


class Search(Protocol):
    """A search with the model for something about a dataset, before its samples are evaluated."""

    name: str
    kinds: frozenset[Kind]
    """The kinds of ask it makes."""

    def run(self, rehearse: Rehearse) -> SearchResult:
        """Run the search and apply its result to the prompts."""


class ClassTask(DescribedTask):
    """One dataset, or one subset of it, with one or more methods."""

    def __init__(
        self,
        spec: TaskSpec,
        samples: Sequence[Sample],
        prepared: Mapping[Method, FormattedDataset],
        asking: RequestSettings,
        searches: Sequence[Search] = (),
    ) -> None:
        self._searches = searches
        super().__init__(spec)
        self._samples = samples
        self._prepared = prepared
        self._asking = asking

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return the kinds of ask it will make."""
        return super().kinds.union(*(search.kinds for search in self._searches))

    def prepare(self, rehearse: Rehearse) -> Sequence[str]:
        """Run the searches for examples and instruction; return what was chosen, in words."""
        chosen: dict[str, Any] = {}
        notes: list[str] = []
        for search in self._searches:
            result = search.run(rehearse)
            chosen[search.name] = result.chosen
            notes += [f"{self._spec.name} {note}" for note in result.notes]
        self._spec = msgspec.structs.replace(self._spec, chosen=chosen)
        return notes

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in the order of the rows."""
        return iter(self._samples)

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the requests for a sample for every method, with at most `shots` examples."""
        requests: list[Request] = []
        for method, prepared in self._prepared.items():
            number = prepared.index[sample.id]
            shown = prepared.get_examples(number).at_most(shots, drops_last=prepared.choice.drops_last)
            asks = self._asks(method, prepared, prepared.instances[number], shown)
            task, n_shots, n_left_out = self._spec.name, len(shown.shots), shown.n_left_out
            for role, index, ask in asks:
                # An option alone is scored without examples.
                counts = (0, 0) if role == "unconditional" else (n_shots, n_left_out)
                requests.append(make_request(task, sample.id, method, role, index, ask, *counts))
        return requests

    def preview_prompt(self, sample: Sample, method: Method) -> Prompt:
        """Return a sample's prompt for display."""
        prepared = self._prepared[method]
        number = prepared.index[sample.id]
        row = prepared.instances[number]
        return self._render_opening(
            prepared.get_examples(number), row.sources[0], prepared.lead
        ).question_prompt

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        """Return the scorer of each method, with the author's own metrics."""
        scorers: list[ComponentSpec | Scorer] = []
        for method, prepared in self._prepared.items():
            evaluation = AuthorEvaluation(prepared, is_faithful=self._asking.is_faithful)
            inner = self._inner(method, prepared)
            args: dict[str, Any] = {"track": method, "author": evaluation, "inner": inner}
            scorers.append(ComponentSpec("author_metrics", args))
        return scorers

    def _inner(self, method: Method, prepared: FormattedDataset) -> ComponentSpec | None:
        """Return the scorer that determines which option was chosen, and why."""
        dataset = prepared.dataset
        if dataset.evaluation_type != "ranking":
            return None
        if method == Method.PROB and self._asking.is_faithful:
            # The original has more candidates than options, and its own formula decides between them.
            return None
        if method == Method.PROB:
            return ComponentSpec("label_probability", {"track": method})
        if method == Method.GEN:
            return ComponentSpec("generated_option", {"track": method})
        own = "pmi" if dataset.use_normalization else "per_token"
        return ComponentSpec("option_likelihood", {"track": method, "score_by": self._asking.score_by or own})

    def _render_opening(self, examples: PromptExamples, source: str, lead: str) -> PromptOpening:
        return build_opening(
            examples, source, is_chat=self._asking.is_chat, system=self._asking.system, lead=lead
        )

    def _asks(
        self, method: Method, prepared: FormattedDataset, row: Instance, examples: PromptExamples
    ) -> Iterator[tuple[str, int, Ask]]:
        """Yield the asks of a method for a row: role, index and ask."""
        return _ASKS[method](self, prepared, row, examples)

    def _ppl(
        self, prepared: FormattedDataset, row: Instance, examples: PromptExamples
    ) -> Iterator[tuple[str, int, Ask]]:
        if prepared.dataset.evaluation_type == "perplexity":
            text = row.options[0] if row.options else row.sources[0]
            yield "option", 0, Span(text, 0)
            return
        if row.has_contexts:
            for index, source in enumerate(row.sources):
                yield (
                    "option",
                    index,
                    Span(
                        *self._render_opening(examples, source, prepared.lead).followed_by(row.target or "")
                    ),
                )
            return
        before = self._render_opening(examples, row.sources[0], prepared.lead)
        for index, text in enumerate(row.options):
            yield "option", index, Span(*before.followed_by(text))
        if prepared.dataset.use_normalization:
            bare = self._render_opening(PromptExamples(), prepared.dataset.normalization_prompt, lead="")
            for index, text in enumerate(row.options):
                yield "unconditional", index, Span(*bare.followed_by(text))

    def _prob(
        self, prepared: FormattedDataset, row: Instance, examples: PromptExamples
    ) -> Iterator[tuple[str, int, Ask]]:
        names = letters(len(row.options))
        labels: tuple[tuple[str, ...], ...] = tuple((f" {name}", name) for name in names)
        if self._asking.is_faithful:
            # Two candidates for each letter, those with a space first.
            labels = tuple((spelling,) for spelling in (*(f" {name}" for name in names), *names))
        yield (
            "labels",
            0,
            Labels(self._render_opening(examples, row.sources[0], prepared.lead).question_prompt, labels),
        )

    def _gen(
        self, prepared: FormattedDataset, row: Instance, examples: PromptExamples
    ) -> Iterator[tuple[str, int, Ask]]:
        prompt = self._render_opening(examples, row.sources[0], prepared.lead).question_prompt
        sampling = self._asking.sampling[Method.GEN]
        stop_ids = self._asking.stop_ids
        later = row.sources[1:] if prepared.dataset.multi_turn else ()
        if not later or sampling.n == 1:
            yield "answer", 0, Generate(prompt, sampling, later, stop_ids)
            return
        # Each sample of a conversation continues separately from the first answer on.
        for index in range(sampling.n):
            seed = None if sampling.seed is None else sampling.seed + index
            own = msgspec.structs.replace(sampling, n=1, seed=seed)
            yield "answer", index, Generate(prompt, own, later, stop_ids)


_ASKS = {Method.PPL: ClassTask._ppl, Method.PROB: ClassTask._prob, Method.GEN: ClassTask._gen}
