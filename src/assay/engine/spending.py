"""What a run's requests cost, and whether its budget allows more of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from assay.core.billing import Bill, ListedPrice, Price, compute_usd
from assay.core.budget import Budget, Spent
from assay.core.errors import BudgetReached, Problem
from assay.core.request import Generate, Request
from assay.core.response import Failure, Response
from assay.core.run import Charge

_ROUNDING = 1e-9
"""Relative error of a sum of costs."""
_CHARS_PER_TOKEN = 3
"""A cautious estimate of the length of a prompt, until the first answer arrives."""


class Meter:
    """Adds up what the requests to one model cost."""

    def __init__(self, role: str, model: str, listed: ListedPrice | None, *, is_batch: bool = False) -> None:
        """`listed`: the entry of the price table; None: the cost is known only if the server reports it."""
        self.role = role
        """`model` or `judge`."""
        self.model = model
        self._price = listed if isinstance(listed, Price) else None
        self._is_batch = is_batch
        self._bill = Bill()
        self._usd = 0.0
        self._n_priced = self._n_unpriced = self._n_reused = 0

    def price_bill(self, bill: Bill) -> float | None:
        """Return the cost of a bill; None if it is not known."""
        return compute_usd(bill, self._price, is_batch=self._is_batch)

    def compute_usd(self, response: Response) -> float | None:
        """Return the cost of a response; None if it is not known."""
        if response.cached:
            return 0.0
        return self.price_bill(response.count_tokens())

    def add(self, response: Response) -> float | None:
        """Add a response; return its cost, None if it is not known. A failure without a bill is free."""
        if response.cached:
            self._n_reused += 1
            return 0.0
        usd = self.compute_usd(response)
        self._bill = self._bill.plus(response.count_tokens())
        if usd is not None:
            self._n_priced += 1
            self._usd += usd
        elif isinstance(response.outcome, Failure):
            return 0.0
        else:
            self._n_unpriced += 1
        return usd

    def charge(self) -> Charge | None:
        """Return what the model cost; None if no cost is known, as for a local model without a price."""
        if not self._n_priced and self._price is None:
            return None
        return Charge(
            self.role,
            self.model,
            self._usd,
            n_priced=self._n_priced,
            n_unpriced=self._n_unpriced,
            n_reused=self._n_reused,
            n_input_tokens=self._bill.n_input,
            n_cached_input_tokens=self._bill.n_cached,
            n_output_tokens=self._bill.n_output,
            price=self._price,
            is_batch=self._is_batch,
        )


class BudgetGate:
    """Decides whether a run may send further requests.

    Reserves the expected cost of the requests in progress: the mean of the answered ones, or a cautious
    estimate before the first answer. So a run ends close to its budget, and never loses a paid answer.
    """

    def __init__(self, budget: Budget, *, may_drop: bool = False) -> None:
        """`may_drop`: whether requests in progress may be dropped when the budget is used up, because a local
        model computes them and nobody charges for them.
        """
        self.may_drop = may_drop
        self.budget = budget
        self.spent = Spent()
        """By all starts of the run."""
        self._began = time.monotonic()
        self._seconds_before = 0.0
        self._reserved: dict[tuple[str, str], Spent] = {}
        self._sums: dict[str, Spent] = {}
        self._n_answered: dict[str, int] = {}
        self._unpriced: str | None = None
        """A model that sent an answer of unknown cost, although the budget limits the money."""
        self.n_sent = 0

    def remember(self, responses: Iterable[Response], meter: Meter) -> None:
        """Count the answers of earlier starts. Their times add up to the time of the model."""
        for response in responses:
            if not response.cached:
                self._add(response, meter)
                self._seconds_before += response.seconds

    def may_send(self, requests: Sequence[Request], meter: Meter) -> bool:
        """Return whether the budget allows these requests besides those in progress."""
        if self._unpriced is not None or self.is_used_up:
            return False
        if meter.role not in self._n_answered and (not self._reserved or self._is_blind(meter)):
            return not self._reserved  # The first answer shows what the others will cost.
        usd, tokens = self.spent.usd, float(self.spent.tokens)
        for one in (*self._reserved.values(), *(self._expect(one, meter) for one in requests)):
            usd += one.usd
            tokens += one.tokens
        limit = self.budget
        return (limit.usd is None or usd <= limit.usd * (1 + _ROUNDING)) and (
            limit.tokens is None or tokens <= limit.tokens
        )

    @property
    def is_used_up(self) -> bool:
        """Return whether a limit is reached."""
        limit, spent = self.budget, self.spent
        self._update_seconds()
        return (
            (limit.usd is not None and spent.usd >= limit.usd * (1 - _ROUNDING))
            or (limit.tokens is not None and spent.tokens >= limit.tokens)
            or (limit.seconds is not None and spent.seconds >= limit.seconds)
        )

    @property
    def has_requests_in_progress(self) -> bool:
        """Return whether answers are still to come."""
        return bool(self._reserved)

    def reserve(self, request: Request, meter: Meter) -> None:
        """Count a request that is about to be sent."""
        self.n_sent += 1
        self._reserved[request.id, request.key] = self._expect(request, meter)

    def settle(self, response: Response, meter: Meter) -> None:
        """Count an answer."""
        self._reserved.pop((response.request_id, response.key), None)
        self._add(response, meter)

    def _is_blind(self, meter: Meter) -> bool:
        """Return whether the cost of a request cannot be estimated, although it is limited."""
        return self.budget.usd is not None and meter.price_bill(Bill(1)) is None

    def _add(self, response: Response, meter: Meter) -> None:
        known, tokens = meter.compute_usd(response), response.count_tokens().n_tokens
        if known is None and self.budget.usd is not None and not isinstance(response.outcome, Failure):
            self._unpriced = meter.model
        usd = known or 0.0
        self.spent.usd += usd
        self.spent.tokens += tokens
        if not isinstance(response.outcome, Failure):
            total = self._sums.setdefault(meter.role, Spent())
            total.usd += usd
            total.tokens += tokens
            self._n_answered[meter.role] = self._n_answered.get(meter.role, 0) + 1

    def reached(self) -> BudgetReached:
        """Return the error that ends the run."""
        self._update_seconds()
        if self._unpriced is not None:
            what = f"the budget of {self.budget.written} cannot be kept: {self._unpriced} reports no cost"
            return BudgetReached(
                Problem("BUDGET-003", what, "give it a price in assay.toml and run the same command again")
            )
        what = f"the budget of {self.budget.written} is reached: {self.spent.describe(self.budget)} spent"
        if not self.is_used_up:
            what += ", too little is left for the next sample"
        return BudgetReached(Problem("BUDGET-002", what, "run the same command with a higher --budget"))

    def _update_seconds(self) -> None:
        self.spent.seconds = self._seconds_before + time.monotonic() - self._began

    def _expect(self, request: Request, meter: Meter) -> Spent:
        """Return the expected cost of a request."""
        if n := self._n_answered.get(meter.role, 0):
            total = self._sums[meter.role]
            return Spent(total.usd / n, round(total.tokens / n))
        bill = estimate_bill(request)
        return Spent(meter.price_bill(bill) or 0.0, bill.n_tokens)


def estimate_bill(request: Request) -> Bill:
    """Return a cautious estimate of the tokens of a request, from the length of its text."""
    ask = request.ask
    if isinstance(ask, Generate):
        n_texts = ask.sampling.n
        return Bill(count_chars(request) // _CHARS_PER_TOKEN * n_texts, 0, ask.sampling.max_tokens * n_texts)
    return Bill(count_chars(request) // _CHARS_PER_TOKEN)


def count_chars(request: Request) -> int:
    """Return the number of characters of a request's prompt or text."""
    prompt = request.ask.prompt
    return len(prompt) if isinstance(prompt, str) else sum(len(message.text) for message in prompt)
