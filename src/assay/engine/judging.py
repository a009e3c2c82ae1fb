"""Requests to a judge: a model that grades the answers of others.

Uses the judge's backend and turns prompts into requests. Prompts answered in the journal or the cache are not
sent again, so a run that was killed while judging resumes there. Independent of grades: scoring interprets
the replies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from assay.core.errors import PlanError, Problem
from assay.core.ids import digest
from assay.core.model import ModelIdentity
from assay.core.ports import Backend, Journal, ResponseCache
from assay.core.prompt import Prompt, find_media
from assay.core.request import Generate, Kind, Request, Sampling, canonicalize_ask, make_request
from assay.core.response import Completion, Failure, Outcome, Response
from assay.core.tally import JudgeTally
from assay.engine.plan import make_media_problem
from assay.engine.spending import BudgetGate, Meter

MAX_TOKENS = 1024
"""Enough for a judge to explain itself before its verdict."""
_REMEMBERED = 4096
"""Number of replies kept in memory, for metrics that are computed again over parts of a dataset."""


class BackendJudge:
    """A `Judge` that uses any backend that generates text.

    Keeps the latest few thousand replies in memory. The journal and the cache are the judge's own: request
    ids contain the judge's identity, and the cache must belong to that identity.
    """

    def __init__(
        self,
        backend: Backend,
        journal: Journal,
        cache: ResponseCache,
        *,
        max_tokens: int = MAX_TOKENS,
        on_reply: Callable[[], None] = lambda: None,
        meter: Meter | None = None,
        gate: BudgetGate | None = None,
    ) -> None:
        """`on_reply`: called whenever the tally changes. `meter`, `gate`: as for `Execution`."""
        if Kind.GENERATE not in backend.card.kinds:
            raise PlanError(
                Problem(
                    "JUDGE-002",
                    f"the judge {backend.card.name!r} cannot generate text, which a verdict needs",
                    "use a judge that can generate text",
                )
            )
        self._backend = backend
        self._journal = journal
        self._cache = cache
        self._sampling = Sampling(max_tokens=max_tokens, temperature=0.0)
        self._remembered: dict[str, Completion | Failure] = {}
        self._on_reply = on_reply
        self._meter = meter
        self._gate = gate
        self._held: Prompt | None = None
        """The next prompt, if it waits for the budget."""
        self._metered: set[str] = set()
        """Stored requests whose cost is counted; they may be read again."""
        self.tally = JudgeTally()

    def identity(self) -> ModelIdentity:
        """Return the identity of the judge."""
        return self._identity

    def ask(self, prompts: Sequence[Prompt]) -> Sequence[Completion | Failure]:
        """Return the reply to each prompt, in order. Equal prompts are sent once.

        Raises BudgetReached if the budget does not allow all of them; the replies so far are stored.
        """
        keys: list[str] = []
        outcomes: dict[str, Completion | Failure] = {}
        waiting: dict[str, int] = {}
        self.tally.n_prompts += len(prompts)
        left, gate = iter(prompts), self._gate
        while True:
            n_sent = 0 if gate is None else gate.n_sent
            missing = self._iterate_missing(left, keys, outcomes, waiting)
            for response in self._backend.run(missing):
                self._settle(response, outcomes, waiting)
            if gate is None or self._held is None:
                return [outcomes[key] for key in keys]
            if gate.n_sent == n_sent:
                raise gate.reached()
            left = chain([self._held], left)

    @cached_property
    def _identity(self) -> ModelIdentity:
        return self._backend.identity()  # Can hash weight files, so do it once and only if needed.

    def _iterate_missing(
        self,
        prompts: Iterable[Prompt],
        keys: list[str],
        outcomes: dict[str, Completion | Failure],
        waiting: dict[str, int],
    ) -> Iterator[Request]:
        """Record every prompt's key and the known replies, and yield the requests without one.

        `waiting` then counts the prompts that wait for each request.
        """
        self._held = None
        for prompt in prompts:
            request = self._request(prompt)
            if self._gate is not None and not self._may_send(request, outcomes, waiting):
                self._held = prompt
                return
            keys.append(request.key)
            if request.key in waiting:
                self.tally.n_shared += 1
                waiting[request.key] += 1
            elif request.key in outcomes:
                self.tally.n_shared += 1
                self._count(outcomes[request.key], 1)
            elif (known := self._find_stored(request)) is not None:
                outcomes[request.key] = known
                self._count(known, 1)
            else:
                waiting[request.key] = 1
                self.tally.n_sent += 1
                if self._gate is not None and self._meter is not None:
                    self._gate.reserve(request, self._meter)
                yield request

    def _may_send(self, request: Request, outcomes: Mapping[str, object], waiting: Mapping[str, int]) -> bool:
        """Return whether the budget allows a request, or none is needed."""
        assert self._gate is not None
        assert self._meter is not None  # A budget needs one.
        key = request.key
        is_known = (
            key in waiting
            or key in outcomes
            or key in self._remembered
            or self._journal.get(request.id, key) is not None
            or self._cache.get(key) is not None
        )
        return is_known or self._gate.may_send([request], self._meter)

    def _request(self, prompt: Prompt) -> Request:
        """Return the request for a prompt. Its id depends only on the judge and the ask."""
        ask = Generate(self._render(prompt), self._sampling)
        return make_request(
            f"judge-{self._identity.digest}", digest(canonicalize_ask(ask)), "judge", "verdict", 0, ask
        )

    def _render(self, prompt: Prompt) -> Prompt:
        """Return the prompt as this judge can read it: without a chat template, messages become one text."""
        card = self._backend.card
        if unseen := find_media(prompt) - card.media:
            raise PlanError(make_media_problem("the judge", "a prompt", unseen, card))
        if isinstance(prompt, str) or card.is_chat:
            return prompt
        return "\n\n".join(message.text for message in prompt) + "\n\n"

    def _find_stored(self, request: Request) -> Completion | Failure | None:
        """Return the stored reply to a request, or None."""
        if (remembered := self._remembered.get(request.key)) is not None:
            self.tally.n_shared += 1
            return remembered
        response = self._journal.get(request.id, request.key)
        if response is not None:
            self.tally.n_journaled += 1
            self._charge(response)
            return self._remember(request.key, response.outcome)
        outcome = self._cache.get(request.key)
        if outcome is None:
            return None
        self.tally.n_cached += 1
        stored = Response(request.id, request.key, outcome, cached=True)
        self._journal.append(stored)
        self._journal.flush()
        self._charge(stored)
        return self._remember(request.key, outcome)

    def _count(self, outcome: Completion | Failure, n: int) -> None:
        """Count the prompts that have this reply."""
        self.tally.n_replied += n
        if isinstance(outcome, Failure):
            self.tally.n_failed += n
        self._on_reply()

    def _settle(
        self, response: Response, outcomes: dict[str, Completion | Failure], waiting: dict[str, int]
    ) -> None:
        """Process a reply from the backend: journal it before the next request."""
        if self._gate is not None and self._meter is not None:
            self._gate.settle(response, self._meter)
        self._charge(response)
        self._journal.append(response)
        if not self._backend.has_more_at_hand:
            self._journal.flush()
        outcome = outcomes[response.key] = self._remember(response.key, response.outcome)
        self.tally.seconds += response.seconds
        if isinstance(outcome, Completion):
            self._cache.put(response.key, outcome)
            self.tally.n_prompt_tokens += outcome.n_prompt_tokens
            self.tally.n_generated_tokens += sum(output.n_tokens for output in outcome.outputs)
        self._count(outcome, waiting.pop(response.key))

    def _charge(self, response: Response) -> None:
        """Count the cost of a reply once."""
        if self._meter is not None and response.key not in self._metered:
            self._metered.add(response.key)
            self._meter.add(response)

    def _remember(self, key: str, outcome: Outcome) -> Completion | Failure:
        if not isinstance(outcome, Completion | Failure):
            raise TypeError(f"a GENERATE ask was answered with {type(outcome).__name__}")
        if len(self._remembered) >= _REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        self._remembered[key] = outcome
        return outcome
