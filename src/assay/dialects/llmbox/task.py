"""The task that a dataset class becomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

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
    """How the task asks."""

    is_chat: bool
    is_faithful: bool
    system: str | None
    sampling: Mapping[str, Sampling]
    """By method; only generation has one."""
    score_by: str | None
    stop_ids: tuple[tuple[int, ...], ...] = ()
    """Token sequences that end an answer, in place of the stop strings."""


class SearchResult(NamedTuple):
    """What a search found."""

    chosen: dict[str, Any]
    """For the manifest."""
    notes: Sequence[str]
    """In words."""


class Search(Protocol):
    """Something to find out about a dataset by asking the model, before its samples are asked."""

    name: str
    kinds: frozenset[Kind]
    """The kinds of ask it makes."""

    def run(self, rehearse: Rehearse) -> SearchResult:
        """Find it, and put it where the prompts are made."""


class ClassTask(DescribedTask):
    """One dataset, or one subset of it, by one or more methods."""

    def __init__(
        self,
        spec: TaskSpec,
        samples: Sequence[Sample],
        prepared: Mapping[str, FormattedDataset],
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
        """Find out what the model has to say about examples and instruction; say what was chosen."""
        chosen: dict[str, Any] = {}
        notes: list[str] = []
        for search in self._searches:
            found = search.run(rehearse)
            chosen[search.name] = found.chosen
            notes += [f"{self._spec.name} {note}" for note in found.notes]
        self._spec = msgspec.structs.replace(self._spec, chosen=chosen)
        return notes

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in the order of the rows."""
        return iter(self._samples)

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return what to ask about a sample, for every method; with at most so many examples."""
        made: list[Request] = []
        for method, prepared in self._prepared.items():
            number = prepared.index[sample.id]
            shown = prepared.shown(number).at_most(shots, drops_last=prepared.choice.drops_last)
            asks = self._asks(method, prepared, prepared.instances[number], shown)
            task, n_shots, n_left_out = self._spec.name, len(shown.shots), shown.n_left_out
            for role, index, ask in asks:
                # An option alone is asked without examples.
                counts = (0, 0) if role == "unconditional" else (n_shots, n_left_out)
                made.append(make_request(task, sample.id, method, role, index, ask, *counts))
        return made

    def shown(self, sample: Sample, method: str) -> Prompt:
        """Return a sample's prompt for a person to see."""
        prepared = self._prepared[method]
        number = prepared.index[sample.id]
        one = prepared.instances[number]
        return self._opening(prepared.shown(number), one.sources[0], prepared.lead).asked

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        """Name the scorer of each method, with the author's own metrics."""
        named: list[ComponentSpec | Scorer] = []
        for method, prepared in self._prepared.items():
            evaluation = AuthorEvaluation(prepared, is_faithful=self._asking.is_faithful)
            inner = self._inner(method, prepared)
            args: dict[str, Any] = {"track": method, "author": evaluation, "inner": inner}
            named.append(ComponentSpec("author_metrics", args))
        return named

    def _inner(self, method: str, prepared: FormattedDataset) -> ComponentSpec | None:
        """Name the scorer that says which option was chosen, and why."""
        dataset = prepared.dataset
        if dataset.evaluation_type != "ranking":
            return None
        if method == "prob" and self._asking.is_faithful:
            # The original's candidates are more than the options: its own formula decides between them.
            return None
        if method == "prob":
            return ComponentSpec("label_probability", {"track": method})
        if method == "gen":
            return ComponentSpec("generated_option", {"track": method})
        own = "pmi" if dataset.use_normalization else "per_token"
        return ComponentSpec("option_likelihood", {"track": method, "score_by": self._asking.score_by or own})

    def _opening(self, shown: PromptExamples, source: str, lead: str) -> PromptOpening:
        return build_opening(
            shown, source, is_chat=self._asking.is_chat, system=self._asking.system, lead=lead
        )

    def _asks(
        self, method: str, prepared: FormattedDataset, one: Instance, shown: PromptExamples
    ) -> Iterator[tuple[str, int, Ask]]:
        """Yield what a method asks about a row: the role of each ask, its index, and the ask."""
        return _ASKS[method](self, prepared, one, shown)

    def _ppl(
        self, prepared: FormattedDataset, one: Instance, shown: PromptExamples
    ) -> Iterator[tuple[str, int, Ask]]:
        if prepared.dataset.evaluation_type == "perplexity":
            text = one.options[0] if one.options else one.sources[0]
            yield "option", 0, Span(text, 0)
            return
        if one.has_contexts:
            for index, source in enumerate(one.sources):
                yield (
                    "option",
                    index,
                    Span(*self._opening(shown, source, prepared.lead).followed_by(one.target or "")),
                )
            return
        before = self._opening(shown, one.sources[0], prepared.lead)
        for index, text in enumerate(one.options):
            yield "option", index, Span(*before.followed_by(text))
        if prepared.dataset.use_normalization:
            bare = self._opening(PromptExamples(), prepared.dataset.normalization_prompt, lead="")
            for index, text in enumerate(one.options):
                yield "unconditional", index, Span(*bare.followed_by(text))

    def _prob(
        self, prepared: FormattedDataset, one: Instance, shown: PromptExamples
    ) -> Iterator[tuple[str, int, Ask]]:
        names = letters(len(one.options))
        labels: tuple[tuple[str, ...], ...] = tuple((f" {name}", name) for name in names)
        if self._asking.is_faithful:
            # Two candidates for each letter, those with a space first.
            labels = tuple((spelling,) for spelling in (*(f" {name}" for name in names), *names))
        yield "labels", 0, Labels(self._opening(shown, one.sources[0], prepared.lead).asked, labels)

    def _gen(
        self, prepared: FormattedDataset, one: Instance, shown: PromptExamples
    ) -> Iterator[tuple[str, int, Ask]]:
        prompt = self._opening(shown, one.sources[0], prepared.lead).asked
        sampling = self._asking.sampling["gen"]
        stop_ids = self._asking.stop_ids
        later = one.sources[1:] if prepared.dataset.multi_turn else ()
        if not later or sampling.n == 1:
            yield "answer", 0, Generate(prompt, sampling, later, stop_ids)
            return
        # Every sample of a conversation goes its own way from the first answer on.
        for index in range(sampling.n):
            seed = None if sampling.seed is None else sampling.seed + index
            own = msgspec.structs.replace(sampling, n=1, seed=seed)
            yield "answer", index, Generate(prompt, own, later, stop_ids)


_ASKS = {"ppl": ClassTask._ppl, "prob": ClassTask._prob, "gen": ClassTask._gen}
