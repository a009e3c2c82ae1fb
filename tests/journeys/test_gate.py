"""assay gate, assay baseline and assay compare --fail-if end to end."""

from __future__ import annotations

import json
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.app.gate import compare_with_baseline
from assay.results.gate import GateVerdict
from cli import Result, assay

ROWS = 60


@pytest.fixture(autouse=True)
def _outside_github(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def write_data(path: str = "data.csv", n: int = ROWS, edited: int | None = None) -> None:
    """Write questions of which nine in ten have the answer A."""
    lines = ["question,A,B,answer,category"]
    for at in range(n):
        question = f"Is {at} a number{' of any kind' if at == edited else ''}?"
        lines.append(f"{question},yes,no,{'B' if at % 10 == 9 else 'A'},{'low' if at < 30 else 'high'}")
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def baseline(workdir: Path) -> str:
    write_data()
    assert assay("run", "data.csv", "-m", "mock", "--model-arg", "answer=A", "--out", "main").status == 0
    assert assay("baseline", "main", "-o", "main.json").status == 0
    return "main.json"


def gate(*arguments: str, data: str = "data.csv", answer: str = "A") -> Result:
    command = ("gate", data, "-m", "mock", "--model-arg", f"answer={answer}", "--baseline", "main.json")
    return assay(*command, *arguments)


def test_a_gate_passes_fails_and_is_resumed(baseline: str) -> None:
    passed = gate("--out", "same")
    assert passed.status == 0, passed.err
    assert "gate passed: the new run is not significantly worse (--fail-if worse)" in passed.out
    assert "detectable (80 % power" in passed.out
    failed = gate("--out", "other", answer="B")
    assert failed.status == 5
    assert "gate failed: the new run is significantly worse: data gen" in failed.out
    again = gate("--out", "other", answer="B")
    assert again.status == 5
    assert "60 stored responses" in again.err
    assert assay("compare", "main", "other", "--fail-if", "worse").status == 5
    assert assay("compare", "other", "main", "--fail-if", "worse").status == 0
    assert assay("compare", "main.json", "other", "--fail-if", "worse:50").status == 5
    assert assay("compare", "main.json", "other", "--fail-if", "worse:79").status == 0
    assert assay("compare", "main.json", "same", "--fail-if", "worse-or-unsure").status == 5
    assert assay("compare", "main.json", "same", "--fail-if", "worse-or-unsure:7").status == 0
    assert assay("compare", "main.json", "other").status == 0


def test_reports_for_ci(baseline: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    reports = ("--junit", "ci/junit.xml", "--markdown", "ci/comment.md")
    failed = gate(*reports, "--per-group", "--flips", "3", answer="B")
    assert failed.status == 5
    assert failed.out.count("::error title=Assay gate") == 3
    root = ElementTree.parse("ci/junit.xml").getroot()
    assert (root.attrib["tests"], root.attrib["failures"]) == ("3", "3")
    assert "right before, wrong now" in (next(root.iter("failure")).text or "")
    comment = Path("ci/comment.md").read_text(encoding="utf-8")
    assert "`Is 0 a number?` | `right` | `B` | `A` |" in comment
    assert Path("summary.md").read_text(encoding="utf-8").startswith(comment)
    quiet = gate("--no-github")
    assert "::" not in quiet.out
    value = json.loads(gate("--json", "--progress", "none").out)
    assert value["kind"] == "gate"
    assert value["gate"]["has_passed"] is True
    assert value["gate"]["checks"][0]["compared"]["result"]["n"] == ROWS
    assert value["run"]["status"] == "complete"
    markdown = assay("compare", "main", "main", "--fail-if", "worse", "--markdown", "--no-github")
    assert markdown.out.startswith("## Gate passed: ")


def test_answers_of_a_baseline_are_shown_if_they_were_stored(baseline: str) -> None:
    assert assay("baseline", "main", "-o", "main.json", "--with-prompts").status == 0
    assert "Is 0 a number?" in Path("main.json").read_text(encoding="utf-8")
    assert "A: A  B: B  right: A" in gate("--flips", "1", answer="B").out


def test_another_dataset_or_setting_is_an_error_before_the_model_is_asked(baseline: str) -> None:
    write_data("edited.csv", ROWS + 2, edited=7)
    refused = gate("--max-tokens", "8", "--out", "never", data="edited.csv")
    assert refused.status == 2
    assert "GATE-005 main.json" in refused.err
    assert "2 rows added" in refused.err
    assert "1 row edited" in refused.err
    assert "GATE-006 main.json" in refused.err
    assert "sampling.max_tokens was 256, now 8" in refused.err
    assert not Path("never").exists()
    half = gate("--accept", "data", "--max-tokens", "8", "--out", "never", data="edited.csv")
    assert half.status == 2
    assert "GATE-005" not in half.err
    accepted = gate("--accept", "data", "--accept", "settings", "--max-tokens", "8", data="edited.csv")
    assert accepted.status == 0, accepted.err
    assert "accepted: data: 2 rows added" in accepted.out
    assert "omitted samples: 1 only in A, 3 only in B" in accepted.out


def test_a_row_that_was_edited_under_its_own_id_is_not_compared(workdir: Path) -> None:
    for name, changed in (("data.csv", "yes"), ("edited.csv", "maybe")):
        rows = [f"q{at},Is {at} even?,{changed if at == 3 else 'yes'},no,A" for at in range(20)]
        Path(name).write_text("id,question,A,B,answer\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert assay("run", "data.csv", "-m", "mock", "--model-arg", "answer=A", "--out", "main").status == 0
    assert assay("baseline", "main", "-o", "main.json").status == 0
    refused = gate(data="edited.csv")
    assert "1 row edited: 'q3'" in refused.err
    value = json.loads(gate("--accept", "data", "--json", "--progress", "none", data="edited.csv").out)
    assert value["gate"]["checks"][0]["compared"]["result"]["n"] == 19


def test_a_baseline_names_no_folder_of_the_machine(baseline: str, workdir: Path) -> None:
    shots = ("--shots", "1", "--shots-from")
    path = str(workdir / "data.csv")
    command = ("run", path, "-m", "mock", "--model-arg", "answer=A", "--out", "shots", *shots, path)
    assert assay(*command).status == 0
    assert assay("baseline", "shots", "-o", "main.json").status == 0
    assert str(workdir) not in Path("main.json").read_text(encoding="utf-8")
    assert gate(*shots, "data.csv").status == 0


def test_a_chat_model_may_be_compared_with_a_plain_one(baseline: str) -> None:
    chat = gate("--model-arg", "chat=true")
    assert chat.status == 0, chat.err
    assert "the form of the prompts was text, now chat" in chat.out
    stopped = gate("--model-arg", "chat=true", "--max-tokens", "8")
    assert "settings differ: sampling.max_tokens was 256, now 8\n" in stopped.err


def test_failed_and_unanswered_samples(baseline: str) -> None:
    failing = ("--model-arg", "fail_every=9", "--no-cache")
    some = gate("--out", "failing", *failing)
    assert some.status == 3
    assert "failed on at least one side" in some.out
    assert gate("--out", "failing", *failing, "--allow-failures", "50%").status == 0
    none = gate("--out", "none", "--model-arg", "fail_every=1")
    assert none.status == 2
    assert none.err.rstrip().splitlines()[-3].startswith("GATE-004")
    written = assay("baseline", "failing", "-o", "failing.json")
    assert "of them failed and cannot be compared" in written.out
    unanswered = gate("--out", "silent", answer="hm")
    assert unanswered.status == 5
    assert "unanswered samples count as wrong: 0 before, 60 now" in unanswered.out


def test_a_dataset_that_the_new_run_lacks_is_not_skipped(workdir: Path) -> None:
    write_data()
    write_data("more.csv", 20)
    for out, *data in (("both", "data.csv", "more.csv"), ("one", "data.csv")):
        assert assay("run", *data, "-m", "mock", "--out", out).status == 0
    skipped = assay("compare", "both", "one", "--fail-if", "worse")
    assert skipped.status == 2
    assert "both has a score of more by gen, and one has none" in skipped.err
    assert assay("compare", "one", "both", "--fail-if", "worse").status == 0
    assert assay("run", "data.csv", "-m", "mock", "--method", "ppl,gen", "--out", "two").status == 0
    assert assay("compare", "two", "one", "--fail-if", "worse").status == 2
    assert assay("compare", "two", "one", "--fail-if", "worse", "--methods", "gen").status == 0
    assert assay("baseline", "two", "-o", "main.json").status == 0
    assert "methods was ppl, gen, now gen" in assay("compare", "main.json", "one").err
    accepted = assay("compare", "main.json", "one", "--fail-if", "worse", "--accept", "settings")
    assert accepted.status == 0, accepted.err


def test_many_rows_with_a_planted_drop(workdir: Path) -> None:
    """A reply that is right more rarely: the same table with other right answers is the same drop."""
    chance = random.Random(4)
    rows = [f"q{at},Question {at}?,yes,no,{'A' if chance.random() < 0.9 else 'B'}" for at in range(300)]
    Path("data.csv").write_text("id,question,A,B,answer\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert assay("run", "data.csv", "-m", "mock", "--model-arg", "answer=A", "--out", "main").status == 0
    assert assay("baseline", "main", "-o", "main.json").status == 0
    scores = Path("main", "scores.jsonl").read_text(encoding="utf-8").splitlines()
    dropped = [json.loads(line) for line in scores]
    for one in chance.sample([one for one in dropped if one["value"] == 1], 30):
        one["value"] = 0.0
    Path("main", "scores.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in dropped), encoding="utf-8"
    )
    result = compare_with_baseline(Path("main"), Path("main.json"))
    (check,) = result.gate.checks
    assert check.verdict is GateVerdict.WORSE
    assert check.compared.result.difference == pytest.approx(-0.1)
    assert compare_with_baseline(Path("main"), Path("main.json"), "worse:15").gate.has_passed
