"""Baseline files: what they hold, what they leave out, and which differences are found."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import StoreError
from assay.core.run import Setting
from assay.core.task import ComponentSpec
from assay.results.baseline import (
    BaselineSample,
    build_baseline,
    conceal_texts,
    describe_run,
    encode_baseline,
    hash_content,
    read_baseline,
    write_baseline,
)
from assay.results.baseline_changes import Accepted, find_row_changes, find_setting_changes
from assay.results.baseline_run import BaselineRun
from assay.results.paired_runs import PairedRuns
from assay.results.read import StoredRun
from fakes.scored_folders import manifest, sample, score, spec, written

SECRET = "In the following text, replace each {question} by its answer"


def run(folder: Path, values: list[float | None], **settings: object) -> StoredRun:
    told = {"template": SECRET, "shots": 2, "said": {}, **settings}
    head = manifest(
        "m", [spec("t", settings=told)], settings={"out": Setting("x", "flag")}, versions={"assay": "0.1.0"}
    )
    scores = [
        score(f"s{at}", value, answer=f"answer {at}", target="B", group=f"g{at % 2}")
        for at, value in enumerate(values)
    ]
    samples = [("t", sample(f"s{at}", at + 1), ()) for at in range(len(values))]
    return written(folder, head, scores, samples)


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    baseline = build_baseline(run(tmp_path / "run", [1.0, 0.0, None]))
    write_baseline(baseline, tmp_path / "deep" / "main.json")
    assert read_baseline(tmp_path / "deep" / "main.json") == baseline
    assert (
        json.loads(encode_baseline(baseline))["samples"]["t"][2]["scores"]["gen"]["verdict"] == "unanswered"
    )


def test_texts_are_stored_only_if_asked_for(tmp_path: Path) -> None:
    stored = run(tmp_path / "run", [1.0, 0.0])
    plain = encode_baseline(build_baseline(stored)).decode()
    full = encode_baseline(build_baseline(stored, with_texts=True)).decode()
    for text in (SECRET, "what is s1?", "answer 1"):
        assert text not in plain
        assert text in full
    assert sum('"id":' in line for line in plain.splitlines()) == 2


def test_a_comparison_with_a_baseline_equals_one_with_its_run(tmp_path: Path) -> None:
    base = run(tmp_path / "base", [1.0, 0.0, None, 1.0, 1.0])
    new = run(tmp_path / "new", [1.0, 1.0, 0.0, 0.0, 0.0])
    write_baseline(build_baseline(base), tmp_path / "main.json")
    side = BaselineRun(tmp_path / "main.json", read_baseline(tmp_path / "main.json"))
    with_run, with_file = (
        PairedRuns([one, new], [None, None]).comparison(by_group=True).metrics for one in (base, side)
    )
    assert with_file == with_run
    assert {one.group for one in with_run} == {None, "g0", "g1"}


def test_groups_are_compared_by_their_own_samples(tmp_path: Path) -> None:
    base, new = run(tmp_path / "a", [1.0, 1.0, 1.0, 0.0]), run(tmp_path / "b", [0.0, 1.0, 0.0, 1.0])
    found = PairedRuns([base, new], [None, None]).comparison(by_group=True).headlines
    differences = {one.group: (one.result.difference, one.result.n) for one in found}
    assert differences == {None: (-0.25, 4), "g0": (-1.0, 2), "g1": (0.5, 2)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a baseline"),
        (b"[]", "not a baseline"),
        (b'{"kind": "run", "format": 1}', "not a baseline"),
        (b'{"kind": "baseline", "format": 2}', "has format 2"),
        (b'{"kind": "baseline", "format": 1}', "damaged"),
        (b"\xff\xfe", "not a baseline"),
        (b"[" * 100_000, "not a baseline"),
    ],
)
def test_other_files_are_rejected(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "main.json").write_bytes(content)
    with pytest.raises(StoreError, match=message) as caught:
        read_baseline(tmp_path / "main.json")
    assert caught.value.problems[0].code == "GATE-002"


def rows(**contents: str) -> tuple[BaselineSample, ...]:
    return tuple(BaselineSample(id_, content) for id_, content in contents.items())


def test_rows_that_were_added_removed_or_edited() -> None:
    before = rows(a="1", b="2", c="3", d="4")
    assert find_row_changes(before, [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]).describe() == ""
    changes = find_row_changes(before, [("new", "0"), ("a", "1"), ("b", "9"), ("d", "4")])
    assert changes.describe() == "1 row added: 'new'; 1 row removed: 'c'; 1 row edited: 'b'"
    assert changes.edited_ids == ["b"]


def test_a_row_named_by_its_content_is_edited_if_another_stands_where_it_was() -> None:
    changes = find_row_changes(rows(a="1", b="2", c="3"), [("a", "1"), ("x", "7"), ("c", "3"), ("d", "4")])
    assert changes.edited == (("b", "x"),)
    assert changes.added == ("d",)
    assert changes.removed == ()
    assert changes.edited_ids == []


@given(st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30), unique=True))
def test_every_changed_row_is_named_once(before: list[int], after: list[int]) -> None:
    changes = find_row_changes(rows(**{f"s{n}": str(n) for n in before}), [(f"s{n}", str(n)) for n in after])
    gone = {*changes.removed, *(old for old, _ in changes.edited)}
    came = {*changes.added, *(new for _, new in changes.edited)}
    assert gone == {f"s{n}" for n in set(before) - set(after)}
    assert came == {f"s{n}" for n in set(after) - set(before)}


def test_the_hash_of_a_sample_depends_on_all_that_decides_its_score() -> None:
    first = sample("a", 1, choices=("x", "y"), labels=("A", "B"), gold=(0,))
    assert hash_content(first) == hash_content(msgspec.structs.replace(first, id="b", group="g"))
    for change in (
        {"gold": (1,)},
        {"choices": ("x", "z")},
        {"fields": {"question": "?"}},
        {"targets": ("x",)},
    ):
        assert hash_content(msgspec.structs.replace(first, **change)) != hash_content(first)


def test_long_texts_of_settings_are_replaced_by_hashes() -> None:
    concealed = conceal_texts(
        {"template": SECRET, "column": "answer", "stop": ["\nQuestion:"], "few": ["a\nb"]}
    )
    assert concealed["column"] == "answer"
    assert concealed["stop"] == ["\nQuestion:"]
    assert concealed["template"].startswith(f"[{len(SECRET)} characters, ")
    assert concealed["template"] != conceal_texts(SECRET + " ")
    assert "b" not in concealed["few"][0].split("characters")[0]


def test_settings_that_differ_are_named_with_both_values(tmp_path: Path) -> None:
    baseline = build_baseline(run(tmp_path / "a", [1.0]))
    other = run(tmp_path / "b", [1.0], shots=5, template="Q: {question}", form="chat")
    other.manifest = msgspec.structs.replace(
        other.manifest,
        scorers={"t": (ComponentSpec("number", {"track": "gen"}),)},
        versions={"assay": "0.2.0", "torch": "3"},
    )
    found = list(find_setting_changes(baseline, describe_run(other.manifest, with_texts=False)))
    assert [one.kind for one in found] == [Accepted.SETTINGS, Accepted.VERSION]
    assert "shots was 2, now 5" in found[0].text
    assert "template was [" in found[0].text
    assert "form" not in found[0].text
    assert "scorer" in found[0].text
    assert "Assay 0.1.0 wrote the baseline, and this is 0.2.0" in found[1].text
    same = describe_run(run(tmp_path / "c", [1.0]).manifest, with_texts=False)
    assert list(find_setting_changes(baseline, same)) == []
    patch = same._replace(versions={"assay": "0.1.7"})
    assert list(find_setting_changes(baseline, patch)) == []
