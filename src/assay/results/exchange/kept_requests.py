"""The likelihoods and probabilities of options in formats that only know texts which a model wrote.

An export keeps them among its fields for Assay, so that a later import has the same requests again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from assay.core.method import Method
from assay.results.exchange.assay_fields import SampleFields, build_sample_fields
from assay.results.exchange.imported import ImportedOption, ImportedResult
from assay.results.exchange.stored_samples import StoredResult, StoredSample

_OPTIONS = "options"


def build_result_fields(
    stored: StoredSample, result: StoredResult, *, with_record: bool = False
) -> dict[str, Any]:
    """Return the fields for Assay of a sample by one method, with the numbers of its options."""
    fields = build_sample_fields(stored, result.method, with_record=with_record)
    options = list(_list_options(stored, result))
    return {**fields, _OPTIONS: msgspec.to_builtins(options)} if options else fields


def restore_requests(result: ImportedResult, fields: SampleFields, kept: Mapping[str, Any]) -> ImportedResult:
    """Return a result with the requests that Assay made: their method and options."""
    method = fields.scores[0].track if fields.scores else Method.GEN
    if method is Method.GEN:
        return result
    try:
        options = msgspec.convert(kept.get(_OPTIONS, []), tuple[ImportedOption, ...])
    except msgspec.ValidationError:
        options = ()
    # The reply of such a sample is the chosen option, which the model did not write.
    return msgspec.structs.replace(result, method=method, options=options, replies=())


def _list_options(stored: StoredSample, result: StoredResult) -> Iterator[ImportedOption]:
    if (probs := result.label_probs()) is not None:
        for spellings, prob in zip(result.asks[0].labels, probs.probs, strict=False):
            yield ImportedOption(text=spellings[0], prob=prob)
        return
    alone = [likelihood for _, likelihood in result.likelihoods("unconditional")]
    found = result.likelihoods("option") or result.likelihoods("text")
    for index, (ask, likelihood) in enumerate(found):
        without = alone[index] if index < len(alone) else None
        yield ImportedOption(
            text=ask.text,
            sum_logprob=None if likelihood is None else likelihood.sum_logprob,
            unconditional=None if without is None else without.sum_logprob,
            is_greedy=None if likelihood is None else likelihood.is_greedy,
            n_tokens=None if likelihood is None else likelihood.n_tokens,
            prompt=stored.prompt(ask) if ask.context != found[0][0].context else None,
        )
