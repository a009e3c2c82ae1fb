from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.errors import StoreError
from assay.core.response import Failure
from assay.core.run import RunStatus
from assay.core.score import Metric, Ratio, Score, Verdict
from assay.results.pages.data import SampleTable
from assay.results.read import StoredRun
from assay.results.run_view import RunView
from assay.results.store import (
    JOURNAL,
    MANIFEST,
    SAMPLES,
    SCORES,
    SUMMARY,
    RunFolder,
    SampleWriter,
    read_manifest,
)
from fakes.run_folders import write_run
from fakes.scored_folders import manifest, sample, spec, written
from fakes.scored_folders import score as scored


def opened(folder: Path) -> RunView:
    view = RunView(folder)
    assert view.refresh()
    return view


def unversioned(view: RunView, n: int | None = None) -> SampleTable:
    return msgspec.structs.replace(view.table(0, n), revision="", changes=0)


def scores_of(folder: Path) -> dict[tuple[str, str], Score]:
    return {(score.sample_id, score.track): score for score in StoredRun(folder).scores()}


def test_the_table_says_what_is_stored(mock_run: Path) -> None:
    table = opened(mock_run).table()
    known = scores_of(mock_run)
    assert table.ids == [record.sample.id for record in StoredRun(mock_run).samples()]
    assert {track.name for track in table.tracks} == {"ppl", "prob", "gen"}
    letters = {Verdict.UNANSWERED: "U", Verdict.FAILED: "F"}
    for track in table.tracks:
        for place, id_ in enumerate(table.ids):
            score = known[id_, track.name]
            expected = letters.get(score.verdict) or ("R" if score.value == 1 else "W")
            assert track.outcomes[place] == expected
            assert track.answers[place] == (score.answer or "")
            assert track.margins[place] == (score.margin and pytest.approx(score.margin, rel=1e-4))
    assert "F" in table.tracks[0].outcomes
    assert [table.groups[group] for group in table.group[:4]] == ["g0", "g1", "g2", "g0"]
    assert table.targets[:4] == ["A", "B", "C", "D"]
    assert table.questions[0] == "which letter is number 0?"


def test_methods_that_disagree_are_counted_as_the_run_counts_them(mock_run: Path) -> None:
    view = opened(mock_run)
    assert view.table().disagree.count("1") == sum(view.manifest.disagreements.values()) > 0


def test_tokens_and_times_are_those_of_the_journal(mock_run: Path) -> None:
    expected: Counter[tuple[str, str]] = Counter()
    for response in StoredRun(mock_run).responses():
        outcome: dict[str, Any] = msgspec.to_builtins(response.outcome)
        _, sample, method, _, _ = response.request_id.split("/")
        expected[sample, method] += outcome.get("n_prompt_tokens", 0) + outcome.get("n_tokens", 0)
        expected[sample, method] += sum(output["n_tokens"] for output in outcome.get("outputs", ()))
    table = opened(mock_run).table()
    for track in table.tracks:
        assert track.tokens == [expected[id_, track.name] for id_ in table.ids]


def test_a_sample_in_full_is_what_was_stored(mock_run: Path) -> None:
    view = opened(mock_run)
    stored = StoredRun(mock_run)
    responses = {response.request_id: response for response in stored.responses()}
    known = scores_of(mock_run)
    with view.details() as details:
        for place, record in enumerate(stored.samples()):
            detail = json.loads(details.json(place))
            assert detail["record"] == json.loads(msgspec.json.encode(record))
            tracks = {score["track"]: score for score in detail["scores"]}
            assert tracks.keys() == {"ppl", "prob", "gen"}
            for name, score in tracks.items():
                assert score == json.loads(msgspec.json.encode(known[record.sample.id, name]))
            assert [one["request_id"] for one in detail["responses"]] == [ask.id for ask in record.asks]
            first = detail["responses"][0]
            assert first == json.loads(msgspec.json.encode(responses[first["request_id"]]))


def test_a_page_can_be_asked_for_from_any_place_on(mock_run: Path) -> None:
    view = opened(mock_run)
    whole, some = view.table(), view.table(7, 5)
    assert (some.first, some.n) == (7, 5)
    assert some.ids == whole.ids[7:12]
    assert some.disagree == whole.disagree[7:12]
    assert [track.values for track in some.tracks] == [track.values[7:12] for track in whole.tracks]
    assert view.table(view.n_samples).n == 0
    assert view.place_of("letters", whole.ids[9]) == 9
    assert view.place_of("letters", "nobody") is None


