"""The lines of lm-eval's samples files as samples: the filters of a document, the methods of an export."""

from __future__ import annotations

import ast
import json
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from assay.core.errors import StoreError
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.prompt import Message, Prompt
from assay.core.request import Sampling
from assay.core.score import Ratio, Score
from assay.results.exchange.assay_fields import KEY, SampleFields, read_sample_fields, restore_sample
from assay.results.exchange.conversion import name_labels
from assay.results.exchange.imported import (
    ImportedOption,
    ImportedReply,
    ImportedResult,
    ImportedSample,
)
from assay.results.exchange.log_files import build_log_error, decode_json, iter_bounded_lines

_OWN_KEYS = frozenset(
    {
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
        *("doc_hash", "prompt_hash", "target_hash", "schema_version", KEY),
    }
)
_NATURAL = {"perplexity"}
"""Metrics whose value is e to the power of the negative mean log-likelihood."""
_WEIGHTED = {"word_perplexity", "byte_perplexity", "weighted_perplexity"}
_BITS = {"bits_per_byte"}
_BRIER = "brier_score"
_CHAT_ROLES = ("system", "user", "assistant")


class _Line(NamedTuple):
    """One line of a samples file."""

    task: str
    path: Path
    number: int
    content: Mapping[str, Any]

    @property
    def place(self) -> Origin:
        return Origin(str(self.path), line=self.number)


def read_documents(files: Mapping[str, Path], log: Mapping[str, Any]) -> Iterator[ImportedSample]:
    """Yield the documents in the samples files of one task; with an export, of the task's methods.

    Only the place of each line is in memory.
    """
    places = _LinePlaces()
    for name, path in files.items():
        places.add_file(name, path)
    several = {name: len(filters) > 1 for name, filters in places.filters.items()}
    opened = {name: open(path, "rb") for name, path in files.items()}  # noqa: SIM115 (closed below)
    try:
        for lines in places.iter_documents(opened):
            by_task: dict[str, list[_Line]] = {}
            for line in lines:
                by_task.setdefault(line.task, []).append(line)
            sample: ImportedSample | None = None
            for name, own in by_task.items():
                found = _build_sample(own, log, has_several_filters=several[name])
                sample = found if sample is None else _join(sample, found)
            if sample is not None:
                yield restore_sample(sample, _join_fields(lines))
    finally:
        for file in opened.values():
            file.close()


class _LinePlaces:
    """Where the lines of each document are."""

    def __init__(self) -> None:
        self._documents: dict[str, array[int]] = {}
        """For each document: file, offset and line number of each of its lines."""
        self._names: list[str] = []
        self._paths: list[Path] = []
        self.filters: dict[str, dict[str, None]] = {}

    def add_file(self, name: str, path: Path) -> None:
        """Read the places in a file."""
        number_of_file = len(self._names)
        self._names.append(name)
        self._paths.append(path)
        filters = self.filters.setdefault(name, {})
        seen: set[tuple[str, str]] = set()
        with open(path, "rb") as file:
            offset = 0
            for number, line in enumerate(iter_bounded_lines(file, path), 1):
                if line.strip():
                    key, chosen = self._read_key(line, path, number)
                    filters[chosen] = None
                    if (key, chosen) in seen:
                        raise build_log_error(
                            "LOG-009",
                            f"the document {key!r} occurs twice with the filter {chosen!r}",
                            "import the log of a single run",
                            Origin(str(path), line=number),
                        )
                    seen.add((key, chosen))
                    self._documents.setdefault(key, array("q")).extend((number_of_file, offset, number))
                offset += len(line)

    @staticmethod
    def _read_key(line: bytes, path: Path, number: int) -> tuple[str, str]:
        place = Origin(str(path), line=number)
        content = decode_json(line, place)
        if not isinstance(content, Mapping) or "doc_id" not in content:
            raise build_log_error(
                "LOG-003",
                "the line is not a sample of lm-eval: it has no doc_id",
                "import the samples_*.jsonl that lm-eval wrote, unchanged",
                place,
            )
        if not isinstance(content["doc_id"], int | str):
            raise build_log_error(
                "LOG-003",
                f"doc_id is {str(content['doc_id'])[:40]!r}, expected a number",
                "import the samples_*.jsonl that lm-eval wrote, unchanged",
                place,
            )
        own = content.get(KEY)
        key = own.get("id") if isinstance(own, Mapping) else None
        return str(content["doc_id"] if key is None else key), str(content.get("filter", "none"))

    def iter_documents(self, files: Mapping[str, IO[bytes]]) -> Iterator[list[_Line]]:
        """Yield the lines of each document, in the order of the first file."""
        for places in self._documents.values():
            lines = []
            for at in range(0, len(places), 3):
                number_of_file, offset, number = places[at : at + 3]
                name, path = self._names[number_of_file], self._paths[number_of_file]
                files[name].seek(offset)
                content = decode_json(files[name].readline(), Origin(str(path), line=number))
                lines.append(_Line(name, path, number, content))
            yield lines


