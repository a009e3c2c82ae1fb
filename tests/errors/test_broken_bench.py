"""Invalid serving benchmarks: one clear error with the place, the value and the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.bench_items import ItemSettings, load_items
from assay.bench.lengths import ConstantLength, parse_lengths
from assay.core.errors import AssayError
from assay.systems.aisbench.performance_loads import perf_loads

BROKEN = Path(__file__).parent / "broken" / "bench"

CASES = [
    (
        "synthetic.json",
        ItemSettings(),
        "BENCH-022",
        ("synthetic.json:", "'StringConfig.Input.Params.Alpha'", "found 1.0", "a number above 1"),
    ),
    (
        "trace.jsonl",
        ItemSettings(),
        "BENCH-023",
        (
            "trace.jsonl row 2 (line 2), column 'hash_ids'",
            "found 2 ids for 1536 tokens, expected 3",
            "row 3 (line 3), column 'input_length'",
            "'many'",
        ),
    ),
    (
        "chats.jsonl",
        ItemSettings(),
        "BENCH-024",
        ("chats.jsonl row 2 (line 2), column 'conversations'", "'narrator'", "'human'"),
    ),
    (
        "synthetic",
        ItemSettings(tokenizer="model"),
        "BENCH-021",
        ("tokenizer.json", "cannot load the tokenizer"),
    ),
    ("synthetic", ItemSettings(kind="token_ids"), "BENCH-021", ("need a tokenizer", "--tokenizer")),
    (
        "trace.jsonl",
        ItemSettings(input=ConstantLength(5)),
        "BENCH-025",
        ("'trace.jsonl'", "its own prompts"),
    ),
    (
        "synthetic",
        ItemSettings(input=ConstantLength(5), shared_prefix=9),
        "BENCH-025",
        ("share 9 tokens", "has 5"),
    ),
]


@pytest.mark.parametrize(
    ("source", "asked", "code", "parts"), CASES, ids=[f"{case[0]} {case[2]}" for case in CASES]
)
def test_bad_items(
    source: str, asked: ItemSettings, code: str, parts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    if asked.tokenizer is not None:
        pytest.importorskip("tokenizers")
    monkeypatch.chdir(BROKEN)
    with pytest.raises(AssayError) as caught:
        # What is wrong with a later row shows itself when the rows are walked.
        list(load_items(source, asked))
    message = str(caught.value)
    assert message.startswith(code)
    assert "Fix: " in message
    for part in parts:
        assert part in message


def test_bad_lengths() -> None:
    with pytest.raises(AssayError) as caught:
        parse_lengths("zipf:alpha=0.5,min=10,max=1000", "--input")
    message = str(caught.value)
    assert message.startswith("BENCH-020 --input: lengths 'zipf:alpha=0.5,min=10,max=1000': alpha is 0.5")
    assert message.endswith("Fix: write for example zipf:alpha=1.5,min=10,max=1000")


def test_bad_dataset_of_aisbenchs_performance_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BROKEN)
    with pytest.raises(AssayError) as caught:
        perf_loads(["trace_gen.py"], None, None)
    message = str(caught.value)
    assert message.startswith("BENCH-030 trace_gen.py trace_datasets[0]: path is 'nowhere.jsonl'")
    assert "Fix: write path='FILE'" in message
