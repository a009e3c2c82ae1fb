"""The task of a Task class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.core.method import Method
from assay.core.prompt import Prompt
from assay.core.request import Ask, Kind, Request, Span, make_request
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, Scorer, TaskSpec
from assay.dialects.leap.author_requests import GREEDY_UNTIL, LOGLIKELIHOOD
from assay.dialects.leap.evaluation import Evaluation
from assay.dialects.leap.model_requests import LeapRequestBuilder, ParsedRequest
from assay.dialects.leap.prepared_task import PreparedTask
from assay.dialects.shared.described_task import DescribedTask, get_prompt_before_answer


class LeapTask(DescribedTask):
    """One Task class with one or more methods.

    All results of a document's requests go to the author's `process_results` together, so requests of several
    types are one track: `gen` if any text is generated.
    """

    def __init__(
        self,
        spec: TaskSpec,
        samples: Sequence[Sample],
        prepared: PreparedTask,
        asking: LeapRequestBuilder,
        headline: str | None,
    ) -> None:
        super().__init__(spec)
        self._samples = samples
        self._prepared = prepared
        self._asking = asking
        self._headline = headline

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return the kinds of ask it will make."""
        types = self._prepared.types
        mixed = {Kind.SPAN} if GREEDY_UNTIL in types and len(types) > 1 else set[Kind]()
        return super().kinds | mixed

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in the order of evaluation."""
        return iter(self._samples)

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the requests for a document for every method, with at most `shots` examples."""
        number = self._prepared.number[sample.id]
        with self._prepared.author.convert_errors("construct_requests"):
            wishes, context = self._prepared.wishes(number, shots)
        has_options = bool(wishes.options)
        requests: list[Request] = []
        for method in self._spec.methods:
            if method == Method.PROB:
                asks: list[tuple[str, Ask]] = [("labels", self._asking.labels(wishes, context))]
            else:
                asks = [
                    (_role(wish, has_options), self._fit_window(wish, self._asking.ask(wish, context)))
                    for wish in wishes.every
                ]
            counts = (context.n_shots, context.n_left_out)
            requests += [
                make_request(self._spec.name, sample.id, method, role, index, ask, *counts)
                for index, (role, ask) in enumerate(asks)
            ]
        return requests

    def preview_prompt(self, sample: Sample, method: Method) -> Prompt:
        """Return a document's prompt up to the answer, for display."""
        ask = next(request.ask for request in self.requests(sample) if request.track == method)
        return get_prompt_before_answer(ask)

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        """Return the scorer of each method, with the author's own code."""
        evaluation = self.evaluation()
        return [
            ComponentSpec(
                "task_results", {"track": method, "author": evaluation, "inner": self._inner(method)}
            )
            for method in self._spec.methods
        ]

    def evaluation(self) -> Evaluation:
        """Return the author's scoring."""
        return Evaluation(self._prepared, headline=self._headline, is_faithful=self._asking.is_faithful)

    def _inner(self, method: Method) -> ComponentSpec | None:
        """Return the scorer that compares the options for display; the author's code decides."""
        if method == Method.PROB:
            return ComponentSpec("label_probability", {"track": method})
        # With the original's window, an ask can score more tokens than count.
        if method == Method.PPL and self._prepared.window is None:
            return ComponentSpec("option_likelihood", {"track": method, "score_by": "sum"})
        return None

    def _fit_window(self, wish: ParsedRequest, ask: Ask) -> Ask:
        window = self._prepared.window
        if window is None or wish.type != LOGLIKELIHOOD or wish.is_classic or not isinstance(ask, Span):
            return ask
        return window.widen_span(ask, wish.continuation)


def _role(wish: ParsedRequest, has_options: bool) -> str:
    if wish.type == GREEDY_UNTIL:
        return "answer"
    if wish.type != LOGLIKELIHOOD:
        return "text"
    return "option" if has_options else "continuation"
