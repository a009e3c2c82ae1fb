"""The cost and the budget of a run: prices from assay.toml, and what earlier starts have spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.app.judge import JUDGEMENTS
from assay.app.run_names import utc_now
from assay.app.settings import RunSettings
from assay.backends.registry import LOCAL, SERVERS
from assay.core.billing import find_price, format_price_lines
from assay.core.budget import parse_budget
from assay.core.errors import BudgetReached, Problem, UsageError
from assay.core.response import Response
from assay.core.run import Charge, Cost, RunManifest, RunStatus
from assay.core.tally import Tally
from assay.engine.journal import ResponseLines
from assay.engine.spending import BudgetGate, Meter
from assay.results.store import JOURNAL

_MODEL, _JUDGE = "model", "judge"


class Spending(NamedTuple):
    """The meters of a run's models, and the gate that keeps it within its budget."""

    model: Meter | None
    """None: the model has no cost."""
    judge: Meter | None
    gate: BudgetGate | None

    def charges(self) -> tuple[Charge, ...]:
        """Return what the models cost, if that is known."""
        found = [meter.charge() for meter in (self.model, self.judge) if meter is not None]
        return tuple(charge for charge in found if charge is not None)


def open_spending(values: RunSettings, folder: Path, *, asks_model: bool, asks_judge: bool) -> Spending:
    """Return the spending of a run in a folder, which may contain the answers of earlier starts.

    `asks_model`: whether the model is queried, and not its stored answers.
    """
    model = judge = None
    budget = None if values.budget is None else parse_budget(values.budget)
    if asks_model:
        model = _open_meter(_MODEL, values.model, values, is_batch=values.batch, is_needed=budget is not None)
    if asks_judge:
        is_model = values.judge in (None, values.model)
        name = values.model if is_model else (values.judge or "")
        is_batch = values.batch and is_model
        judge = _open_meter(_JUDGE, name, values, is_batch=is_batch, is_needed=budget is not None)
    if budget is None:
        return Spending(model, judge, None)
    gate = BudgetGate(budget, may_drop=values.model.partition(":")[0] not in SERVERS)
    for meter, path in ((model, folder / JOURNAL), (judge, folder / JUDGEMENTS)):
        if meter is not None and path.is_file():
            gate.remember(_read_responses(path), meter)
    return Spending(model, judge, gate)


def check_budget(values: RunSettings, judge: str | None) -> None:
    """Raise BUDGET-001 if a budget in dollars is set and the price of the model or the judge is unknown."""
    if values.budget is None or parse_budget(values.budget).usd is None:
        return
    names = [values.model, *([judge] if judge is not None else [])]
    for name in dict.fromkeys(names):
        if find_price(values.prices, name) is None:
            raise unknown_price_error(name, f"--budget {values.budget} needs it")


def unknown_price_error(model: str, why: str) -> UsageError:
    """Return BUDGET-001: the price of a model is not known."""
    lines = format_price_lines(model)
    fix = f"add these lines to assay.toml, with the provider's prices:\n{lines}"
    if model.partition(":")[0] in LOCAL:
        fix = "limit the time or the tokens instead, such as --budget 30min"
    else:
        name = model.partition("@")[0]
        fix += f'\nor, if the server reports the cost of each reply, under [prices]:\n"{name}" = "reported"'
    return UsageError(Problem("BUDGET-001", f"the price of {model} is unknown; {why}", fix))


def _open_meter(
    role: str, name: str, values: RunSettings, *, is_batch: bool, is_needed: bool
) -> Meter | None:
    """Return the meter of a model; None if nothing can have a cost, so that nothing has to be counted."""
    listed = find_price(values.prices, name)
    if listed is None and not is_needed and name.partition(":")[0] not in SERVERS:
        return None
    return Meter(role, name, listed, is_batch=is_batch)


def _read_responses(path: Path) -> Iterator[Response]:
    with path.open("rb") as file:
        for _, response in ResponseLines(file):
            yield response


def build_stopped_manifest(
    manifest: RunManifest,
    spending: Spending,
    tally: Tally,
    preparation: Sequence[Cost],
    seconds: float,
    counters: Mapping[str, float],
) -> RunManifest:
    """Return the manifest of a run that reached its budget."""
    return msgspec.structs.replace(
        manifest,
        status=RunStatus.STOPPED,
        finished=utc_now(),
        seconds=seconds,
        costs=(*tally.costs.values(), *preparation),
        charges=spending.charges(),
        stats=dict(counters),
        failures=tally.failures,
    )


def describe_stop(reached: BudgetReached, tally: Tally, values: RunSettings) -> tuple[str, ...]:
    """Return notes about a run that reached its budget: what is answered, and how it resumes."""
    n = sum(tally.landed.values())
    problem = reached.problems[0]
    notes = [
        f"stopped: {problem.what}; {n:,} of {tally.n_samples:,} samples are answered, and none is scored; "
        f"to resume, {problem.fix}"
    ]
    if n and len(tally.landed) == 1 and values.limit is None and values.cache:
        notes.append(
            f"to score the {n:,} answered samples now, add --limit first:{n}: their answers come from the "
            "cache"
        )
    return tuple(notes)


def already_spent_error(gate: BudgetGate) -> UsageError:
    """Return BUDGET-002: earlier starts of the run have spent the budget."""
    what = (
        f"earlier starts of this run have spent {gate.spent.describe(gate.budget)} of the budget of "
        f"{gate.budget.written}, so nothing was sent"
    )
    return UsageError(Problem("BUDGET-002", what, "run the same command with a higher --budget"))
