"""lm-eval's result files: names, keys and hashes."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from assay.results.exchange.lm_eval_files import (
    LmEvalFiles,
    LoggedGroup,
    LoggedSample,
    LoggedTask,
    build_results,
    build_sample_line,
    hash_text,
    sanitize_model_name,
)

TIME = datetime(2026, 11, 18, 21, 23, 10, 706830)  # noqa: DTZ001 - the original's names have local time
SAMPLE = LoggedSample(
    4,
    {"q": "é"},
    1,
    [("2+2=", " 4"), ("2+2=", " 5")],
    [[(-0.5, True)], [(-1.0, False)]],
    [],
    "none",
    {"acc": 1.0},
)


def task(name: str, *, better: bool = True, shots: int = 2) -> LoggedTask:
    return LoggedTask(name, name, 1, {}, shots, 9, 5, {"acc,none": 0.5}, {"acc,none": 0.1}, {"acc": better})


def test_places_follow_the_model_and_the_time(tmp_path: Path) -> None:
    assert sanitize_model_name("org/name:a|b") == "org__name__a__b"
    files = LmEvalFiles(tmp_path, "org/name", TIME)
    assert files.results == tmp_path / "org__name" / "results_2026-11-18T21-23-10.706830.json"
    beside = LmEvalFiles(tmp_path / "mine.json", "org/name", TIME)
    assert beside.results == tmp_path / "mine_2026-11-18T21-23-10.706830.json"


def test_hashes_cover_document_prompt_and_target() -> None:
    line = build_sample_line(SAMPLE)
    assert line["doc_hash"] == hash_text(json.dumps({"q": "é"}, indent=2, ensure_ascii=False))
    assert (line["prompt_hash"], line["target_hash"]) == (hash_text("2+2="), hash_text("1"))
    assert line["resps"] == [[["-0.5", "True"]], [["-1.0", "False"]]]
    assert line["arguments"]["gen_args_1"] == {"arg_0": "2+2=", "arg_1": " 5"}


def test_a_tasks_hash_covers_all_of_its_samples_even_if_written_in_parts(tmp_path: Path) -> None:
    whole, parts = LmEvalFiles(tmp_path / "a", "m", TIME), LmEvalFiles(tmp_path / "b", "m", TIME)
    whole.write_samples("sums", [SAMPLE, SAMPLE])
    for _ in range(2):
        path = parts.write_samples("sums", [SAMPLE])
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2
    contents = [json.loads(one.write_results({}).read_text()) for one in (whole, parts)]
    assert contents[0] == contents[1] != {"task_hashes": {}}


def test_a_group_has_what_its_members_share() -> None:
    members = [task("one"), task("other", better=False, shots=3)]
    group = LoggedGroup("both", "Both", "1.0", ("one", "other"), 10, {"acc,none": 0.5}, {}, {"acc,none": 10})
    bare = LoggedGroup("bare", "Bare", "N/A", ("one",), is_aggregated=False)
    results = build_results(members, [group, bare], {"date": 1})
    assert results["higher_is_better"]["both"] == {"acc": None}
    assert results["n-shot"] == {"bare": 2, "one": 2, "other": 3}
    assert list(results["groups"]) == ["both"]
    assert results["results"]["bare"] == {"alias": "Bare", "name": "bare"}
    assert results["results"]["both"]["acc_stderr,none"] == "N/A"
    assert results["group_subtasks"] == {"both": ["one", "other"], "bare": ["one"]}
