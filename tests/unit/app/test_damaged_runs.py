"""Damaged files of a run: readable lines count, the rest is sent again and reported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cli import assay

ROWS = "question,A,B,answer\n" + "".join(f"q{n},x,y,{'AB'[n % 2]}\n" for n in range(6))
RUN = ("run", "rows.csv", "-m", "mock", "--out", "run", "--progress", "none")
JOURNAL = Path("run/responses.jsonl")


def empty_line(line: bytes) -> bytes:
    return line + b"\n"


def cut_short(line: bytes) -> bytes:
    return line[: len(line) // 2] + b"\n"


def cut_before_its_end(line: bytes) -> bytes:
    """Joins it to the next line."""
    return line[: len(line) // 2]


def in_no_encoding(line: bytes) -> bytes:
    return line.replace(b'"text":"', b'"text":"\xff')


def of_another_type(line: bytes) -> bytes:
    return b'["a list", 1]\n'


def a_number(line: bytes) -> bytes:
    return b"5\n"


def a_field_of_another_type(line: bytes) -> bytes:
    return line.replace(b'"key":"', b'"seconds":"soon","key":"')


def an_outcome_of_another_type(line: bytes) -> bytes:
    return json.dumps({**json.loads(line), "outcome": {"type": "nothing known"}}).encode() + b"\n"


def zeros(line: bytes) -> bytes:
    return b"\0" * len(line)


def nested_deeply(line: bytes) -> bytes:
    return b'{"request_id":' + b"[" * 100_000 + b"\n"


LOST = {
    empty_line: 0,
    cut_short: 1,
    cut_before_its_end: 2,
    in_no_encoding: 1,
    of_another_type: 1,
    a_number: 1,
    a_field_of_another_type: 1,
    an_outcome_of_another_type: 1,
    zeros: 2,
    nested_deeply: 1,
}
"""How many responses each damage to one line takes away."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    (folder / "rows.csv").write_text(ROWS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert assay(*RUN).status == 0
    return folder


