"""The stored sample reproduces its requests exactly."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from assay.core.origin import Origin
from assay.core.prompt import Message
from assay.core.request import Ask, Generate, Labels, Sampling, Span, make_request
from assay.core.sample import Sample
from assay.results.records import SampleRecord, build_sample_record

texts = st.text(max_size=12)
prompts = texts | st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), texts), min_size=1).map(
    tuple
)
spans = st.builds(lambda text, at: Span(text, min(at, len(text))), texts, st.integers(0, 12))
asks: st.SearchStrategy[Ask] = (
    spans
    | st.builds(Labels, prompts, st.just(((" A", "A"), (" B", "B"))))
    | st.builds(
        Generate,
        prompts,
        st.builds(Sampling, max_tokens=st.integers(1, 9)),
        st.lists(texts, max_size=3).map(tuple),
    )
)


@given(st.lists(asks, max_size=6))
def test_asks_are_read_back_as_they_were(some: list[Ask]) -> None:
    sample = Sample("s", {"a": 1}, Origin("here", row=1))
    requests = [make_request("t", "s", "gen", "answer", n, ask) for n, ask in enumerate(some)]
    stored = msgspec.json.encode(build_sample_record("t", sample, requests))
    record = msgspec.json.decode(stored, type=SampleRecord)
    assert [record.ask(ask) for ask in record.asks] == some
