"""Estimate the requests, tokens, time and cost of a run before it starts.

A local model's tokenizer counts prompts exactly. For servers, the number follows from the length of the text.
How much a model writes is known only from earlier runs; without one, the estimate has only its limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.app.benchmarks import resolve_benchmarks
from assay.app.offline.watch import offline_watch
from assay.app.open_model import open_model
from assay.app.run import compile_with_settings
from assay.app.settings import RunSettings, Settings
from assay.backends.registry import SERVERS
from assay.backends.repeats import count_drawn_texts
from assay.core.billing import Bill, ListedPrice, Price, compute_usd, find_price, format_price_lines
from assay.core.budget import parse_budget
from assay.core.errors import format_count
from assay.core.estimate import Estimate, MethodEstimate, Range
from assay.core.limit import Limit
from assay.core.ports import Backend
from assay.core.prompt import Prompt, find_media
from assay.core.request import Generate, Request, Sampling
from assay.core.run import Cost, RunManifest
from assay.core.setting_names import naming_settings
from assay.core.task import Task
from assay.core.thinking import read_thinking
from assay.engine.context_fitting import ContextFitter
from assay.engine.limit import limit_task
from assay.results.read import list_readable_runs

_BYTES_PER_TOKEN = 4.0
_FEWEST_BYTES, _MOST_BYTES = 3.0, 5.0
"""Tokenizers differ: English prose has about 4.5 bytes per token, code and other languages fewer."""
_TOKENS_PER_MESSAGE = 4
"""What a chat template adds to a message."""
_CONCURRENT, _TOKENS_PER_S, _WAIT_S = 16, 50.0, 0.5
"""The rough rule for servers: concurrent requests, speed of one, and its first token."""
_UNSURE = 3.0
"""The rough rule may be wrong by this factor."""


def estimate_run(datasets: tuple[str, ...], settings: Settings) -> Estimate:
    """Return what `assay run` with the same datasets and settings would need; sends nothing."""
    resolved = resolve_benchmarks(datasets, settings.values)
    values = resolved.values
    with naming_settings(settings.names), offline_watch(values) as watch:
        watch.seal()
        backend = open_model(values)
        try:
            compiled = compile_with_settings(resolved.names, values, backend, resolved.benchmarks)
            counts = _RequestCounts(backend, values)
            for one in compiled:
                task: Task = one.task
                if values.limit is not None and task.spec.settings.get("limit") is None:
                    task = limit_task(task, Limit.parse(values.limit), values.seed or 0)
                for sample in task.samples():
                    counts.add(counts.fitting.requests(task, sample))
            return _estimate(counts, values)
        finally:
            backend.close()


class _RequestCounts:
    """Counts requests and the tokens of their prompts."""

    def __init__(self, backend: Backend, values: RunSettings) -> None:
        self._backend = backend
        self.fitting = ContextFitter(backend)
        self.n_requests: dict[tuple[str, str], int] = {}
        self.n_texts: dict[str, int] = {}
        """Generated texts by task."""
        self.is_exact = True
        self.n_input = [0.0, 0.0, 0.0]
        self.most_output = 0
        self.n_scored_labels = 0
        self.n_with_media = 0
        thinking = None if values.thinking is None else read_thinking(values.thinking)
        self._budget = 0 if thinking is None else thinking.budget or 0

    def add(self, requests: Sequence[Request]) -> None:
        """Add the requests of a sample."""
        for request in requests:
            place = (request.task, request.track)
            self.n_requests[place] = self.n_requests.get(place, 0) + 1
            ask = request.ask
            self.n_with_media += bool(find_media(ask.prompt))
            n_texts = 0
            if isinstance(ask, Generate):
                n_texts = count_drawn_texts(ask.sampling) * (1 + len(ask.turns))
                self.n_texts[request.task] = self.n_texts.get(request.task, 0) + n_texts
                self.most_output += n_texts * (ask.sampling.max_tokens + self._budget)
            for at, n in enumerate(self._count_prompt(request)):
                self.n_input[at] += n * max(1, n_texts)

    def _count_prompt(self, request: Request) -> tuple[float, float, float]:
        ask = request.ask
        if isinstance(ask, Generate):
            ask = Generate(ask.prompt, Sampling(max_tokens=0))
        n = self._backend.n_tokens(ask)
        if n is not None:
            n -= self._budget if isinstance(ask, Generate) and n > self._budget else 0
            return n, n, n
        self.is_exact = False
        n_bytes, n_around = _measure_prompt(ask.prompt)
        return tuple(n_bytes / per + n_around for per in (_MOST_BYTES, _BYTES_PER_TOKEN, _FEWEST_BYTES))  # type: ignore[return-value]


def _measure_prompt(prompt: Prompt) -> tuple[int, int]:
    """Return the bytes of a prompt's text, and the tokens that a chat template adds."""
    if isinstance(prompt, str):
        return len(prompt.encode(errors="replace")), 0
    n_bytes = sum(len(message.text.encode(errors="replace")) for message in prompt)
    return n_bytes, _TOKENS_PER_MESSAGE * len(prompt)