def _join(one: ImportedSample, other: ImportedSample) -> ImportedSample:
    """Return a sample with the results of both: two methods of one task of Assay."""
    return msgspec.structs.replace(one, results=(*one.results, *other.results))


def _join_fields(lines: Sequence[_Line]) -> SampleFields | None:
    """Return Assay's own fields of a sample, with the scores of all of its methods."""
    read = (read_sample_fields(line.content[KEY]) for line in lines if KEY in line.content)
    found = [fields for fields in read if fields is not None]
    if not found:
        return None
    scores: dict[str, Score] = {}
    for fields in found:
        for score in fields.scores:
            scores.setdefault(score.track, score)
    return msgspec.structs.replace(found[0], scores=tuple(scores.values()))


def _build_sample(
    lines: Sequence[_Line], log: Mapping[str, Any], *, has_several_filters: bool
) -> ImportedSample:
    first = lines[0]
    content = first.content
    doc = content.get("doc")
    config = log.get("configs", {}).get(first.task, {}) if isinstance(log.get("configs"), Mapping) else {}
    requests = _read_arguments(content.get("arguments"))
    method, output_type = _find_method(requests, config if isinstance(config, Mapping) else {})
    is_choice = output_type == "multiple_choice"
    choices = _read_choices(requests) if is_choice else ()
    gold = _read_gold(content.get("target"), choices)
    doc_id = content["doc_id"]
    result = _build_result(lines, requests, method, choices, log, has_several_filters=has_several_filters)
    return ImportedSample(
        task=first.task,
        id=str(doc_id),
        fields=dict(doc) if isinstance(doc, Mapping) else {} if doc is None else {"doc": doc},
        row=doc_id + 1 if isinstance(doc_id, int) else None,
        line=first.number,
        file=str(first.path),
        choices=choices,
        gold=gold,
        targets=() if gold or content.get("target") is None else _read_targets(content["target"]),
        results=(result,),
    )


class _RequestArguments(NamedTuple):
    """The arguments of one request: a context, and a continuation or generation options."""

    context: Any
    second: Any = None


def _read_arguments(value: Any) -> list[_RequestArguments]:
    """Return the arguments of each request: lists in older logs, `gen_args_0: {arg_0, ...}` in newer ones."""
    if isinstance(value, Mapping):
        value = [
            list(one.values()) if isinstance(one, Mapping) else one
            for name, one in value.items()
            if str(name).startswith("gen_args")
        ]
    rows = value if isinstance(value, Sequence) and not isinstance(value, str) else []
    return [_RequestArguments(*row[:2]) for row in rows if isinstance(row, Sequence) and row]


def _find_method(requests: Sequence[_RequestArguments], config: Mapping[str, Any]) -> tuple[Method, str]:
    output_type = str(config.get("output_type") or "")
    if not output_type:
        if any(isinstance(one.second, Mapping) for one in requests):
            output_type = "generate_until"
        elif requests and requests[0].second is None:
            output_type = "loglikelihood_rolling"
        else:
            output_type = "multiple_choice" if len(requests) > 1 else "loglikelihood"
    return (Method.GEN if output_type == "generate_until" else Method.PPL), output_type


def _split_unconditional(
    requests: Sequence[_RequestArguments],
) -> tuple[Sequence[_RequestArguments], Sequence[_RequestArguments]]:
    """Return the requests of the options, and those of the same options without a question after them."""
    half = len(requests) // 2
    first, second = requests[:half], requests[half:]
    is_doubled = len(requests) % 2 == 0 and half and all(one.context in ("", None) for one in second)
    if is_doubled and [one.second for one in first] == [one.second for one in second]:
        return first, second
    return requests, ()


