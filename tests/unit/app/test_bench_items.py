"""From the named source to the items of a load."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from assay.app.bench_items import ItemSettings, load_items
from assay.app.settings import RunSettings
from assay.bench.items import LoadItem
from assay.bench.lengths import ConstantLength, Uniform, parse_lengths
from assay.bench.mooncake import TraceTimes
from assay.core.errors import AssayError, AuthorError, UsageError
from assay.core.prompt import Message
from fakes.tokenizer_files import write_tokenizers


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def sums(tmp_path: Path) -> str:
    rows = [{"question": f"{n}+{n}=", "answer": str(2 * n)} for n in range(1, 6)]
    return written(tmp_path / "sums.jsonl", [{**rows[0], "max_tokens": 7}, *rows[1:]])


def texts(items: list[LoadItem]) -> list[str]:
    return [item.prompt if isinstance(item.prompt, str) else item.prompt[-1].text for item in items]


def test_a_dataset_is_asked_as_a_run_would_ask_it(sums: str) -> None:
    items = load_items(sums, ItemSettings(run=RunSettings(max_tokens=50)))
    found = list(items)
    assert items.n == len(found) == 5
    assert found[0].prompt == (Message("user", "1+1="),)
    assert [item.max_tokens for item in found] == [7, 50, 50, 50, 50]
    assert items.describes["source"] == sums
    assert list(items) == found


@pytest.mark.parametrize("message", [None, {"columns": ["question", "answer"]}])
def test_a_table_is_read_as_a_run_would_read_it(tmp_path: Path, message: dict[str, Any] | None) -> None:
    text = "1+1=;2\n2+2=;4\n3+3=;6\n"
    path = tmp_path / "sums.csv"
    path.write_text(text if message else f"question;answer\n{text}")
    if message:
        (tmp_path / "sums.csv.meta.json").write_text(json.dumps(message))
    assert texts(list(load_items(str(path), ItemSettings()))) == ["1+1=", "2+2=", "3+3="]


def test_prompts_are_plain_text_where_that_is_asked(sums: str) -> None:
    (item,) = load_items(sums, ItemSettings(n=1, is_chat=False))
    assert isinstance(item.prompt, str)


def test_shots_stand_before_the_question(sums: str) -> None:
    items = list(load_items(sums, ItemSettings(n=2, run=RunSettings(shots=2))))
    assert [len(item.prompt) for item in items] == [5, 5]


def test_more_items_than_rows_go_round(sums: str) -> None:
    items = load_items(sums, ItemSettings(n=12))
    found = list(items)
    assert texts(found) == (["1+1=", "2+2=", "3+3=", "4+4=", "5+5="] * 3)[:12]
    assert len({item.id for item in found}) == 12
    assert found[5].id == found[0].id + "~2"
    assert "5 different prompts were sent 12 times in total" in items.list_notes(12)[0]
    whole = load_items(sums, ItemSettings())
    assert (len(list(whole)), whole.list_notes(5)) == (5, ())


def test_items_continue_without_end(sums: str) -> None:
    rows = load_items(sums, ItemSettings(n=2, output=parse_lengths("percentage:1=0.5,2=0.5", "--output")))
    found = list(islice(rows.iter_forever(), 7))
    assert texts(found) == ["1+1=", "2+2="] * 3 + ["1+1="]
    assert Counter(item.max_tokens for item in found[:6]) == {1: 3, 2: 3}
    assert "2 different prompts were sent 7 times" in rows.list_notes(7)[0]
    every = load_items(sums, ItemSettings(n=6)).iter_forever()
    assert [text[0] for text in texts(list(islice(every, 9)))] == list("123451234")
    made = load_items("synthetic", ItemSettings(n=3, input=Uniform(20, 90)))
    more = list(islice(made.iter_forever(), 9))
    assert more[:3] == list(made)
    assert len(set(texts(more))) == len({item.id for item in more}) == 9
    assert [len(text.split()) for text in texts(more)] == [len(text.split()) for text in texts(more[:3])] * 3
    assert made.list_notes(10**6) == ()


def test_a_tokenizer_counts_prompts_of_datasets(sums: str, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    tokenizer = str(write_tokenizers(tmp_path)["letters"])
    items = load_items(sums, ItemSettings(n=2, tokenizer=tokenizer))
    assert [item.n_prompt_tokens for item in items] == [4, 4]
    assert [item.n_prompt_tokens for item in load_items(sums, ItemSettings(n=1))] == [None]


def test_warm_up_takes_rows_that_are_not_measured_where_there_are_any(sums: str) -> None:
    others = load_items(sums, ItemSettings(n=3)).warmup(3)
    assert (texts(list(others.items)), others.are_measured) == (["4+4=", "5+5=", "4+4="], False)
    own = load_items(sums, ItemSettings()).warmup(2)
    assert (texts(list(own.items)), own.are_measured) == (["1+1=", "2+2="], True)


def test_rows_can_be_drawn_or_shuffled_by_the_seed(sums: str) -> None:
    def drawn(order: Any, n: int, seed: int = 0) -> list[str]:
        return texts(list(load_items(sums, ItemSettings(n=n, order=order, seed=seed))))

    assert sorted(drawn("shuffle", 3)) == ["1+1=", "2+2=", "3+3="]
    assert drawn("random", 4, seed=1) == drawn("random", 4, seed=1)
    assert len({tuple(drawn("random", 4, seed)) for seed in range(6)}) > 3
    assert Counter(Counter(drawn("random", 12)).values()) == {2: 3, 3: 2}
    repeated = load_items(sums, ItemSettings(n=7, order="shuffle"))
    assert len({item.id for item in repeated}) == 7
    assert repeated.notes[-1] == "5 prompts are repeated for a total of 7 requests"
    drawn_from = load_items(sums, ItemSettings(n=3, order="random"))
    warmup = drawn_from.warmup(2)
    assert not warmup.are_measured
    assert {item.id for item in warmup.items}.isdisjoint(item.id for item in drawn_from)


def test_the_originals_custom_dataset_keeps_its_meta_file(shared_data: Path) -> None:
    items = load_items(str(shared_data / "aisbench_custom" / "test_mcq.jsonl"), ItemSettings())
    found = list(items)
    assert items.n == len(found) == 6
    assert texts(found)[4:] == texts(found)[:2]


def test_lengths_of_answers_can_be_asked_for(sums: str) -> None:
    lengths = parse_lengths("percentage:16=0.4,64=0.6", "--output")
    items = list(load_items(sums, ItemSettings(n=10, output=lengths)))
    assert Counter(item.max_tokens for item in items) == {16: 4, 64: 6}


def test_a_dataset_of_another_language(shared_data: Path) -> None:
    example = Path(__file__).parents[3] / "examples" / "llmbox" / "mt_bench.py"
    asked = ItemSettings(n=3, run=RunSettings(data_root=str(shared_data)))
    items = list(load_items(str(example), asked))
    assert [len(item.turns) for item in items] == [1, 1, 1]


def test_conversations_are_known_by_their_first_row(tmp_path: Path) -> None:
    rows = [
        {"conversations": [{"from": "human", "value": "one"}, {"from": "gpt", "value": "a"}]},
        {"conversations": []},
        {"conversations": [{"from": "human", "value": "two"}, {"from": "human", "value": "three"}]},
    ]
    path = tmp_path / "chats.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    items = load_items(str(path), ItemSettings(output=ConstantLength(9)))
    assert [(item.id, item.turns, item.max_tokens) for item in items] == [("1", (), 9), ("3", ("three",), 9)]
    assert items.describes["kind"] == "conversations"
    assert items.list_notes(1) == ("1 conversations without a user message were skipped",)


def test_questions_of_mt_bench(shared_data: Path) -> None:
    items = load_items(str(shared_data / "mt_bench" / "mt_bench" / "question.jsonl"), ItemSettings())
    assert items.n == 80
    assert {len(item.turns) for item in items} == {1}


def test_a_trace_is_known_by_its_first_row(shared_data: Path) -> None:
    path = str(shared_data / "aisbench_custom" / "test_mooncake_trace.jsonl")
    items = load_items(path, ItemSettings(trace=TraceTimes(speed=10)))
    found = list(items)
    assert (items.n, found[-1].at_s) == (15, 0.65)
    assert items.describes["part"]["speed"] == 10
    assert "no tokenizer is set" in items.notes[-1]


def test_a_synthetic_load(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    tokenizer = str(write_tokenizers(tmp_path)["pieces"])
    asked = ItemSettings(
        n=4, input=Uniform(30, 40), output=ConstantLength(5), shared_prefix=20, tokenizer=tokenizer
    )
    items = load_items("synthetic", asked)
    found = list(items)
    assert all(30 <= (item.n_prompt_tokens or 0) <= 40 for item in found)
    assert {item.max_tokens for item in found} == {5}
    assert items.notes == items.list_notes(1) == ()
    assert items.describes["input"] == {"method": "uniform", "low": 30, "high": 40}
    assert json.loads(json.dumps(items.describes)) == items.describes
    assert load_items("synthetic", ItemSettings()).n == 100


CONFIG = {
    "Type": "string",
    "RequestCount": 3,
    "StringConfig": {
        "Input": {"Method": "uniform", "Params": {"MinValue": 5, "MaxValue": 9}},
        "Output": {"Method": "uniform", "Params": {"MinValue": 2, "MaxValue": 2}},
    },
}


def test_the_originals_config_as_a_dict_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "synthetic.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    from_dict, from_file = load_items(CONFIG, ItemSettings()), load_items(str(path), ItemSettings())
    assert list(from_dict) == list(from_file)
    assert [item.max_tokens for item in from_dict] == [2, 2, 2]
    assert load_items(CONFIG, ItemSettings(n=8)).n == 8
    with pytest.raises(UsageError, match="the config has its own prompts"):
        load_items(CONFIG, ItemSettings(shared_prefix=2))


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        ("sums.jsonl", ItemSettings(n=0), "--requests is 0"),
        ("sums.jsonl", ItemSettings(input=ConstantLength(5)), "has its own prompts"),
        ("sums.jsonl", ItemSettings(trace=TraceTimes(speed=2)), "is not a trace"),
        ("synthetic", ItemSettings(order="shuffle"), "has no effect on a synthetic load"),
        ("synthetic", ItemSettings(trace=TraceTimes(speed=2)), "a synthetic load is not a trace"),
        ("trace.jsonl", ItemSettings(order="random"), "has no effect on a trace"),
        ("chats.jsonl", ItemSettings(is_chat=False), "contains conversations"),
    ],
)
def test_what_cannot_be_asked_of_a_source_is_reported(
    workdir: Path, sums: str, name: str, asked: ItemSettings, message: str
) -> None:
    written(workdir / "trace.jsonl", [{"timestamp": 0, "input_length": 5}])
    written(workdir / "chats.jsonl", [{"turns": ["one", "two"]}])
    with pytest.raises(UsageError) as caught:
        load_items(name, asked)
    assert caught.value.problems[0].code == "BENCH-025"
    assert message in caught.value.problems[0].what


def test_a_file_that_asks_nothing_to_be_written_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path / "chats.jsonl", [{"turns": []}])
    with pytest.raises(AuthorError) as caught:
        load_items(path, ItemSettings())
    assert caught.value.problems[0].code == "BENCH-024"


def test_a_file_that_is_not_there_is_reported_as_ever(workdir: Path) -> None:
    with pytest.raises(AssayError, match="SOURCE-001"):
        load_items("nowhere.jsonl", ItemSettings())
