"""Samples of a log as the records of a run folder: requests, responses and scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.prompt import Prompt, final_text, replace_final_text
from assay.core.request import Ask, Generate, Labels, Request, Sampling, Span, make_request
from assay.core.response import (
    Completion,
    Failure,
    LabelProbs,
    Likelihood,
    Outcome,
    Output,
    Response,
)
from assay.core.sample import Sample
from assay.core.score import NO_METRIC, OptionNumbers, Score, Verdict
from assay.results.exchange.imported import (
    ImportedOption,
    ImportedReply,
    ImportedResult,
    ImportedSample,
)
from assay.results.records import SampleRecord, build_sample_record

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class RunRecords(NamedTuple):
    """One sample as the run folder stores it."""

    record: SampleRecord
    responses: Sequence[Response]
    scores: Sequence[Score]


def build_run_records(
    sample: ImportedSample, log: str, headlines: Mapping[tuple[str, str], str]
) -> RunRecords:
    """Return the records of a sample.

    `log` is the path of the log as the user named it. `headlines` has the metric that decides each task and
    method, for results that do not name theirs.
    """
    stored = _build_sample(sample, log)
    requests: list[Request] = []
    responses: list[Response] = []
    scores: list[Score] = []
    unknown_sampling: set[str] = set()
    for result in sample.results:
        for role, index, ask, outcome, seconds in _exchanges(result, stored):
            request = make_request(
                sample.task, sample.id, result.method, role, index, ask, result.n_shots or 0
            )
            requests.append(request)
            if isinstance(ask, Generate) and result.sampling is None:
                unknown_sampling.add(request.id)
            if outcome is not None:
                responses.append(Response(request.id, request.key, outcome, seconds))
        headline = headlines.get((sample.task, result.method), "")
        scores.append(result.score or _build_score(result, sample, stored, headline))
    record = build_sample_record(sample.task, stored, requests)
    if unknown_sampling:
        asks = tuple(
            msgspec.structs.replace(one, sampling=None) if one.id in unknown_sampling else one
            for one in record.asks
        )
        record = msgspec.structs.replace(record, asks=asks)
    return RunRecords(record, responses, scores)


def name_labels(n: int) -> tuple[str, ...]:
    """Return names for options that have none: A, B, C, ..., or numbers if there are too many."""
    return tuple(_LETTERS[:n]) if n <= len(_LETTERS) else tuple(str(index + 1) for index in range(n))


def _build_sample(sample: ImportedSample, log: str) -> Sample:
    return Sample(
        sample.id,
        sample.fields,
        Origin(sample.file or log, row=sample.row, line=sample.line),
        sample.choices,
        sample.labels or name_labels(len(sample.choices)),
        sample.gold,
        sample.targets,
        sample.group,
        sample.cluster,
    )


class _Exchange(NamedTuple):
    """One request with its response."""

    role: str
    number: int
    """Which option, or which repeat."""
    ask: Ask
    outcome: Outcome | None
    seconds: float = 0.0


def _exchanges(result: ImportedResult, sample: Sample) -> Iterator[_Exchange]:
    failure = None if result.failure is None else Failure("logged", result.failure)
    if result.method is Method.PROB and result.options:
        labels = tuple((option.text,) for option in result.options)
        yield _Exchange(
            "labels", 0, Labels(result.prompt or "", labels), failure or _read_probs(result.options)
        )
    elif result.options:
        yield from _span_exchanges(result, failure, is_text=not sample.choices and len(result.options) == 1)
    elif result.replies:
        for index, reply in enumerate(result.replies):
            ask = Generate(result.prompt or "", result.sampling or Sampling())
            yield _Exchange("answer", index, ask, _build_completion(reply), reply.seconds)
    elif result.prompt is not None or failure is not None:
        ask = Generate(result.prompt or "", result.sampling or Sampling())
        yield _Exchange("answer", 0, ask, failure)


def _span_exchanges(result: ImportedResult, failure: Failure | None, *, is_text: bool) -> Iterator[_Exchange]:
    role = "text" if is_text else "option"
    for index, option in enumerate(result.options):
        prompt = option.prompt if option.prompt is not None else result.prompt or ""
        yield _Exchange(role, index, _build_span(prompt, option.text), failure or _read_likelihood(option))
    for index, option in enumerate(result.options):
        if option.unconditional is not None:
            alone = msgspec.structs.replace(option, sum_logprob=option.unconditional, is_greedy=None)
            yield _Exchange("unconditional", index, Span(option.text, 0), _read_likelihood(alone))


def _build_span(prompt: Prompt, text: str) -> Span:
    before = final_text(prompt)
    return Span(replace_final_text(prompt, before + text), len(before))


def _read_likelihood(option: ImportedOption) -> Likelihood | None:
    if option.sum_logprob is None or not math.isfinite(option.sum_logprob):
        return None
    stripped = option.text.strip()
    return Likelihood(
        option.sum_logprob,
        option.n_tokens or 0,
        len(stripped),
        len(stripped.encode("utf-8", "surrogatepass")),
        option.is_greedy,
        0,
    )


def _read_probs(options: Sequence[ImportedOption]) -> LabelProbs | None:
    probs = [option.prob for option in options]
    known = tuple(prob for prob in probs if prob is not None and math.isfinite(prob))
    return LabelProbs(known, sum(known), 0) if len(known) == len(probs) else None


def _build_completion(reply: ImportedReply) -> Completion:
    output = Output(
        reply.text,
        reply.finish,
        reply.n_tokens,
        reply.reasoning,
        reply.turns,
        reply.calls,
    )
    return Completion((output,), reply.n_prompt_tokens)


def _build_score(result: ImportedResult, sample: ImportedSample, stored: Sample, headline: str) -> Score:
    names = (*result.values, *result.ratios)
    metric = result.metric or (headline if headline in names else "") or next(iter(names), headline)
    value = result.values.get(metric)
    if metric in result.ratios:
        ratio = result.ratios[metric]
        value = ratio.numerator / ratio.denominator if ratio.denominator else None
    verdict = result.verdict
    if verdict is None:
        verdict = Verdict.SCORED if value is not None else Verdict.UNGRADED
        if result.failure is not None:
            verdict = Verdict.FAILED
    return Score(
        sample.task,
        sample.id,
        result.method,
        metric or NO_METRIC,
        verdict,
        value if verdict is Verdict.SCORED else None,
        result.answer,
        result.target if result.target is not None else _format_target(stored),
        result.rule,
        also={name: other for name, other in result.values.items() if name != metric},
        ratios=result.ratios,
        options=tuple(_number_options(result, stored)),
        is_truncated=result.is_truncated,
        why=result.failure,
        group=sample.group,
        cluster=sample.cluster,
        details=result.details,
    )


def _format_target(sample: Sample) -> str | None:
    """Return the right answer as Assay's own scores name it: labels, or the first acceptable text."""
    if sample.gold:
        return "|".join(sample.labels[index] for index in sample.gold if index < len(sample.labels)) or None
    return sample.targets[0] if sample.targets else None


def _number_options(result: ImportedResult, sample: Sample) -> Iterator[OptionNumbers]:
    if len(result.options) != len(sample.labels):
        return
    is_prob = result.method is Method.PROB
    total = sum(option.prob or 0.0 for option in result.options) if is_prob else 0.0
    for label, option in zip(sample.labels, result.options, strict=True):
        if is_prob:
            yield OptionNumbers(label, prob=(option.prob or 0.0) / total if total else None)
            continue
        stripped = option.text.strip()
        yield OptionNumbers(
            label,
            option.sum_logprob,
            option.n_tokens,
            len(stripped),
            len(stripped.encode("utf-8", "surrogatepass")),
            option.unconditional,
            option.is_greedy,
        )
