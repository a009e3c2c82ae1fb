"""Rescoring: numbers against an independent oracle, stored scorings, and interruptions."""

from __future__ import annotations

import json
import re
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

import assay as api
from assay.results.history import ScoringHistory
from assay.results.paired import holm
from assay.results.read import StoredRun
from assay.results.run_view import RunView
from assay.results.store import RunFolder
from cli import assay, killed
from fakes.leap_tasks import CHOICE, questions

ROWS = [f"{n}+{n}=,{n},{2 * n},{3 * n},{'BC'[n % 2]}\n" for n in range(1, 41)]
QUESTIONS = [
    {"question": f"What is {n} and {n}?", "answer": str(2 * n) if n % 3 else f"number {2 * n}"}
    for n in range(1, 31)
]


@pytest.fixture(autouse=True)
def _data(workdir: Path) -> None:
    (workdir / "data.csv").write_text("question,A,B,C,answer\n" + "".join(ROWS), encoding="utf-8")
    lines = "".join(json.dumps(row) + "\n" for row in QUESTIONS)
    (workdir / "free.jsonl").write_text(lines, encoding="utf-8")


def make_run(*arguments: str) -> None:
    """Make a run in the folder `run`."""
    result = assay("run", *arguments, "--out", "run")
    assert result.status == 0, result.out + result.err


def scored(*arguments: str) -> Any:
    """Score the run again and return what is said of it."""
    result = assay("score", "run", *arguments, "--json")
    assert result.status == 0, result.out + result.err
    return json.loads(result.out)


def listed() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(assay("score", "run", "--list-scorings", "--json").out)[
        "scorings"
    ]
    return found