class _EarlierRun(NamedTuple):
    """What the latest run of the same model tells about its texts, speed and cost."""

    manifest: RunManifest

    @property
    def _share_sent(self) -> float:
        """Return the share of its requests that were sent to the model."""
        stats = self.manifest.stats
        n = stats.get("requests", 0.0)
        reused = stats.get("requests_cached", 0.0) + stats.get("requests_shared", 0.0)
        return 1.0 if not n else max(0.0, 1 - reused / n)

    def tokens_per_text(self, method: str = "gen") -> float | None:
        """Return the mean length of its generated texts."""
        costs = self._costs(method)
        n = sum(cost.n_requests for cost in costs)
        return sum(cost.n_generated_tokens for cost in costs) / n if n else None

    def seconds_per_request(self, method: str) -> float | None:
        """Return the model time of a request that was sent."""
        costs = self._costs(method)
        n = sum(cost.n_requests for cost in costs) * self._share_sent
        return sum(cost.seconds for cost in costs) / n if n >= 1 else None

    def usd_per_request(self) -> float | None:
        """Return the mean cost of a request, as the server reported it."""
        for charge in self.manifest.charges:
            if charge.role == "model" and charge.n_priced:
                return charge.usd / charge.n_priced
        return None

    def _costs(self, method: str) -> list[Cost]:
        return [cost for cost in self.manifest.costs if cost.method == method and cost.n_requests]


def _find_earlier_run(values: RunSettings, methods: set[str]) -> _EarlierRun | None:
    """Return the latest complete run of the model by one of these methods."""
    runs, _ = list_readable_runs(Path(values.runs_dir))
    for run in reversed(runs):
        manifest, recorded = run.manifest, run.manifest.settings
        is_same = all(
            name in recorded and recorded[name].value == value
            for name, value in (("model", values.model), ("thinking", values.thinking))
        )
        earlier = _EarlierRun(manifest)
        is_known = any(earlier.seconds_per_request(method) is not None for method in methods)
        if is_same and manifest.status.is_finished and is_known:
            return earlier
    return None


def _estimate(counts: _RequestCounts, values: RunSettings) -> Estimate:
    n_requests = sum(counts.n_requests.values())
    n_texts = sum(counts.n_texts.values())
    earlier = _find_earlier_run(values, {method for _, method in counts.n_requests})
    inputs = Range(*counts.n_input)
    per_text = None if earlier is None else earlier.tokens_per_text()
    expected = 0.0 if not n_texts else None
    output_from = "no text is generated"
    if n_texts:
        output_from = "from 1 token to the maximum of each text; no earlier run of this model shows more"
        if per_text is not None and earlier is not None:
            expected = min(per_text * n_texts, float(counts.most_output))
            output_from = (
                f"{format_count(round(per_text), 'token')} per text, as in run {earlier.manifest.id}"
            )
    outputs = Range(n_texts, expected, counts.most_output)
    seconds, seconds_from = _estimate_seconds(counts, values, earlier, outputs)
    usd, usd_from = _estimate_usd(values, earlier, inputs, outputs, n_requests)
    notes = []
    if counts.n_with_media:
        notes.append(
            f"the tokens of images, audio and video in {counts.n_with_media:,} requests are not counted"
        )
    return Estimate(
        values.model,
        tuple(MethodEstimate(task, method, n) for (task, method), n in counts.n_requests.items()),
        n_requests,
        inputs,
        outputs,
        seconds,
        usd,
        counts.is_exact,
        "counted by the model's tokenizer"
        if counts.is_exact
        else f"about {_BYTES_PER_TOKEN:g} bytes of text per token ({_FEWEST_BYTES:g} to {_MOST_BYTES:g})",
        output_from,
        seconds_from,
        usd_from,
        (*notes, *_compare_with_budget(values, inputs, outputs, seconds, usd)),
    )


