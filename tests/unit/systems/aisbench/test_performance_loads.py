"""Datasets of the performance mode as loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.app.bench_items import ItemSettings
from assay.bench.mooncake import TraceTimes
from assay.core.errors import AuthorError
from assay.systems.aisbench.performance_loads import (
    ConversationFile,
    NamedSource,
    PerfLoad,
    SyntheticSource,
    TraceFile,
    perf_loads,
)
from fakes.config_folder import edit, write_configs
from fakes.load_configs import STRING, TOKEN_IDS, write_conversations, write_synthetic, write_trace


def loads(*datasets: str | Path) -> list[PerfLoad]:
    return perf_loads([str(one) for one in datasets], None, None)


def trace(folder: Path, *stamps: float) -> str:
    path = folder / "trace.jsonl"
    rows = [{"timestamp": at, "input_text": "Hello?", "output_length": 3} for at in stamps]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return str(path)


def test_datasets_of_one_class_that_are_asked_alike_are_one_load(tmp_path: Path) -> None:
    config = write_synthetic(tmp_path / "two.py", {"short": STRING, "long": {**STRING, "RequestCount": 2}})
    (load,) = loads(config)
    assert load.name == "syntheticdataset"
    assert [part.abbr for part in load.parts] == ["short", "long"]
    items = load.items(ItemSettings())
    assert [item.id for item in items][-2:] == ["long/0", "long/1"]
    assert all(7 <= (item.max_tokens or 0) <= 9 for item in items)


def test_one_dataset_alone_keeps_its_name(tmp_path: Path) -> None:
    config = write_synthetic(tmp_path / "one.py", {"alone": STRING})
    (load,) = loads(config)
    assert load.name == "alone"
    assert [item.id for item in load.items(ItemSettings(at_most=2))] == ["0", "1"]


def test_presets_are_known_without_a_file() -> None:
    (load,) = loads("synthetic_gen_string")
    assert (load.name, load.items(ItemSettings()).n) == ("synthetic", 10)
    with pytest.raises(AuthorError, match="BENCH-030 two datasets have the name 'synthetic'"):
        loads("synthetic_gen_string", "synthetic_gen_tokenid")
    (ids,) = loads("synthetic_gen_tokenid")
    with pytest.raises(AuthorError, match=r"BENCH-021 .*names no tokenizer.*--path FOLDER"):
        ids.items(ItemSettings())


def test_a_preset_and_a_config_of_its_class_are_one_load(tmp_path: Path) -> None:
    config = write_synthetic(tmp_path / "one.py", {"other": STRING})
    (load,) = loads("synthetic_gen_string", config)
    assert [part.abbr for part in load.parts] == ["synthetic", "other"]


def test_tables_and_other_configs(workdir: Path) -> None:
    write_configs(workdir)
    config = "configs/datasets/sums/sums_gen.py"
    table, sums = loads("somewhere/data.v2.csv", config)
    assert (table.name, table.parts[0].source) == ("data", NamedSource("somewhere/data.v2.csv"))
    assert (sums.name, [part.abbr for part in sums.parts]) == ("sumdataset", ["sums_left", "sums_right"])
    assert sums.parts[1].source == NamedSource(f"{config}:sums_right")


@pytest.mark.parametrize(
    ("message", "times"),
    [
        ({}, TraceTimes(is_from_first=False)),
        ({"fixed_schedule_auto_offset": True}, TraceTimes(is_from_first=True)),
        ({"fixed_schedule_end_offset": 900}, TraceTimes(None, 900.0, is_from_first=False)),
        ({"fixed_schedule_start_offset": 200}, TraceTimes(200.0, None)),
        (
            {"fixed_schedule_auto_offset": True, "fixed_schedule_end_offset": 900},
            TraceTimes(None, 1000.0, is_from_first=True),
        ),
        (
            {"fixed_schedule_auto_offset": True, "fixed_schedule_start_offset": 200},
            TraceTimes(300.0, None),
        ),
    ],
)
def test_the_part_of_a_trace(tmp_path: Path, message: dict[str, Any], times: TraceTimes) -> None:
    path = trace(tmp_path, 100, 500, 1500)
    (load,) = loads(write_trace(tmp_path / "t.py", path=path, random_seed=None, **message))
    assert load.parts[0].source == TraceFile(path, times, None)


def test_a_traces_own_seed_counts_more(tmp_path: Path) -> None:
    path = trace(tmp_path, 0)
    (load,) = loads(write_trace(tmp_path / "t.py", path=path, random_seed=5, generated_prompts_path="x"))
    assert load.items(ItemSettings(seed=1)).describes["seed"] == 5
    assert "the seed determines the prompts" in load.parts[0].notes[0]


def test_conversations_continue_after_the_models_own_answers(tmp_path: Path) -> None:
    path = tmp_path / "chats.json"
    turns = [
        {"from": "human", "value": "Hi"},
        {"from": "gpt", "value": "Ho"},
        {"from": "human", "value": "Well?"},
    ]
    path.write_text(json.dumps([{"conversations": turns}]), encoding="utf-8")
    config = write_conversations(tmp_path / "c.py", path=str(path), disable_shuffle=True)
    (load,) = loads(config)
    assert load.parts[0].source == ConversationFile(str(path), is_shuffled=False)
    (item,) = load.items(ItemSettings())
    assert item.turns == ("Well?",)
    edit(config, '"every"', '"last"')
    assert isinstance(loads(config)[0].parts[0].source, NamedSource), "the author's class reads the answers"


def test_a_template_that_is_not_followed_is_said(tmp_path: Path) -> None:
    config = write_synthetic(tmp_path / "one.py", {"alone": STRING})
    assert loads(config)[0].parts[0].notes == ()
    edit(config, '"{question}"', '"Q: {question}"')
    assert loads(config)[0].parts[0].notes == ("alone: generated prompts are sent without the template",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("type=SyntheticDataset", "type=SyntheticDataset, seed=3", "seed: not supported"),
        ('output_column="answer"', 'output_column="answer", test_range="[:2]"', "reader_cfg.test_range"),
        (f"config={STRING!r}", "config=1", "config is 1, expected a dict"),
    ],
)
def test_what_cannot_be_followed(tmp_path: Path, old: str, new: str, message: str) -> None:
    config = write_synthetic(tmp_path / "one.py", {"alone": STRING})
    edit(config, old, new)
    with pytest.raises(AuthorError, match="BENCH-030") as raised:
        loads(config)
    assert message in str(raised.value)


def test_a_trace_that_is_not_there(tmp_path: Path) -> None:
    config = write_trace(tmp_path / "t.py", path="")
    with pytest.raises(AuthorError, match=r"BENCH-030 .*path is ''"):
        loads(config)
    config = write_trace(tmp_path / "t.py", path="x.jsonl", fixed_schedule_end_offset="soon")
    with pytest.raises(AuthorError, match="this file does not exist"):
        loads(config)


def test_made_up_token_ids(tmp_path: Path) -> None:
    (load,) = loads(write_synthetic(tmp_path / "one.py", {"ids": TOKEN_IDS}))
    source = load.parts[0].source
    assert isinstance(source, SyntheticSource)
    assert source.config == TOKEN_IDS