def refused(code: str, *arguments: str) -> str:
    """Score the run in a way that cannot be, and return what is said; the folder must be as it was."""
    before = sorted(path.name for path in Path("run").rglob("*"))
    result = assay("score", "run", *arguments)
    assert (result.status, code in result.err) == (2, True), result.out + result.err
    assert sorted(path.name for path in Path("run").rglob("*")) == before, "nothing was written"
    return result.err


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def summary(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return found


def head(metrics: list[dict[str, Any]], method: str) -> dict[str, Any]:
    return next(one for one in metrics if one["is_headline"] and one["method"] == method and not one["group"])


def test_without_options_the_score_is_the_run_s(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "ppl,prob,gen", "--group-by", "answer")
    own, report = summary(workdir / "run"), (workdir / "run" / "report.md").read_text(encoding="utf-8")
    Path("data.csv").unlink()
    done = scored()
    assert done["metrics"] == own
    assert done["changes"]["n_changed"] == 0
    assert summary(workdir / "run") == own
    kept = (workdir / "run" / "scorings" / "001-run" / "report.md").read_text(encoding="utf-8")
    assert kept == report
    scores = [
        lines(workdir / "run" / "scorings" / name / "scores.jsonl") for name in ("001-run", "002-again")
    ]
    assert scores[0] == scores[1]


def test_pmi_names_what_a_run_without_it_lacks(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "ppl,gen")
    result = assay("score", "run", "--score-by", "pmi")
    assert result.status == 2
    assert "RESCORE-005\n  data ppl: pmi needs each option's likelihood without the question" in result.err
    assert "assay run data.csv --score-by pmi" in result.err


@pytest.mark.parametrize("score_by", ["sum", "per_token", "per_char", "per_byte", "pmi"])
def test_another_normalisation_is_what_a_run_with_it_comes_to(workdir: Path, score_by: str) -> None:
    before = ("--score-by", "pmi") if score_by == "pmi" else ()
    make_run("data.csv", "-m", "mock", "--method", "ppl,gen", *before)
    other = assay(
        "run", "data.csv", "-m", "mock", "--method", "ppl,gen", "--score-by", score_by, "--out", "fresh"
    )
    assert other.status == 0
    assert scored("--score-by", score_by)["metrics"] == summary(workdir / "fresh")
    fresh = json.loads((workdir / "fresh" / "manifest.json").read_text(encoding="utf-8"))
    again = json.loads((workdir / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert again["disagreements"] == fresh["disagreements"]
    assert again["scoring"]["chosen"] == {"score_by": score_by}


def test_another_extractor_by_an_oracle(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "gen,ppl")
    pattern = r"[ABC]"
    done = scored("--extract", f"regex:{pattern}", "--name", "first letter")
    right = {
        row["sample"]["id"]: row["sample"]["fields"]["answer"] for row in lines(Path("run/samples.jsonl"))
    }
    values, found = [], {}
    for response in lines(workdir / "run" / "responses.jsonl"):
        _, sample_id, method, *_ = response["request_id"].split("/")
        if method == "gen":
            match = re.search(pattern, response["outcome"]["outputs"][0]["text"])
            found[sample_id] = None if match is None else match[0]
            values.append(match is not None and match[0] == right[sample_id])
    metric = head(done["metrics"], "gen")
    assert metric["value"] == pytest.approx(sum(values) / len(values))
    assert metric["n_unanswered"] == sum(answer is None for answer in found.values())
    scores = [one for one in lines(workdir / "run" / "scores.jsonl") if one["track"] == "gen"]
    assert {one["sample_id"]: one.get("answer") for one in scores} == found
    assert done["scoring"]["label"] == "first-letter"
    own = {
        one["sample_id"]: one
        for one in lines(Path("run/scorings/001-run/scores.jsonl"))
        if one["track"] == "gen"
    }
    changed = [one for one in scores if own[one["sample_id"]].get("value") != one.get("value")]
    assert done["changes"]["n_changed"] >= len(changed)
    assert head(done["metrics"], "ppl") == head(summary(workdir / "run/scorings/001-run"), "ppl")


def test_metrics_of_texts_by_an_oracle(workdir: Path) -> None:
    make_run("free.jsonl", "-m", "mock", "--model-arg", "answer=the number 8")
    done = scored("--metric", "f1_score,in_match", "--extract", "whole")

    def f1(target: str) -> float:
        given, wanted = {"the", "number", "8"}, set(target.split())
        return 2 * len(given & wanted) / (len(given) + len(wanted))

    expected = [f1(row["answer"]) for row in QUESTIONS]
    assert head(done["metrics"], "gen")["value"] == pytest.approx(sum(expected) / len(expected))
    assert head(done["metrics"], "gen")["metric"] == "f1_score"
    names = [one["metric"] for one in done["metrics"]]
    assert names == ["f1_score", "in_match"]


def test_a_metric_without_an_extractor_reads_answers_as_the_run_did(workdir: Path) -> None:
    make_run("free.jsonl", "-m", "mock", "--model-arg", "answer=It is #### 8")
    own = {one["sample_id"]: one["answer"] for one in lines(workdir / "run" / "scores.jsonl")}
    scored("--metric", "exact_match")
    assert {one["sample_id"]: one["answer"] for one in lines(workdir / "run" / "scores.jsonl")} == own


def test_a_judge_is_asked_once_and_reported_the_right_option(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "gen")
    done = scored("--judge", "mock", "--judge-arg", "answer=yes")
    assert head(done["metrics"], "gen")["value"] == 1.0
    assert done["judge"]["args"]["answer"] == "yes"
    asked = lines(workdir / "run" / "judgements.jsonl")
    score = lines(workdir / "run" / "scores.jsonl")[0]
    assert score["target"] in ("B. 2", "C. 3")
    assert scored("--judge", "mock", "--judge-arg", "answer=yes")["metrics"] == done["metrics"]
    assert lines(workdir / "run" / "judgements.jsonl") == asked, "the same judge is not asked again"
    other = scored("--judge", "mock", "--judge-arg", "answer=no")
    assert head(other["metrics"], "gen")["value"] == 0.0, "another judge is"
    assert [one["metrics"][0]["value"] for one in listed()][1:] == [1.0, 1.0, 0.0]


def test_methods_are_compared_though_one_is_scored_over_the_whole_list(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "ppl,gen")
    own = json.loads((workdir / "run/manifest.json").read_text(encoding="utf-8"))
    assert 0 < own["disagreements"]["data"] < 40
    judge = ("--judge", "mock", "--judge-arg", "answer=yes")
    scored(*judge, "--extract", "option")
    again = StoredRun(workdir / "run").manifest
    assert (again.disagreements, again.agreement_untold) == (own["disagreements"], {})
    view = RunView(workdir / "run")
    view.refresh()
    assert view.table().disagree.count("1") == own["disagreements"]["data"]
    # A judge is given whole replies: whether a text means the option that ppl chose nobody knows.
    make_run("data.csv", "-m", "mock", "--method", "ppl,gen", "--fresh", "--model-arg", "answer=I say C.")
    scored(*judge)
    reported = StoredRun(workdir / "run").manifest
    assert (reported.disagreements, reported.agreement_untold) == ({"data": 0}, {"data": 40})
    assert "agreement is unknown" in assay("report", "run").out
    assert "agreement is unknown" in (workdir / "run/report.md").read_text(encoding="utf-8")


def test_a_judge_is_asked_in_a_person_s_own_words(workdir: Path) -> None:
    make_run("free.jsonl", "-m", "mock", "--model-arg", "answer={reference}")
    (workdir / "ask.txt").write_text("{question} Right: {reference} Said: {answer}", encoding="utf-8")
    judge = ("--judge", "mock", "--judge-arg", "chat=true")
    scored_by = assay("score", "run", *judge, "--judge-prompt", "ask.txt", "--extract", "whole", "--json")
    assert scored_by.status == 3, "the mock's reply is neither yes nor no"
    done = json.loads(scored_by.out)
    assert done["scoring"]["chosen"]["judge_prompt"].startswith("{question}")
    assert {one["verdict"] for one in lines(workdir / "run" / "scores.jsonl")} == {"failed"}
    (workdir / "ask.txt").write_text("{qestion} {answer}", encoding="utf-8")
    assert "'qestion'" in refused("RESCORE-008", *judge, "--judge-prompt", "ask.txt")
    (workdir / "ask.txt").write_text("{question}", encoding="utf-8")
    assert "{answer}" in refused("RESCORE-008", *judge, "--judge-prompt", "ask.txt")
    assert "cannot be read" in refused("RESCORE-008", *judge, "--judge-prompt", "nowhere.txt")


def test_secrets_of_a_judge_are_not_stored(workdir: Path) -> None:
    make_run("free.jsonl", "-m", "mock")
    message = assay("score", "run", "--judge", "mock", "--judge-arg", "api_key=sk-123")
    assert "sk-123" not in message.out
    assert not any("sk-123" in path.read_text("utf-8") for path in Path("run").rglob("*") if path.is_file())


def test_a_judge_whose_secret_is_not_stored_is_named_again(workdir: Path) -> None:
    make_run("free.jsonl", "-m", "mock", "--model-arg", "answer=no")
    path = workdir / "run" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["settings"]["judge"] = {"value": "openai:gpt@http://127.0.0.1:9/v1", "source": "flag"}
    manifest["settings"]["judge_args"] = {"value": {"api_key": "(hidden)"}, "source": "flag"}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert "needs a secret" in refused("RESCORE-008", "--metric", "gpt4_eval")
    assert head(scored("--judge", "mock", "--judge-arg", "answer=yes")["metrics"], "gen")["value"] == 1.0


def test_scorings_are_listed_shown_again_and_compared(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "gen")
    first = head(summary(workdir / "run"), "gen")["value"]
    second = head(scored("--extract", "regex:^zzz")["metrics"], "gen")["value"]
    assert second == 0.0
    names = [(one["name"], one["is_shown"]) for one in listed()]
    assert names == [("001-run", False), ("002-regex", True)]
    assert listed()[1]["differences"] == [second - first]
    text = assay("score", "run", "--list-scorings").out
    assert re.search(r"002-regex +data +gen +accuracy +0\.0 .*-\d+\.\d +current", text), text
    assert "current scoring: 001-run" in assay("score", "run", "--use", "1").out
    assert head(summary(workdir / "run"), "gen")["value"] == first
    assert "scored again as" not in assay("report", "run").out
    assert assay("score", "run", "--use", "regex").status == 0
    assert "scored again as 002-regex: extract regex:^zzz" in assay("report", "run").out
    message = assay("score", "run", "--use", "7")
    assert (message.status, "RESCORE-007" in message.err) == (2, True)
    assert assay("report", "run/scorings/001-run").status == 0, "a scoring is a run folder"


def test_scorings_of_one_run_are_compared_by_what_each_is_judged_by(workdir: Path) -> None:
    reply = "answer=2, or rather 4"
    make_run("free.jsonl", "-m", "mock", "--model-arg", reply)
    scored("--extract", "regex:[0-9]+")
    scored("--judge", "mock", "--judge-arg", "answer=yes", "--name", "lenient")
    result = assay("compare", "run", "--scorings", "1,regex,003-lenient", "--json", "--html", "page.html")
    assert result.status == 0, result.err
    found = json.loads(result.out)["comparison"]
    assert [side["name"] for side in found["sides"]] == ["001-run", "002-regex", "003-lenient"]
    heads = {(one["first"], one["second"]): one for one in found["metrics"] if one["is_headline"]}
    assert {pair: one["metric"] for pair, one in heads.items()} == {
        (0, 1): "accuracy",
        (0, 2): "accuracy / gpt4_eval",
        (1, 2): "accuracy / gpt4_eval",
    }
    values = [
        [one["value"] for one in lines(path / "scores.jsonl")]
        for path in sorted((workdir / "run/scorings").glob("0*"))
    ]
    for (first, second), one in heads.items():
        pairs = list(zip(values[first], values[second], strict=True))
        assert one["result"]["difference"] == pytest.approx(sum(b - a for a, b in pairs) / len(pairs))
        fourfold = one["result"]["fourfold"]
        assert (fourfold["only_a"], fourfold["only_b"]) == (pairs.count((1, 0)), pairs.count((0, 1)))
    # Three pairs are three tests, though not all are by one metric.
    corrected = holm([one["result"]["p"] for one in heads.values()])
    assert [one["p_corrected"] for one in heads.values()] == pytest.approx(corrected)
    flips = json.loads(result.out)["flips"]
    assert flips[1]["only_second"][0]["second"]["metric"] == "gpt4_eval"
    assert Path("page.html").is_file()
    shown = assay("compare", "run", "--scorings", "1,3").out
    assert re.search(r"accuracy / gpt4_eval: (no significant difference: )?B scores", shown)
    for message, arguments in (
        ("compares scorings of one run", ("run", "run", "--scorings", "1,2")),
        ("no scoring '9'", ("run", "--scorings", "1,9")),
        ("needs two sides", ("run", "--scorings", "1")),
    ):
        reported = assay("compare", *arguments)
        assert (reported.status, message in reported.err) == (2, True), reported.err


def test_runs_that_are_judged_by_other_metrics_are_not_compared_and_that_is_said(workdir: Path) -> None:
    make_run("free.jsonl", "-m", "mock")
    assert assay("run", "free.jsonl", "-m", "mock", "--out", "other").status == 0
    scored("--metric", "rouge", "--extract", "whole")
    shown = assay("compare", "run", "other")
    assert shown.status == 0
    assert "free gen: no metric to compare by: run has 'rouge', other has 'accuracy'" in shown.out


def test_what_changed_is_reported_in_words(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "gen", "--model-arg", "answer=The answer is B (not A)")
    message = assay("score", "run", "--extract", "last-regex:[ABC]")
    assert message.status == 0, message.err
    n_right = sum("B\n" in row for row in ROWS)
    assert f"{n_right} of 40 scores changed: 0 higher, {n_right} lower" in message.out
    assert "'B' 1 (stated_label)" in message.out
    assert "'A' 0 (last-regex:[ABC])" in message.out


def test_a_run_that_continues_shows_its_own_score_and_keeps_the_others(workdir: Path) -> None:
    command = ("data.csv", "-m", "mock", "--method", "gen", "--model-arg", "fail_every=4")
    run = assay("run", *command, "--out", "run")
    assert run.status == 3
    own = summary(workdir / "run")
    assert assay("score", "run", "--extract", "regex:^zzz").status == 3, "failed samples are reported again"
    again = assay("run", *command, "--out", "run")
    assert again.status == 3
    assert "later scorings of these answers are kept (1); the run now shows its own score" in again.out
    assert summary(workdir / "run") == own
    assert [one["name"] for one in listed()] == ["run", "001-run", "002-regex"]
    assert assay("score", "run", "--use", "2").status == 0
    assert [(one["name"], one["is_shown"]) for one in listed()] == [("001-run", False), ("002-regex", True)]
    assert summary(workdir / "run") != own


def test_a_run_that_got_more_answers_marks_scorings_of_the_older_ones(workdir: Path) -> None:
    command = ("data.csv", "-m", "mock", "--method", "gen", "--model-arg", "fail_every=4", "--out", "run")
    assert assay("run", *command).status == 3
    assert assay("score", "run", "--extract", "option").status == 3
    journal = workdir / "run" / "responses.jsonl"
    asked = [one for one in lines(journal) if one["outcome"]["type"] == "failure"]
    given = next(one for one in lines(journal) if one["outcome"]["type"] == "completion")
    with journal.open("a", encoding="utf-8") as file:
        # The server came back: what a retry appends.
        for one in asked:
            file.write(json.dumps({**one, "outcome": given["outcome"]}) + "\n")
    assert assay("run", *command).status == 0
    assert listed()[2]["is_of_older_answers"]
    assert scored("--extract", "option")["changes"]["n_changed"] == 0
    marks = [(one["name"], one["is_of_older_answers"]) for one in listed()]
    assert marks == [("001-run", False), ("002-option", True), ("003-run", False), ("004-option", False)]
    assert "older answers" in assay("score", "run", "--list-scorings").out


def test_a_run_continues_though_another_judge_was_asked_since(workdir: Path) -> None:
    command = ("data.csv", "-m", "mock", "--method", "gen", "--out", "run")
    assert assay("run", *command).status == 0
    scored("--judge", "mock", "--judge-arg", "answer=yes")
    assert assay("run", *command).status == 0, "it is the same run"
    assert ScoringHistory(workdir / "run").current is None


def test_fresh_sets_the_scorings_aside_with_the_run(workdir: Path) -> None:
    command = ("data.csv", "-m", "mock", "--method", "gen", "--out", "run")
    assert assay("run", *command).status == 0
    scored("--extract", "option")
    assert assay("run", *command, "--fresh").status == 0
    assert [one["name"] for one in listed()] == ["run"]
    assert [entry.name for entry in ScoringHistory(workdir / "run.old-1").entries()] == [
        "001-run",
        "002-option",
    ]


def test_answers_that_were_only_asked_for_are_scored(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "gen", "--stage", "infer")
    done = scored()
    assert assay("run", "data.csv", "-m", "mock", "--method", "gen", "--out", "whole").status == 0
    assert done["metrics"] == summary(workdir / "whole")
    assert "not scored" in assay("score", "run", "--list-scorings").out
    staged = assay("run", "data.csv", "-m", "mock", "--method", "gen", "--stage", "score", "--out", "run")
    assert staged.status == 0, staged.err


def test_code_of_a_dataset_scores_again_as_long_as_it_is_there(workdir: Path) -> None:
    (workdir / "quiz.py").write_text(CHOICE, encoding="utf-8")
    (workdir / "rows.json").write_text(json.dumps({"validation": questions(12)}), encoding="utf-8")
    make_run("quiz.py", "-m", "mock")
    own = summary(workdir / "run")
    assert scored()["metrics"] == own
    (workdir / "rows.json").write_text(json.dumps({"validation": questions(12, 1)}), encoding="utf-8")
    assert "it has changed since" in refused("RESCORE-006")
    shutil.move(workdir / "quiz.py", workdir / "gone.py")
    message = refused("RESCORE-006")
    assert "it is scored by code of its dataset" in message
    assert "--stage score --answers-from" in message


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        ("RESCORE-002", ("--extract", "nubmer"), "'number'"),
        ("RESCORE-002", ("--extract", "regex:("), "not a valid regular expression"),
        ("RESCORE-003", ("--metric", "rogue"), "'rouge'"),
        ("RESCORE-003", ("--metric", "accuracy,rouge"), "cannot be combined with 'rouge'"),
        ("RESCORE-004", ("--metric", "rouge"), "no reference text"),
        ("RESCORE-004", ("--method", "ppl", "--extract", "option"), "selected: 'data ppl'"),
        ("RESCORE-004", ("--method", "gen", "--score-by", "sum"), "scores options by likelihood"),
        ("RESCORE-004", ("--method", "prob", "--extract", "option"), "'ppl'"),
        ("RESCORE-004", ("--method", "gen"), "nothing about the scoring is changed"),
        ("RESCORE-004", ("--task", "dato", "--extract", "option"), "'data'"),
        ("RESCORE-008", ("--judge", "mock", "--metric", "accuracy"), "uses no judge"),
        ("RESCORE-008", ("--judge-arg", "answer=yes", "--extract", "option"), "no judge is named"),
        ("RESCORE-009", ("--name", "run"), "the run's own"),
        ("RESCORE-009", ("--name", "//"), "letters or digits"),
    ],
)
def test_what_cannot_be_chosen_is_reported_before_anything_is_written(
    code: str, arguments: tuple[str, ...], message: str
) -> None:
    make_run("data.csv", "-m", "mock", "--method", "ppl,gen")
    assert message in refused(code, *arguments)


def test_numbers_that_were_never_asked_for_are_reported() -> None:
    make_run("data.csv", "-m", "mock", "--method", "ppl", "--fidelity", "faithful")
    assert "prompt and option were scored together" in refused("RESCORE-005", "--score-by", "per_char")


def test_what_is_no_complete_run_is_reported(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "gen")
    scored("--extract", "option")
    of_scoring = assay("score", "run/scorings/001-run")
    assert (of_scoring.status, "RESCORE-001" in of_scoring.err) == (2, True)
    assert "name the run: run" in of_scoring.err
    assert assay("score", "run", "--use", "1").status == 0
    manifest = workdir / "run" / "manifest.json"
    text = manifest.read_text(encoding="utf-8").replace('"complete"', '"running"')
    manifest.unlink()
    manifest.write_text(text, encoding="utf-8")
    assert "not complete" in refused("RESCORE-001", "--extract", "option")


def test_a_run_of_an_earlier_version_is_scored_by_its_dataset(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "gen")
    path = workdir / "run" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for name in ("scorers", "scoring", "summary_groups", "card"):
        manifest.pop(name)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert scored()["changes"]["n_changed"] == 0
    assert assay("score", "run", "--use", "1").status == 0
    Path("data.csv").write_text("question,A,B,answer\n1+1=,1,2,B\n", encoding="utf-8")
    assert "does not record how it was scored" in refused("RESCORE-006")
    assert scored("--extract", "option")["changes"]["n_changed"] == 0, "named parts need no dataset"


def test_a_kill_in_the_middle_leaves_the_folder_as_it_was_and_keeps_what_the_judge_said(
    workdir: Path,
) -> None:
    make_run("data.csv", "-m", "mock", "--method", "gen")
    own = summary(workdir / "run")
    judge = ("--judge", "mock", "--judge-arg", "answer=yes")
    command = [sys.executable, "-m", "assay", "score", "run", *judge, "--judge-arg", "hang_on=30+30="]
    kept = killed(command, workdir / "run" / "judgements.jsonl", after=5)
    n_kept = kept.count(b"\n")
    assert n_kept >= 5
    assert summary(workdir / "run") == own
    assert assay("report", "run").status == 0
    assert [one["name"] for one in listed()] == ["001-run"]
    assert head(scored(*judge)["metrics"], "gen")["value"] == 1.0
    judged = (workdir / "run" / "judgements.jsonl").read_bytes()
    assert judged.startswith(kept), "what it said before was not asked again"
    assert judged.count(b"\n") <= 40
    assert [one["name"] for one in listed()] == ["001-run", "002-judge"]


def test_from_python_a_result_stays_what_it_was(workdir: Path) -> None:
    first = api.run("data.csv", model="mock", method="gen")
    own = first.score()
    second = first.rescore(extract="regex:^zzz")
    assert second.score() == 0.0
    assert {one["verdict"] for one in second.scores} == {"unanswered"}
    assert (first.score(), {one["verdict"] for one in first.scores}) == (own, {"scored"})
    third = api.score(first.folder, metric="accuracy", method=["gen"], name="mine")
    assert third.score() == own
    assert second.score() == 0.0
    free = api.run("free.jsonl", model="mock")
    words = free.rescore(metric="rouge", metric_args={"n_gram": 2}, extract="whole", allow_failures=7)
    assert [one["metric"] for one in words.metrics if one["is_headline"]] == ["rouge(n_gram=2)"]
    assert words.manifest["settings"]["allow_failures"] == {"value": "7", "source": "flag"}
    with pytest.raises(api.AssayError, match=r"unknown choice 'extrakt'.*'extract'"):
        first.rescore(extrakt="x")


def test_a_run_that_was_kept_offline_is_scored_offline(workdir: Path) -> None:
    first = api.run("free.jsonl", model="mock", offline=True)
    again = first.rescore(extract="whole")
    assert any(note.startswith("offline: ") for note in again.manifest["notes"])
    with socket.socket(socket.AF_INET) as still_open:
        assert still_open.fileno() > 0, "the caller's thread keeps its network"


def test_a_run_that_another_process_writes_is_left_alone(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "gen")
    folder = RunFolder(workdir / "run")
    folder.lock()
    try:
        assert "another process is writing" in refused("STORE-003", "--extract", "option")
    finally:
        folder.release()
    assert scored("--extract", "option")["changes"]["n_changed"] == 0


def test_a_sample_is_explained_by_the_scoring_that_is_shown(workdir: Path) -> None:
    make_run("data.csv", "-m", "mock", "--method", "gen", "--model-arg", "answer=The answer is B (not A)")
    scored("--extract", "last-regex:[ABC]")
    assert "last-regex:[ABC]" in assay("explain", "run", "row:1").out
    assert assay("score", "run", "--use", "1").status == 0
    assert "last-regex" not in assay("explain", "run", "row:1").out


def test_all_names_are_listed() -> None:
    names = json.loads(assay("score", "--list", "--json").out)
    assert {"auto", "regex:PATTERN", "gsm8k_post"} <= set(names["extractors"])
    assert {"accuracy", "rouge", "gpt4_eval"} <= set(names["metrics"])
    shown = assay("score", "--list").out
    assert "regex:PATTERN" in shown
    assert re.search(r"rouge +tokenizer, index, n_gram\n", shown)