def _estimate_seconds(
    counts: _RequestCounts, values: RunSettings, earlier: _EarlierRun | None, outputs: Range
) -> tuple[Range | None, str]:
    if values.batch:
        return None, "a batch takes up to a day"
    if earlier is not None:
        total, n_known = 0.0, 0
        for (_, method), n in counts.n_requests.items():
            if (each := earlier.seconds_per_request(method)) is not None:
                total += n * each
                n_known += n
        total *= sum(counts.n_requests.values()) / max(1, n_known)
        return Range(
            total / 2, total, total * 2
        ), f"as fast as run {earlier.manifest.id}, within a factor of 2"
    if values.model.partition(":")[0] not in SERVERS:
        return None, "no earlier run of this model shows its speed; run it once with --limit 20"
    n_at_once = min(values.concurrency or _CONCURRENT, max(1, sum(counts.n_requests.values())))

    def compute(n_tokens: float) -> float:
        return (sum(counts.n_requests.values()) * _WAIT_S + n_tokens / _TOKENS_PER_S) / n_at_once

    likely = compute(outputs.high / 2 if outputs.expected is None else outputs.expected)
    low, high = compute(outputs.low) / _UNSURE, compute(outputs.high) * _UNSURE
    how = f"{n_at_once} concurrent requests, {_WAIT_S:g} s and {_TOKENS_PER_S:g} tokens/s each"
    return Range(low, likely, high), f"a rough rule, not a measurement: {how}"


def _estimate_usd(
    values: RunSettings, earlier: _EarlierRun | None, inputs: Range, outputs: Range, n_requests: int
) -> tuple[Range | None, str]:
    listed: ListedPrice | None = find_price(values.prices, values.model)
    if isinstance(listed, Price):
        price = listed

        def compute(n_input: float, n_output: float) -> float:
            bill = Bill(round(n_input), 0, round(n_output))
            return compute_usd(bill, price, is_batch=values.batch) or 0.0

        likely = None
        if outputs.expected is not None and inputs.expected is not None:
            likely = compute(inputs.expected, outputs.expected)
        usd = Range(compute(inputs.low, outputs.low), likely, compute(inputs.high, outputs.high))
        return usd, "price in assay.toml" + (", with its batch discount" if values.batch else "")
    per_request = None if earlier is None else earlier.usd_per_request()
    if earlier is not None and per_request is not None:
        total = per_request * n_requests
        return Range(total / 2, total, total * 2), f"as the server reported in run {earlier.manifest.id}"
    if values.model.partition(":")[0] not in SERVERS:
        return None, "a local model has no price"
    return None, f"unknown price: add these lines to assay.toml\n{format_price_lines(values.model)}"


def _compare_with_budget(
    values: RunSettings, inputs: Range, outputs: Range, seconds: Range | None, usd: Range | None
) -> tuple[str, ...]:
    if values.budget is None:
        return ()
    budget = parse_budget(values.budget)
    tokens = Range(inputs.low + outputs.low, None, inputs.high + outputs.high)
    limits = ((budget.usd, usd), (budget.tokens, tokens), (budget.seconds, seconds))
    known = [(limit, needed) for limit, needed in limits if limit is not None and needed is not None]
    if any(needed.low > limit for limit, needed in known):
        return (f"the budget of {budget.written} is too small for the whole run",)
    if any(needed.high > limit for limit, needed in known):
        return (f"the budget of {budget.written} may be too small for the whole run",)
    return (f"the budget of {budget.written} is enough",) if known else ()