def _read_choices(requests: Sequence[_RequestArguments]) -> tuple[str, ...]:
    """Return the texts of the options: the continuations, or what differs between the contexts."""
    options, _ = _split_unconditional(requests)
    texts = [str(one.second) for one in options]
    contexts = [str(one.context) for one in options]
    if len(set(texts)) == 1 and len(set(contexts)) > 1:
        shared = 0
        while all(len(one) > shared and one[shared] == contexts[0][shared] for one in contexts):
            shared += 1
        begin = contexts[0].rfind(" ", 0, shared) + 1
        texts = [one[begin:] for one in contexts]
    return tuple(text.strip() for text in texts)


def _read_gold(target: Any, choices: Sequence[str]) -> tuple[int, ...]:
    """Return the indexes of the right options, as far as the target names them."""
    if not choices:
        return ()
    value = _parse_literal(target)
    several = value if isinstance(value, list | tuple) else [value]
    gold = []
    for one in several:
        if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < len(choices):
            gold.append(one)
        elif isinstance(one, str) and one.strip() in choices and list(choices).count(one.strip()) == 1:
            gold.append(list(choices).index(one.strip()))
    return tuple(gold) if len(gold) == len(several) else ()


def _read_targets(target: Any) -> tuple[str, ...]:
    value = _parse_literal(target)
    if isinstance(value, list | tuple) and value and all(isinstance(one, str) for one in value):
        return tuple(value)
    return (str(target).strip(),)


def _parse_literal(value: Any) -> Any:
    """Return a value that newer logs write as the text of a Python literal."""
    if isinstance(value, str) and (value.startswith(("[", "(")) or value.lstrip("-").isdecimal()):
        try:
            return ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return value
    return value


def _build_result(
    lines: Sequence[_Line],
    requests: Sequence[_RequestArguments],
    method: Method,
    choices: Sequence[str],
    log: Mapping[str, Any],
    *,
    has_several_filters: bool,
) -> ImportedResult:
    values: dict[str, float] = {}
    ratios: dict[str, Ratio] = {}
    details: list[dict[str, Any]] = []
    for line in lines:
        chosen = str(line.content.get("filter", "none"))
        for metric, value in _list_values(line.content):
            name = f"{metric},{chosen}" if has_several_filters else metric
            if metric == _BRIER:
                value = _compute_brier_score(value)
            if (ratio := _read_ratio(metric, value)) is not None:
                ratios[name] = ratio
            elif isinstance(value, int | float) and (number := _to_float(value)) is not None:
                values[name] = number
            elif value is not None:
                details.append({"metric": name, "value": value})
        if has_several_filters:
            details.append({"filter": chosen, "answer": line.content.get("filtered_resps")})
    content = lines[0].content
    shots = log.get("n-shot", {}).get(lines[0].task) if isinstance(log.get("n-shot"), Mapping) else None
    answered = content.get("resps")
    if not isinstance(answered, list | str | None):
        raise _build_reply_error(answered, lines[0].place)
    replies = tuple(_iter_replies(answered, lines[0].place)) if method is Method.GEN else ()
    options = () if method is Method.GEN else _read_options(requests, answered)
    best = _find_best(options) if choices else None
    return ImportedResult(
        method=method,
        values=values,
        ratios=ratios,
        answer=_read_answer(content) if method is Method.GEN else best,
        # lm-eval's `acc` chooses the option with the highest sum.
        rule="sum" if best is not None else str(content["filter"]) if "filter" in content else None,
        prompt=_read_prompt(requests[0].context) if requests else None,
        sampling=_read_sampling(requests[0].second) if requests else None,
        n_shots=shots if isinstance(shots, int) else None,
        replies=replies,
        options=options,
        details=tuple(details),
    )