def growing(mock_run: Path, folder: Path, share: float) -> None:
    """Have the folder hold what the run had written after a share of its time, torn in mid-line."""
    folder.mkdir(exist_ok=True)
    manifest = read_manifest(mock_run)
    assert manifest is not None
    RunFolder(folder).write_manifest(msgspec.structs.replace(manifest, status=RunStatus.RUNNING))
    for name in (SAMPLES, SCORES, JOURNAL):
        content = (mock_run / name).read_bytes()
        n = int(len(content) * (share if name != JOURNAL else min(1, share + 0.2)))
        with open(folder / name, "ab") as file:
            file.write(content[file.tell() : n])


def test_a_run_is_seen_while_it_grows(mock_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    growing(mock_run, folder, 0.3)
    view = opened(folder)
    some = view.n_samples
    assert 0 < some < 60
    rows = view.page().rows
    assert {row.method for row in rows} == {"ppl", "prob", "gen"}
    assert all(row.n == 60 and 0 < row.n_scored + row.n_unanswered <= some for row in rows)
    assert not view.refresh()
    for share in (0.31, 0.6, 1.0):
        growing(mock_run, folder, share)
        assert view.refresh()
    assert unversioned(view) == unversioned(opened(mock_run))
    with view.details() as grown, opened(mock_run).details() as whole:
        assert [grown.json(place) for place in range(60)] == [whole.json(place) for place in range(60)]


@pytest.mark.parametrize("most", [10, 60])
def test_of_a_large_run_the_first_samples_are_kept_while_it_grows(
    mock_run: Path, tmp_path: Path, most: int
) -> None:
    folder, whole = tmp_path / "run", opened(mock_run)
    growing(mock_run, folder, 0.02)
    view = RunView(folder, most)
    for share in (0.02, 0.3, 0.31, 1.0):
        growing(mock_run, folder, share)
        view.refresh()
    assert (view.n_samples, view.n_rows) == (60, most)
    assert unversioned(view) == unversioned(whole, most)
    with view.details() as some, whole.details() as all_:
        assert [some.json(place) for place in range(most)] == [all_.json(place) for place in range(most)]
    assert view.page().rows == whole.facts.build_partial_rows(view.manifest)


def test_scores_so_far_are_those_of_the_summary_when_all_are_there(mock_run: Path) -> None:
    view = opened(mock_run)
    so_far = {row.method: row for row in view.facts.build_partial_rows(view.manifest)}
    final = [row for row in view.page().rows if row.is_headline and row.group is None]
    assert len(final) == 3
    for row in final:
        assert so_far[row.method].shown == row.shown
        assert so_far[row.method].interval == row.interval
        assert so_far[row.method].n_failed == row.n_failed


def test_a_run_that_begins_again_is_another_revision(mock_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(mock_run, folder)
    view = opened(folder)
    before = view.revision
    manifest = read_manifest(folder)
    assert manifest is not None
    (folder / SUMMARY).unlink()
    for name in (SAMPLES, SCORES):
        content = (folder / name).read_bytes().splitlines(keepends=True)
        (folder / name).write_bytes(b"".join(content[: 5 if name == SAMPLES else 15]))
    again = msgspec.structs.replace(manifest, started="2031-01-01T00:00:00Z", status=RunStatus.RUNNING)
    RunFolder(folder).write_manifest(again)
    assert view.refresh()
    assert view.revision != before
    assert view.n_samples == 5
    assert view.metrics == []


def test_a_file_that_was_only_cut_is_another_revision_too(mock_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(mock_run, folder)
    view = opened(folder)
    before = view.revision
    lines = (folder / SCORES).read_bytes().splitlines(keepends=True)
    (folder / SCORES).write_bytes(b"".join(lines[:9]))
    assert view.refresh()
    assert view.revision != before
    assert view.find_first_changed(60, before, 1) == 0


def test_who_has_a_table_gets_what_is_new_and_what_is_other(mock_run: Path, tmp_path: Path) -> None:
    """Samples come before their scores, as each file is written when enough has gathered."""
    folder = tmp_path / "run"
    growing(mock_run, folder, 0.5)
    lines = [
        line for line in (folder / SCORES).read_bytes().splitlines(keepends=True) if line.endswith(b"}\n")
    ]
    gens = [line for line in lines if b'"gen"' in line]
    (folder / SCORES).write_bytes(b"".join(line for line in lines if line not in gens))
    view = opened(folder)
    had = view.table()
    assert view.find_first_changed(had.n, had.revision, had.changes) == had.n == view.n_rows
    with open(folder / SCORES, "ab") as file:
        file.write(b"".join(gens[4:]))
    assert view.refresh()
    assert view.find_first_changed(had.n, had.revision, had.changes) == 4
    more = view.table(4)
    gen = next(track for track in more.tracks if track.name == "gen")
    assert set(gen.outcomes[: len(gens) - 4]) <= set("RWUF")
    # Whoever looked later has seen that; a stranger, or who has seen more than there was, has seen nothing.
    assert view.find_first_changed(more.first + more.n, more.revision, more.changes) == view.n_rows
    assert view.find_first_changed(had.n, "another", had.changes) == 0
    assert view.find_first_changed(had.n, had.revision, 99) == 0
    assert view.find_first_changed(had.n, had.revision, 0) == 0
    assert view.find_first_changed(10**6, more.revision, more.changes) == view.n_rows


def test_scores_that_are_replaced_are_read_again(mock_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(mock_run, folder)
    view = opened(folder)
    scores = [msgspec.structs.replace(score, answer="elsewhere") for score in StoredRun(folder).scores()]
    (folder / "draft").write_bytes(b"".join(msgspec.json.encode(score) + b"\n" for score in scores))
    (folder / "draft").replace(folder / SCORES)
    assert view.refresh()
    assert set(view.table().tracks[0].answers) == {"elsewhere"}


def test_calibration_by_hand(mock_run: Path) -> None:
    (found,) = (one for one in opened(mock_run).page().calibrations if one.method == "prob")
    pairs = []
    for score in StoredRun(mock_run).scores():
        if score.track == "prob" and score.verdict is Verdict.SCORED:
            chosen = next(option.prob for option in score.options if option.label == score.answer)
            assert chosen is not None
            pairs.append((chosen, score.value or 0.0))
    assert found.n == len(pairs)
    error = 0.0
    for low in range(10):
        inside = [pair for pair in pairs if low / 10 <= pair[0] < (low + 1) / 10]
        if inside:
            sure = sum(pair[0] for pair in inside) / len(inside)
            right = sum(pair[1] for pair in inside) / len(inside)
            error += len(inside) / len(pairs) * abs(sure - right)
    assert found.error == pytest.approx(error)
    assert sum(one.n for one in found.bins) == len(pairs)


def test_distributions_count_every_answer(mock_run: Path) -> None:
    found = {(one.name, one.method): one for one in opened(mock_run).page().distributions}
    lengths = [
        outcome["n_prompt_tokens"]
        for response in StoredRun(mock_run).responses()
        if "/gen/" in response.request_id
        and (outcome := msgspec.to_builtins(response.outcome)).get("n_prompt_tokens")
    ]
    spread = found["prompt", "gen"]
    assert spread.n == sum(spread.counts) == len(lengths)
    assert spread.greatest == max(lengths)
    assert spread.mean == pytest.approx(sum(lengths) / len(lengths))
    below = list(accumulate(spread.counts))
    for edge, n in zip(spread.edges[1:-1], below, strict=False):
        assert n == sum(length < edge for length in lengths)


def test_a_view_keeps_so_many_samples_and_counts_all(mock_run: Path) -> None:
    view = RunView(mock_run, 10)
    view.refresh()
    whole = opened(mock_run)
    assert (view.n_rows, view.n_samples) == (10, 60)
    assert unversioned(view) == unversioned(whole, 10)
    with view.details() as some, whole.details() as all_:
        assert [some.json(place) for place in range(10)] == [all_.json(place) for place in range(10)]
    assert view.page().rows == whole.page().rows
    assert len(view._response_at) < len(whole._response_at) / 5
    assert view._early == [], "scores of samples that are never shown wait for nothing"


def test_an_answer_that_came_after_a_failure_counts(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", ["yes"])
    answered = StoredRun(folder).responses()
    (answer,) = answered
    failed = msgspec.structs.replace(answer, outcome=Failure("timeout", "too late"))
    lines = [msgspec.json.encode(one) + b"\n" for one in (failed, answer)]
    (folder / JOURNAL).write_bytes(b"".join(lines))
    view = opened(folder)
    assert view.table().tracks[0].tokens == [10]
    with view.details() as details:
        assert json.loads(details.json(0))["responses"][0]["outcome"]["type"] == "completion"


@pytest.mark.parametrize("name", [SAMPLES, SCORES, SUMMARY])
def test_what_cannot_be_read_is_reported_whenever_it_is_asked_for(
    mock_run: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(mock_run, folder)
    lines = (folder / name).read_bytes().splitlines(keepends=True)
    lines[3] = b'{"sample_id": "\xff"}\n'
    (folder / name).write_bytes(b"".join(lines))
    view = RunView(folder)
    where = "" if name == SUMMARY else f"the line at byte {sum(map(len, lines[:3])):,} of "
    for _ in range(2):
        with pytest.raises(StoreError, match=f"STORE-008.*: {where}{name} cannot be read"):
            view.refresh()
    shutil.copy(mock_run / name, folder / name)
    assert view.refresh()
    assert unversioned(view) == unversioned(opened(mock_run))


@pytest.mark.parametrize("damaged", [b'{"sample_id": "\xff"}\n', b"\n", b"[1]\n"])
def test_a_damaged_response_hides_no_other(mock_run: Path, tmp_path: Path, damaged: bytes) -> None:
    folder = tmp_path / "run"
    shutil.copytree(mock_run, folder)
    lines = (folder / JOURNAL).read_bytes().splitlines(keepends=True)
    (folder / JOURNAL).write_bytes(b"".join((*lines[:3], damaged, *lines[3:])))
    assert unversioned(opened(folder)) == unversioned(opened(mock_run))


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="STORE-005"):
        RunView(tmp_path)
    assert not (tmp_path / MANIFEST).exists()


def test_a_perplexity_so_far_is_that_of_all_texts_so_far(tmp_path: Path) -> None:
    def perplexity(id_: str, loss: float, n_tokens: float) -> Score:
        ratio = Ratio(loss, n_tokens, is_exponential=True)
        value = math.exp(loss / n_tokens)
        return scored(id_, value, metric="perplexity_token", ratios={"perplexity_token": ratio})

    scores = [perplexity("s0", 2.0, 1), perplexity("s1", 50.0, 100), perplexity("s2", 8.0, 10)]
    texts = [("t", sample(one.sample_id), ()) for one in scores]
    head = manifest("m", [spec("t", n_samples=3)])
    run = written(tmp_path / "run", head, [*scores, scored("s3", None, verdict=Verdict.FAILED)], texts)
    (whole,) = (one for one in run.metrics() if one.metric == "perplexity_token")
    view = opened(run.path)
    (row,) = (one for one in view.facts.build_partial_rows(view.manifest) if one.metric == "perplexity_token")
    assert row.value == pytest.approx(math.exp(60 / 111))
    assert (row.value, row.low, row.high) == pytest.approx((whole.value, whole.low, whole.high))
    assert (row.n_scored, row.n_unanswered) == (whole.n_scored, whole.n_unanswered) == (3, 0)
    assert not row.is_share


def test_an_answer_that_could_not_be_read_counts_as_not_right_so_far(tmp_path: Path) -> None:
    scores = [scored("s0", 1.0), scored("s1", None), scored("s2", None, verdict=Verdict.FAILED)]
    texts = [("t", sample(one.sample_id), ()) for one in scores]
    run = written(tmp_path / "run", manifest("m", [spec("t", n_samples=3)]), scores, texts)
    (whole,) = run.metrics()
    (row,) = opened(run.path).facts.build_partial_rows(run.manifest)
    assert (row.value, row.low, row.high) == (whole.value, whole.low, whole.high)
    assert (row.value, row.n_scored, row.n_unanswered, row.n_failed) == (0.5, 1, 1, 1)


def test_a_run_that_continues_writes_new_files(mock_run: Path, tmp_path: Path) -> None:
    """Who reads the old ones is never left in the middle of other lines."""
    folder = tmp_path / "run"
    shutil.copytree(mock_run, folder)
    view = opened(folder)
    before = view.revision
    kept = open(folder / SAMPLES, "rb")  # noqa: SIM115 (as a reader has it open)
    with SampleWriter(folder):
        assert (folder / SAMPLES).read_bytes() == b""
        assert len(kept.readlines()) == 60
        assert view.refresh()
    kept.close()
    assert view.revision != before
    assert view.n_samples == 0


def test_a_value_on_a_scale_of_its_own_is_neither_right_nor_wrong(tmp_path: Path) -> None:
    """Grades from 0 to 5: that 1 is no right answer is known once the run is complete."""
    grades = [scored(f"s{at}", float(at), metric="grade") for at in range(3)]
    others = [scored(f"s{at}", float(at > 0), metric="accuracy", track="ppl") for at in range(3)]
    grades.append(scored("s3", None, metric="grade"))
    texts = [("t", sample(one.sample_id), ()) for one in grades]
    tasks = [spec("t", ("gen", "ppl"), n_samples=4)]
    run = written(
        tmp_path / "run", manifest("m", tasks, status=RunStatus.RUNNING), [*grades, *others], texts, []
    )
    view = opened(run.path)
    before = view.table()
    assert [track.outcomes for track in before.tracks] == ["WRVU", "WRR."]
    facts = (None, 1.0, None, None, 4, 3, 1, 0, 0)
    grade = Metric("t", "gen", "grade", *facts, is_share=False)
    RunFolder(run.path).write_summary([grade, Metric("t", "ppl", "accuracy", *facts)])
    RunFolder(run.path).write_manifest(manifest("m", tasks))
    assert view.refresh()
    assert [track.outcomes for track in view.table().tracks] == ["VVVU", "WRR."]
    assert [track.outcomes for track in view.table(1, 1).tracks] == ["V", "R"]
    assert view.find_first_changed(4, before.revision, before.changes) == 0, (
        "the earlier drawing is drawn again"
    )
