"""AISBench's custom datasets: selection and repetition of rows, and maximum answer lengths."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.difference import AS_ORIGINAL
from assay.core.errors import AuthorError
from assay.core.origin import Origin
from assay.core.request import Generate
from assay.core.sample import Sample
from assay.core.task import TaskSettings
from assay.dialects.shared.request_selection import (
    AnswerLengths,
    Bounds,
    SamplingMode,
    SharedLengths,
    Shares,
    UniformLengths,
    select_rows,
)
from assay.dialects.table.compile import CompiledTable, compile_table
from assay.dialects.table.meta import TableMeta
from cli import assay
from fakes.tables import table


def questions(n: int, **more: Any) -> list[dict[str, Any]]:
    return [{"question": f"{i}+1=", "answer": str(i + 1), **more} for i in range(n)]


def compiled(path: str, message: TableMeta | None = None, **settings: Any) -> CompiledTable:
    return compile_table(path, TaskSettings(**settings), message)


def list_prompts(one: CompiledTable) -> list[str]:
    return [sample.fields["question"] for sample in one.task.samples()]


def lengths(one: CompiledTable) -> list[int]:
    found = []
    for sample in one.task.samples():
        (request,) = one.task.requests(sample)
        assert isinstance(request.ask, Generate)
        found.append(request.ask.sampling.max_tokens)
    return found


def shares(*parts: tuple[int, float]) -> SharedLengths:
    return SharedLengths(Shares(parts))


@given(
    n=st.integers(1, 20),
    count=st.none() | st.integers(1, 70),
    mode=st.sampled_from(("default", "random", "shuffle")),
    seed=st.integers(0, 9),
)
def test_rows_are_those_that_the_original_could_have_drawn(
    n: int, count: int | None, mode: SamplingMode, seed: int
) -> None:
    rows = range(3, 3 + n)
    chosen = select_rows(rows, count, mode, seed=seed, task="sums")
    wanted = n if count is None else count
    assert len(chosen) == wanted
    first = [rows[i % n] for i in range(wanted)]
    if mode == "default":
        assert list(chosen) == first
    elif mode == "shuffle" or wanted >= n:
        assert sorted(chosen) == sorted(first)
    else:
        assert len(set(chosen)) == wanted
        assert set(chosen) <= set(rows)
    assert chosen == select_rows(rows, count, mode, seed=seed, task="sums")


@pytest.mark.parametrize("mode", ["default", "random", "shuffle"])
def test_of_no_rows_none_are_asked(mode: SamplingMode) -> None:
    assert len(select_rows(range(0), 5, mode, seed=0, task="sums")) == 0


def test_draws_go_by_seed_and_task() -> None:
    drawn = {
        (seed, task): select_rows(range(50), 20, "random", seed=seed, task=task)
        for seed in (0, 1)
        for task in ("sums", "other")
    }
    assert len(set(drawn.values())) == 4
    # Not only the first rows are drawn from.
    assert any(max(rows) >= 20 for rows in drawn.values())


def test_fewer_rows(tmp_path: Path) -> None:
    one = compiled(table(tmp_path, questions(5)), TableMeta(request_count=2))
    assert list_prompts(one) == ["0+1=", "1+1="]
    assert (one.task.spec.n_samples, one.task.spec.n_rows) == (2, 5)
    assert one.notes == ()
    assert [sample.cluster for sample in one.task.samples()] == [None, None]


def test_rows_that_come_again_share_a_cluster(tmp_path: Path) -> None:
    path = table(tmp_path, questions(3))
    one = compiled(path, TableMeta(request_count=7))
    samples = list(one.task.samples())
    first = [sample.id for sample in compiled(path).task.samples()]
    assert [sample.id for sample in samples] == [
        *first,
        *(f"{name}~2" for name in first),
        f"{first[0]}~3",
    ]
    assert [sample.cluster for sample in samples] == [first[i % 3] for i in range(7)]
    assert list_prompts(one) == [f"{i % 3}+1=" for i in range(7)]
    assert one.task.spec.n_samples == 7
    (note,) = one.notes
    assert "3 rows are repeated to 7 requests" in note


def test_a_row_that_comes_once_is_alone(tmp_path: Path) -> None:
    one = compiled(table(tmp_path, questions(3)), TableMeta(request_count=4))
    clusters = [sample.cluster for sample in one.task.samples()]
    first = next(one.task.samples()).id
    assert clusters == [first, None, None, first]


def test_a_cluster_of_the_table_stays_and_ids_stay_apart(tmp_path: Path) -> None:
    rows = [{"id": name, "of": "one", **row} for name, row in zip(("a", "a~2"), questions(2), strict=True)]
    one = compiled(table(tmp_path, rows), TableMeta(request_count=4, cluster_column="of"))
    samples = list(one.task.samples())
    assert [sample.id for sample in samples] == ["a", "a~2", "a~2~", "a~2~2"]
    assert {sample.cluster for sample in samples} == {"one"}


def test_a_row_is_never_an_example_of_itself_however_often_it_comes(tmp_path: Path) -> None:
    one = compiled(
        table(tmp_path, questions(3)), TableMeta(request_count=9, sampling_mode="shuffle"), shots=2
    )
    for sample in one.task.samples():
        (request,) = one.task.requests(sample)
        assert isinstance(request.ask, Generate)
        assert str(request.ask.prompt).count(sample.fields["question"]) == 1


def test_requests_are_of_the_rows_in_the_range(tmp_path: Path) -> None:
    one = compiled(table(tmp_path, questions(6)), TableMeta(request_count=5, test_range="[2:4]"))
    assert list_prompts(one) == ["2+1=", "3+1=", "2+1=", "3+1=", "2+1="]


def test_drawn_rows_are_recorded(tmp_path: Path) -> None:
    message = TableMeta(request_count=4, sampling_mode="random")
    path = table(tmp_path, questions(30))
    one, same, other = (compiled(path, message, seed=seed) for seed in (0, 0, 1))
    assert list_prompts(one) == list_prompts(same) != list_prompts(other)
    assert len(set(list_prompts(one))) == 4
    recorded = one.task.spec.settings
    assert recorded["said"] == {"request_count": 4, "sampling_mode": "random"}
    assert [difference.name for difference in one.task.spec.differences if "draw" in difference.name] == [
        "unseeded_draw"
    ]
    assert "unseeded_draw" not in [difference.name for difference in compiled(path).task.spec.differences]


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl"])
def test_a_row_says_how_long_its_answer_may_be(tmp_path: Path, name: str) -> None:
    rows = [{**row, "max_tokens": own} for row, own in zip(questions(3), (7, "9", ""), strict=True)]
    path = table(tmp_path, rows, name)
    assert lengths(compiled(path)) == [7, 9, 256]
    one = compiled(path, max_tokens=30)
    assert lengths(one) == [7, 9, 30]
    (note,) = one.notes
    assert "column 'max_tokens'" in note
    assert lengths(compiled(path, TableMeta(max_tokens=40))) == [7, 9, 40]
    assert lengths(compiled(path, TableMeta(output_config=shares((5, 1.0))), max_tokens=30)) == [5, 5, 5]
    assert ("length", "max_tokens") in compiled(path).facts


def test_every_wrong_length_is_reported_with_its_row(tmp_path: Path) -> None:
    rows = [
        {**row, "max_tokens": own} for row, own in zip(questions(5), (1, -1, 2.5, [3], True), strict=True)
    ]
    with pytest.raises(AuthorError) as caught:
        compiled(table(tmp_path, rows))
    assert [(one.code, one.where.row, one.where.column) for one in caught.value.problems if one.where] == [
        ("TABLE-017", row, "max_tokens") for row in (2, 3, 4, 5)
    ]


def test_lengths_are_drawn_for_each_row_by_the_seed(tmp_path: Path) -> None:
    path = table(tmp_path, questions(200, max_tokens=3))
    drawn = TableMeta(output_config=UniformLengths(Bounds(4, 9)))
    found = lengths(compiled(path, drawn))
    assert set(found) == set(range(4, 10))
    assert found == lengths(compiled(path, drawn)) != lengths(compiled(path, drawn, seed=1))
    # A row's length does not depend on which others are asked.
    few = TableMeta(output_config=UniformLengths(Bounds(4, 9)), request_count=10)
    assert lengths(compiled(path, few)) == found[:10]


@given(data=st.data(), n=st.integers(1, 120))
def test_shares_are_rounded_down_and_the_rest_has_the_last_length(data: st.DataObject, n: int) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, 99), max_size=4)))
    hundredths = [high - low for low, high in zip([0, *cuts], [*cuts, 100], strict=True)]
    parts = [(10 + i, part / 100) for i, part in enumerate(hundredths)]
    counts = [int(Fraction(part, 100) * n) for part in hundredths]
    expected = [10 + i for i, count in enumerate(counts) for _ in range(count)]
    expected += [parts[-1][0]] * (n - len(expected))
    assert shared(n, parts, is_faithful=False) == expected


def shared(n: int, parts: list[tuple[int, float]], *, is_faithful: bool) -> list[int]:
    config = shares(*parts)
    samples = (Sample(str(i), {}, Origin("x")) for i in range(n))
    made = AnswerLengths(config, n, 0, "sums", is_faithful).add_lengths(samples)
    return [sample.fields["max_tokens"] for sample in made]


def test_the_original_loses_a_row_to_rounding(tmp_path: Path) -> None:
    parts = [(8, 0.29), (16, 0.71)]
    assert Counter(shared(100, parts, is_faithful=False)) == {8: 29, 16: 71}
    assert Counter(shared(100, parts, is_faithful=True)) == {8: 28, 16: 72}
    one = compiled(table(tmp_path, questions(2)), TableMeta(output_config=shares(*parts)), is_faithful=True)
    (difference,) = [
        difference for difference in one.task.spec.differences if difference.name == "rounded_shares"
    ]
    assert difference.here == AS_ORIGINAL


def test_lengths_need_no_column(tmp_path: Path) -> None:
    message = TableMeta(request_count=5, output_config=shares((8, 0.4), (16, 0.6)))
    one = compiled(table(tmp_path, questions(3)), message)
    assert lengths(one) == [8, 8, 16, 16, 16]
    assert ("length", "output_config, percentage") in one.facts


def test_the_other_ways_of_asking_know_no_length(tmp_path: Path) -> None:
    rows = [{"question": f"q{i}", "A": "x", "B": "y", "answer": "A", "max_tokens": 3} for i in range(2)]
    path = table(tmp_path, rows)
    plain = table(tmp_path, [{k: v for k, v in row.items() if k != "max_tokens"} for row in rows], "p.jsonl")

    def asks(path: str) -> list[Any]:
        one = compiled(path, methods=("ppl", "prob"))
        return [request.ask for sample in one.task.samples() for request in one.task.requests(sample)]

    assert asks(path) == asks(plain)


def test_texts_come_again_too(tmp_path: Path) -> None:
    path = table(tmp_path, [{"text": f"Text {i}."} for i in range(2)])
    one = compiled(path, TableMeta(request_count=3))
    samples = list(one.task.samples())
    assert [sample.fields["text"] for sample in samples] == ["Text 0.", "Text 1.", "Text 0."]
    assert samples[0].cluster == samples[2].cluster is not None


def test_the_interval_is_no_narrower_for_rows_that_come_again(workdir: Path) -> None:
    rows = [{"question": f"q{i}", "A": "x", "B": "y", "answer": "AB"[i % 2]} for i in range(20)]
    table(workdir, rows, "once.jsonl")
    table(workdir, rows, "often.jsonl")
    (workdir / "often.jsonl.meta.json").write_text('{"request_count": 100}', encoding="utf-8")
    found = []
    for name in ("once", "often"):
        assert assay("run", f"{name}.jsonl", "-m", "mock", "--method", "ppl", "--out", name).status == 0
        found.append(json.loads((workdir / name / "summary.json").read_text(encoding="utf-8"))[0])
    once, often = found
    assert (once["n"], often["n"]) == (20, 100)
    assert often["value"] == pytest.approx(once["value"])
    assert 0 < once["value"] < 1
    # Of a hundred rows that are independent it would be less than half as wide.
    assert often["high"] - often["low"] > 0.9 * (once["high"] - once["low"])