def _list_values(content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    names = content.get("metrics")
    if not isinstance(names, list):
        names = [name for name in content if name not in _OWN_KEYS]
    return [(name, content[name]) for name in names if isinstance(name, str) and name in content]


def _read_ratio(metric: str, value: Any) -> Ratio | None:
    """Return a document's part of a perplexity."""
    if metric in _NATURAL and isinstance(value, int | float):
        number = _to_float(value)
        return None if number is None else Ratio(-number, 1.0, is_exponential=True)
    if not isinstance(value, list) or len(value) != 2:
        return None
    likelihood, weight = map(_to_float, value)
    if likelihood is None or weight is None:
        return None
    if metric in _WEIGHTED:
        return Ratio(-likelihood, weight, is_exponential=True)
    return Ratio(-likelihood, weight * math.log(2)) if metric in _BITS else None


def _compute_brier_score(value: Any) -> Any:
    """Return a document's Brier score from the right option and the probabilities that the log has instead.

    lm-eval writes the probabilities as the text of an array. Other values are returned as they are.
    """
    if not isinstance(value, list) or len(value) != 2:
        return value
    right, probs = value
    try:
        if isinstance(probs, str):
            probs = [float(one) for one in probs.strip("[]").split()]
        return sum((float(prob) - (index == right)) ** 2 for index, prob in enumerate(probs))
    except (TypeError, ValueError):
        return value


def _read_prompt(context: Any) -> Prompt | None:
    """Return the context of a request: a text, or a conversation that chat models get as JSON."""
    if isinstance(context, list) and len(context) == 1:
        context = context[0]
    if not isinstance(context, str):
        return None
    if context.startswith('[{"role"'):
        try:
            turns = json.loads(context)
            messages = tuple(Message(turn["role"], str(turn["content"])) for turn in turns)
        except (ValueError, KeyError, TypeError):
            return context
        return messages if all(one.role in _CHAT_ROLES for one in messages) else context
    return context


def _read_sampling(options: Any) -> Sampling | None:
    """Return the sampling parameters if the log has all of them; the defaults of models are not in it."""
    most = _to_float(options.get("max_gen_toks")) if isinstance(options, Mapping) else None
    if not isinstance(options, Mapping) or most is None:
        return None
    until = options.get("until") or ()
    stop = tuple(map(str, until)) if isinstance(until, list | tuple) else (str(until),)
    is_sampled = bool(options.get("do_sample", False))
    temperature = _to_float(options.get("temperature")) or 0.0
    if is_sampled and not temperature:
        return None
    return Sampling(
        int(most),
        temperature if is_sampled else 0.0,
        _to_float(options.get("top_p")) or 1.0,
        stop,
    )


def _iter_replies(value: Any, place: Origin) -> Iterator[ImportedReply]:
    """Yield the texts of all requests and repeats."""
    if isinstance(value, str):
        yield ImportedReply(text=value)
    elif isinstance(value, list):
        for one in value:
            yield from _iter_replies(one, place)
    elif value is not None:
        raise _build_reply_error(value, place)


def _build_reply_error(value: Any, place: Origin) -> StoreError:
    return build_log_error(
        "LOG-003",
        f"resps has {value!r:.80}, which is not a reply",
        "import the samples_*.jsonl that lm-eval wrote, unchanged",
        place,
    )


def _read_answer(content: Mapping[str, Any]) -> str | None:
    """Return the text that the first filter made of the replies."""
    filtered = content.get("filtered_resps")
    while isinstance(filtered, list) and filtered:
        filtered = filtered[0]
    return filtered if isinstance(filtered, str) else None


def _read_options(requests: Sequence[_RequestArguments], answered: Any) -> tuple[ImportedOption, ...]:
    numbers = [_read_likelihood(one) for one in answered or ()]
    first, alone = _split_unconditional(requests)
    contexts = {str(one.context) for one in first}
    options = []
    for index, request in enumerate(first):
        total, is_greedy = numbers[index] if index < len(numbers) else (None, None)
        is_rolling = request.second is None
        other = numbers[len(first) + index][0] if alone and len(first) + index < len(numbers) else None
        options.append(
            ImportedOption(
                text=str(request.context if is_rolling else request.second),
                sum_logprob=total,
                is_greedy=is_greedy,
                unconditional=other,
                prompt="" if is_rolling else _read_prompt(request.context) if len(contexts) > 1 else None,
            )
        )
    return tuple(options)


def _read_likelihood(value: Any) -> tuple[float | None, bool | None]:
    """Return the sum and whether it is greedy, from `[[sum, greedy]]`, `[sum, greedy]` or `[sum]`."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, list) and len(value) == 2:
        total, is_greedy = value
        return _to_float(total), str(is_greedy) == "True"
    return _to_float(value), None


def _to_float(value: Any) -> float | None:
    """Return a finite number, which may be written as a text; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _find_best(options: Sequence[ImportedOption]) -> str | None:
    """Return the label of the option with the highest sum: lm-eval's choice by `acc`."""
    sums = [option.sum_logprob for option in options]
    known = [one for one in sums if one is not None]
    if not known or len(known) < len(sums):
        return None
    return name_labels(len(sums))[known.index(max(known))]
