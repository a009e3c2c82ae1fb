"""Traces: when their requests are sent, and prompts that share as much text as their blocks say."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.bench.items import LoadItem
from assay.bench.mooncake import (
    BLOCK_TOKENS,
    MooncakeTrace,
    TraceItemSource,
    TraceTimes,
    is_trace,
    read_trace,
)
from assay.bench.tokenizer import Tokenizer, open_tokenizer
from assay.core.errors import AuthorError, UsageError
from assay.core.origin import Origin
from assay.sources.files import open_source
from fakes.beginnings import common_beginning
from fakes.tokenizer_files import write_tokenizers

PATH = "trace.jsonl"
ALL = TraceTimes()


def row(timestamp: float, n: int = 100, ids: list[int] | None = None, **more: Any) -> dict[str, Any]:
    blocks = {} if ids is None else {"hash_ids": ids}
    return {"timestamp": timestamp, "input_length": n, "output_length": 5, **blocks, **more}


def read(*rows: dict[str, Any], times: TraceTimes = ALL) -> MooncakeTrace:
    return read_trace(((fields, Origin(PATH, at)) for at, fields in enumerate(rows, 1)), times, PATH)


def make_trace(
    *rows: dict[str, Any], n: int | None = None, seed: int = 0, tokenizer: Tokenizer | None = None
) -> list[LoadItem]:
    load = TraceItemSource(read(*rows), n or len(rows), seed=seed, is_chat=False, tokenizer=tokenizer)
    return list(load)


def text(item: LoadItem) -> str:
    assert isinstance(item.prompt, str)
    return item.prompt


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return open_tokenizer(str(write_tokenizers(tmp_path_factory.mktemp("tokenizers"))["pieces"]))


@settings(max_examples=15)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(1, BLOCK_TOKENS), st.integers(0, 2))
def test_prompts_have_the_tokens_that_the_trace_says(
    tokenizer: Tokenizer, ids: list[int], n_last: int, seed: int
) -> None:
    n = (len(ids) - 1) * BLOCK_TOKENS + n_last
    (item,) = make_trace(row(0, n, ids), seed=seed, tokenizer=tokenizer)
    assert item.n_prompt_tokens == tokenizer.count(text(item)) == n


@pytest.mark.parametrize("is_exact", [True, False])
def test_equal_ids_are_equal_text(tokenizer: Tokenizer, is_exact: bool) -> None:
    counted = tokenizer if is_exact else None
    one, longer, cut, other = map(
        text,
        make_trace(
            row(0, 1024, [1, 2]), row(1, 1536, [1, 2, 3]), row(2, 700, [1, 2]), row(3, 1024, [4, 2]),
            tokenizer=counted,
        ),
    )  # fmt: skip
    assert tokenizer.count(common_beginning([one, longer])) > 0.95 * tokenizer.count(one)
    assert tokenizer.count(common_beginning([one, cut])) > 0.95 * tokenizer.count(cut)
    assert len(common_beginning([one, other])) < 30
    again = make_trace(row(9, 1024, [1, 2]), tokenizer=counted)
    assert [text(item) for item in again] == [one]
    assert text(make_trace(row(9, 1024, [1, 2]), seed=1, tokenizer=counted)[0]) != one


def test_prompts_without_blocks_are_their_own() -> None:
    first, second = map(text, make_trace(row(0), row(0)))
    assert len(common_beginning([first, second])) < 30


def test_a_text_is_sent_as_it_is(tokenizer: Tokenizer) -> None:
    given = {"timestamp": 5, "input_text": "Describe the water cycle."}
    (item,) = make_trace(given, tokenizer=tokenizer)
    assert (text(item), item.max_tokens) == ("Describe the water cycle.", 1)
    assert item.n_prompt_tokens == tokenizer.count("Describe the water cycle.")


def offsets(times: TraceTimes) -> tuple[float, ...]:
    return read(*(row(ms) for ms in (1000, 1500, 3000, 7000)), times=times).offsets_s


def test_times_count_from_the_first_request_or_from_a_start() -> None:
    assert offsets(TraceTimes()) == (0, 0.5, 2, 6)
    assert offsets(TraceTimes(speed=2)) == (0, 0.25, 1, 3)
    assert offsets(TraceTimes(is_from_first=False)) == (1, 1.5, 3, 7)
    assert offsets(TraceTimes(start_ms=1200)) == (0.3, 1.8, 5.8)
    assert offsets(TraceTimes(end_ms=3000)) == (0, 0.5, 2)
    assert offsets(TraceTimes(start_ms=1200, end_ms=2000)) == (0.3,)


def test_what_is_outside_or_out_of_order_is_said() -> None:
    trace = read(row(50), row(10), row(90), times=TraceTimes(end_ms=80))
    assert list(trace.offsets_s) == [0, 0.04]
    assert trace.notes == (
        "1 of 3 requests of the trace are outside the selected part",
        "the trace was not sorted by timestamp; its requests are sent in timestamp order",
    )


@pytest.mark.parametrize(
    "times",
    [
        TraceTimes(speed=0),
        TraceTimes(start_ms=5, is_from_first=True),
        TraceTimes(start_ms=9, end_ms=8),
        TraceTimes(start_ms=10**6),
    ],
)
def test_parts_that_there_are_not_are_reported(times: TraceTimes) -> None:
    with pytest.raises(UsageError) as caught:
        read(row(0), row(5), times=times)
    assert caught.value.problems[0].code == "BENCH-025"


def test_a_trace_that_is_too_short_continues_in_its_rhythm() -> None:
    items = make_trace(row(0), row(1000), row(4000), n=7)
    assert [item.at_s for item in items] == [0, 1, 4, 6, 7, 10, 12]
    assert [item.id for item in items] == ["0", "1", "2", "0~2", "1~2", "2~2", "0~3"]
    load = TraceItemSource(read(row(0), row(1000), row(4000)), 2, seed=0, is_chat=False)
    assert [item.at_s for item in islice(load.iter_forever(), 5)] == [0, 1, 2, 3, 4]


def test_warm_up_items_have_other_texts_of_the_same_lengths(tokenizer: Tokenizer) -> None:
    rows = row(0, 600, [1, 2]), {"timestamp": 1, "input_text": "What is this?"}
    load = TraceItemSource(read(*rows), 2, seed=0, is_chat=False, tokenizer=tokenizer)
    warmup = load.warmup(3)
    assert not warmup.are_measured
    assert [item.n_prompt_tokens for item in warmup.items] == [600, 4, 600]
    assert {text(item)[:30] for item in load}.isdisjoint(text(item)[:30] for item in warmup.items)


@pytest.mark.parametrize(
    ("fields", "column", "message"),
    [
        ({"input_length": 5}, "timestamp", "the row has no timestamp"),
        (row(-1), "timestamp", "-1"),
        (row(0, 0), "input_length", "found 0"),
        (row(0, output_length="many"), "output_length", "'many'"),
        (row(0, 600, [1]), "hash_ids", "found 1 ids for 600 tokens, expected 2"),
        (row(0, 512, [1, 2]), "hash_ids", "found 2 ids for 512 tokens, expected 1"),
        (row(0, 5, ["a"]), "hash_ids", "['a']"),  # type: ignore[list-item]
        (row(0, input_text="both"), "input_length", "found both"),
        ({"timestamp": 0}, "input_length", "found neither"),
        ({"timestamp": 0, "input_text": ""}, "input_text", "empty"),
        (row(0, outputlength=5), "outputlength", "did you mean 'output_length'?"),
    ],
)
def test_a_wrong_row_names_row_and_field(fields: dict[str, Any], column: str, message: str) -> None:
    with pytest.raises(AuthorError) as caught:
        read(row(0), fields)
    (problem,) = caught.value.problems
    assert problem.code == "BENCH-023"
    assert problem.where == Origin(PATH, 2, column=column)
    assert message in problem.what


def test_all_wrong_rows_are_reported_together() -> None:
    with pytest.raises(AuthorError) as caught:
        read(row(-1), row(0), row(1, 0))
    assert caught.value.total == 2


def test_a_trace_is_known_by_its_fields() -> None:
    assert is_trace(row(0))
    assert is_trace({"timestamp": 0, "input_text": "?"})
    assert not is_trace({"timestamp": 0, "question": "?"})


def test_the_originals_own_trace(shared_data: Path, tokenizer: Tokenizer) -> None:
    path = shared_data / "aisbench_custom" / "test_mooncake_trace.jsonl"
    rows = [(record.fields, record.origin) for record in open_source(path).records()]
    trace = read_trace(rows, TraceTimes(), str(path))
    load = TraceItemSource(trace, 15, seed=0, is_chat=True, tokenizer=tokenizer)
    items = list(load)
    assert load.list_notes(0) == ()
    assert [item.at_s for item in items] == [fields["timestamp"] / 1000 for fields, _ in rows]
    assert [item.max_tokens for item in items] == [fields["output_length"] for fields, _ in rows]
    assert [
        item.n_prompt_tokens for item, (fields, _) in zip(items, rows, strict=True) if "hash_ids" in fields
    ] == [fields["input_length"] for fields, _ in rows if "hash_ids" in fields]