@pytest.fixture(autouse=True)
def in_a_copy(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(finished, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")


def damage(path: Path, how: Callable[[bytes], bytes], nth: int = 2) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[nth] = how(lines[nth])
    path.write_bytes(b"".join(lines))


def readable(path: Path) -> list[str]:
    """Return the requests of the whole lines of a journal."""
    ids = []
    for line in path.read_bytes().splitlines():
        try:
            ids.append(json.loads(line)["request_id"])
        except (ValueError, TypeError, RecursionError):
            continue
    return ids


@pytest.mark.parametrize(("how", "n_lost"), LOST.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_run_asks_again_for_damaged_lines_alone_and_says_so(
    finished: Path, how: Callable[[bytes], bytes], n_lost: int
) -> None:
    damage(JOURNAL, how)
    before = JOURNAL.read_bytes()
    result = assay(*RUN)
    assert result.status == 0, result.err
    assert "responses.jsonl has 1 damaged line, which was skipped" in " ".join(result.out.split())
    after = JOURNAL.read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == n_lost
    summaries = [json.loads((one / "run/summary.json").read_bytes()) for one in (finished, Path())]
    assert summaries[0] == summaries[1]
    page = assay("report", "run", "--json")
    assert any("damaged line" in note for note in json.loads(page.out)["notes"]), page.out


def test_a_torn_last_line_is_no_damage() -> None:
    JOURNAL.write_bytes(JOURNAL.read_bytes()[:-9])
    result = assay(*RUN)
    assert (result.status, "damaged" in result.out) == (0, False)
    assert len(set(readable(JOURNAL))) == len(readable(JOURNAL)) == 6


@pytest.mark.parametrize("command", [("score", "run"), (*RUN, "--stage", "score")], ids=["score", "stage"])
@pytest.mark.parametrize(("how", "n_lost"), LOST.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_scoring_skips_damaged_lines_and_says_so(
    command: tuple[str, ...], how: Callable[[bytes], bytes], n_lost: int
) -> None:
    damage(JOURNAL, how)
    result = assay(*command)
    assert result.status == (3 if n_lost else 0), result.err
    message = " ".join(result.out.split())
    assert "responses.jsonl has 1 damaged line, which was skipped" in message
    assert "run the same `assay run` again to request it" in message
    if n_lost:
        assert f"{n_lost} of 6 samples failed" in " ".join(result.err.split())


@pytest.mark.parametrize(
    "command",
    [
        ("explain", "run", "row:3"),
        ("report", "run"),
        ("report", "run", "--markdown"),
        ("compare", "run", "other"),
        ("compare", "run", "other", "--html", "page.html"),
        ("diff", "run", "other"),
        ("leaderboard", "run", "other"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("how", [cut_short, in_no_encoding, an_outcome_of_another_type])
def test_what_reads_a_run_skips_damaged_responses(
    command: tuple[str, ...], how: Callable[[bytes], bytes]
) -> None:
    shutil.copytree("run", "other")
    damage(JOURNAL, how)
    result = assay(*command)
    assert result.status == 0, result.err


@pytest.mark.parametrize("name", ["scores.jsonl", "samples.jsonl"])
@pytest.mark.parametrize(
    "how", [empty_line, cut_short, cut_before_its_end, of_another_type, zeros, nested_deeply]
)
def test_files_that_a_run_derives_are_written_again(name: str, how: Callable[[bytes], bytes]) -> None:
    path = Path("run") / name
    whole = path.read_bytes()
    damage(path, how)
    reading = assay("explain", "run", "row:6")
    assert reading.status == 2
    assert f"STORE-008 run/{name}" in reading.err
    assert "repeat the `assay run` command to write it again" in " ".join(reading.err.split())
    assert assay("score", "run").status in (0, 2)
    result = assay(*RUN)
    assert (result.status, "damaged" in result.out) == (0, False), result.err
    assert path.read_bytes() == whole
    assert assay("explain", "run", "row:6").status == 0


def unreadable_manifests(root: Path) -> list[str]:
    """Put runs beside others that cannot be read, each for another reason."""
    contents = {
        "empty": b"",
        "no-text": b"\xff\xfe",
        "nested": b"[" * 100_000,
        "other": b'{"id": 5}',
        "shortened": (root / "run/manifest.json").read_bytes()[:-50],
    }
    for name, content in contents.items():
        (root / name).mkdir()
        (root / name / "manifest.json").write_bytes(content)
    # A file that even its owner cannot read.
    (root / "fails").mkdir()
    (root / "fails/manifest.json").symlink_to("/proc/self/mem")
    return [*contents, "fails"]


def test_runs_with_unreadable_manifests_hide_no_others() -> None:
    names = unreadable_manifests(Path())
    result = assay("ls", "--runs-dir", ".")
    assert result.status == 0
    assert "run complete" in " ".join(result.out.split())
    for name in names:
        assert f"STORE-004 {name}/manifest.json" in result.err
    answer = json.loads(assay("ls", "--runs-dir", ".", "--json").out)
    assert [len(answer["runs"]), len(answer["problems"])] == [1, len(names)]
    board = assay("leaderboard", ".")
    assert (board.status, "mock" in board.out) == (0, True), board.err


def test_scoring_finds_its_run_beside_unreadable_ones() -> None:
    unreadable_manifests(Path())
    command = ("run", "rows.csv", "-m", "mock", "--runs-dir", ".", "--stage", "score")
    assert assay(*command).status == 0
    assert assay("score", "run").status == 0
    shutil.rmtree("run")
    for found in Path().glob("rows-mock-*"):
        shutil.rmtree(found)
    result = assay(*command)
    assert result.status == 2
    assert "6 runs cannot be read, `assay ls` lists them" in " ".join(result.err.split())
