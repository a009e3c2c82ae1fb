"""The texts that a GENERATE request waits for, and its response once they are finished."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.backends.hf.generation import Draft
from assay.core.request import Generate, Request
from assay.core.response import Completion, Failure, Outcome, Response


@dataclass(slots=True, frozen=True)
class GenerationJob:
    """Texts to generate, and the requests they answer."""

    drafts: list[Draft]
    requests: list[Request]

    def responses(self) -> Iterator[Response]:
        """Yield the response to each request."""
        seconds = sum(draft.seconds for draft in self.drafts) / len(self.requests)
        for request in self.requests:
            yield Response(request.id, request.key, self._outcome(request), seconds)

    def _outcome(self, request: Request) -> Outcome:
        assert isinstance(request.ask, Generate)
        trouble = next((draft.failure for draft in self.drafts if draft.failure is not None), None)
        if trouble is not None:
            return Failure(*trouble)
        outputs = [draft.output for draft in self.drafts if draft.output is not None]
        if len(outputs) == 1:
            outputs *= request.ask.sampling.n
        return Completion(tuple(outputs), n_prompt_tokens=len(self.drafts[0].prompt))
